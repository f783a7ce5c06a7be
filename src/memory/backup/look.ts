/** Opens the databases of a backup, reads them completely and counts their rows. */
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "../ledger/schema/schema.ts";
import { STATIC_GONE_17 } from "../ledger/schema/static-schema.ts";
import { PalaceError } from "../../base/errors.ts";
import { EVENTS, LEDGER } from "./contents.ts";
import { type Counts, damaged, EVENT_COUNTS, LEDGER_COUNTS } from "./manifest.ts";
import { selectRows, selectValue, selectValues } from "../ledger/select.ts";

export type Look = { counts: Counts; ledgerSchema: number; journalSeq: number };

/** Reads a backup's databases completely. Errors: STORE_CORRUPT; PROTOCOL_VERSION_MISMATCH for a ledger of a newer version. */
export function lookInto(folder: string): Look {
  const ledger = openWhole(join(folder, LEDGER));
  try {
    if (ledger.pragma("application_id", { simple: true }) !== APPLICATION_ID) throw damaged(`${LEDGER}: not a ledger`);
    const ledgerSchema = Number(ledger.pragma("user_version", { simple: true }));
    if (ledgerSchema > SCHEMA_VERSION)
      throw new PalaceError(
        "PROTOCOL_VERSION_MISMATCH",
        `the backup's ledger is of a newer palace-devbox (schema ${ledgerSchema}, this one knows ${SCHEMA_VERSION})`,
        "update palace-devbox to the version that made it",
      );
    assertNoProgram(ledger, LEDGER, ownPrograms());
    const counts = { ...countAll(ledger, LEDGER_COUNTS), ...countEvents(join(folder, EVENTS)) };
    return { ledgerSchema, journalSeq: journalSeqIn(ledger), counts };
  } catch (error) {
    throw asDamage(error, LEDGER);
  } finally {
    ledger.close();
  }
}

/** Counts the rows without reading the files completely. Errors: STORE_CORRUPT. */
export function countIn(folder: string): Counts {
  const ledger = openQuietly(join(folder, LEDGER));
  try {
    return { ...countAll(ledger, LEDGER_COUNTS), ...countEvents(join(folder, EVENTS), openQuietly) };
  } catch (error) {
    throw asDamage(error, LEDGER);
  } finally {
    ledger.close();
  }
}

/** Reads a file of agents' events completely. Errors: STORE_CORRUPT; SQLite's errors if the file cannot be opened. */
export function assertEvents(file: string): void {
  // Opening a pipe would wait for a writer, so check the type first.
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  try {
    if (isFile) return void countEvents(file);
  } catch (error) {
    const code = String(((error as Error).cause as { code?: unknown } | undefined)?.code ?? "SQLITE_CORRUPT");
    if (!/^SQLITE_(?:CORRUPT|NOTADB|FORMAT)/.test(code)) throw (error as Error).cause;
  }
  throw new PalaceError(
    "STORE_CORRUPT",
    isFile ? "the file of the agents' events is damaged" : "it is not a file",
    "palace backup restore FILE puts a backup in its place; to begin with no events, stop the broker and move the file away",
  );
}

function countEvents(file: string, open = openWhole): Pick<Counts, "events" | "artifacts"> {
  if (!existsSync(file)) return { events: 0, artifacts: 0 };
  const events = open(file);
  try {
    assertNoProgram(events, EVENTS, new Set());
    return countAll(events, EVENT_COUNTS);
  } catch (error) {
    throw asDamage(error, EVENTS);
  } finally {
    events.close();
  }
}

/** Counts without reading the palace completely. Returns undefined for a palace that cannot be read. */
export function glance(ledgerFile: string): { drawers: number; facts: number; journalSeq: number } | undefined {
  if (!existsSync(ledgerFile)) return undefined;
  try {
    return withDatabase(ledgerFile, { readonly: true, fileMustExist: true }, (ledger) => ({
      ...countAll(ledger, { drawers: "drawer", facts: "kg_triple" }),
      journalSeq: journalSeqIn(ledger),
    }));
  } catch {
    return undefined;
  }
}

/** Opens a database for `work`, and closes it after that. */
export function withDatabase<T>(file: string, options: Database.Options, work: (database: Database.Database) => T): T {
  const database = new Database(file, options);
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** Makes a copied database one file: in this mode SQLite keeps no log beside it. */
export function closeLog(copy: string): void {
  withDatabase(copy, { fileMustExist: true }, (database) => database.pragma("journal_mode = DELETE"));
}

/** Opens a file that may come from anywhere, so that SQLite runs none of the file's own code. */
function openQuietly(file: string): Database.Database {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  database.pragma("trusted_schema = OFF");
  database.pragma("cell_size_check = ON");
  return database;
}

function openWhole(file: string): Database.Database {
  let database: Database.Database | undefined;
  try {
    database = openQuietly(file);
    const found = String(database.pragma("quick_check(1)", { simple: true }));
    if (found !== "ok") throw damaged(`${file}: ${found}`);
    return database;
  } catch (error) {
    database?.close();
    throw asDamage(error, file);
  }
}

/** Refuses triggers and views that our own ledgers do not have: a trigger would run at each write. Errors: STORE_CORRUPT. */
function assertNoProgram(database: Database.Database, file: string, allowed: ReadonlySet<string>): void {
  const foreign = programsOf(database).find(({ sql }) => !allowed.has(sql));
  if (foreign !== undefined) throw damaged(`${file} has a ${foreign.type} of its own, ${foreign.name}`);
}

type Program = { type: string; name: string; sql: string };

function programsOf(database: Database.Database): Program[] {
  return selectRows<Program>(
    database,
    "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view')",
  ).map((one) => ({ ...one, sql: String(one.sql).replaceAll(/\s+/g, " ") }));
}

/** Returns the triggers of a new ledger and of older ledgers, because a backup is examined before it is migrated. */
function ownPrograms(): ReadonlySet<string> {
  return withDatabase(":memory:", {}, (fresh) => {
    fresh.exec(SCHEMA);
    return new Set([...programsOf(fresh).map(({ sql }) => sql), STATIC_GONE_17]);
  });
}

function journalSeqIn(ledger: Database.Database): number {
  return selectValue<number>(ledger, "SELECT seq FROM sqlite_sequence WHERE name = 'journal'") ?? 0;
}

/** A table that an older ledger does not have counts as empty. */
function countAll<K extends string>(
  database: Database.Database,
  tables: Readonly<Record<K, string>>,
): Record<K, number> {
  const known = new Set(selectValues<string>(database, "SELECT name FROM sqlite_schema WHERE type = 'table'"));
  const count = (table: string): number =>
    known.has(table) ? (selectValue<number>(database, `SELECT count(*) FROM "${table}"`) ?? 0) : 0;
  return Object.fromEntries(Object.entries<string>(tables).map(([key, table]) => [key, count(table)])) as Record<
    K,
    number
  >;
}

function asDamage(error: unknown, file: string): unknown {
  const code = String((error as { code?: unknown }).code ?? "");
  return code.startsWith("SQLITE_") ? damaged(`${file}: ${(error as Error).message}`, error) : error;
}
