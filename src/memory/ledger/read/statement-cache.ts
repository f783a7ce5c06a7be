/** Caches a connection's prepared statements, because compiling a statement of a search costs more than running it. */
import type { Statement } from "better-sqlite3";
import type { LedgerDatabase } from "../open.ts";

const KEPT_MAX = 200;

/** Makes `prepare` return cached statements. Do not use a statement after you prepared its SQL again: that resets the statement. */
export function cacheStatements(database: LedgerDatabase): LedgerDatabase {
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
