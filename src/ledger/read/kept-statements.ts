/**
 * Keeps what a connection has prepared: compiling a statement of a search costs more than running it. For the reader, whose
 * statements stand where they are used; imported by reader.ts.
 */
import type { Statement } from "better-sqlite3";
import type { LedgerDatabase } from "../open.ts";

const KEPT_MAX = 200;

/** The same connection. A statement is as new each time it is given out, so nobody holds on to one and prepares it again meanwhile. */
export function keepStatements(database: LedgerDatabase): LedgerDatabase {
  const prepare = database.prepare.bind(database) as (sql: string) => Statement;
  const kept = new Map<string, Statement>();
  const prepareOnce = (sql: string): Statement => {
    const known = kept.get(sql);
    if (known !== undefined && !known.busy) return known.pluck(false).raw(false);
    const statement = prepare(sql);
    if (!statement.reader) return statement;
    if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value as string);
    kept.set(sql, statement);
    return statement;
  };
  return Object.assign(database, { prepare: prepareOnce });
}
