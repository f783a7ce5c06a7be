/** Functions that prepare and run one query. `values` are bound in order, or by name if they are one object. */
import type { LedgerDatabase } from "./open.ts";

export function selectRows<R>(database: LedgerDatabase, sql: string, ...values: readonly unknown[]): R[] {
  return database.prepare<unknown[], R>(sql).all(...values);
}

export function selectRow<R>(database: LedgerDatabase, sql: string, ...values: readonly unknown[]): R | undefined {
  return database.prepare<unknown[], R>(sql).get(...values);
}

/** Returns the first column of all rows. */
export function selectValues<V>(database: LedgerDatabase, sql: string, ...values: readonly unknown[]): V[] {
  return database
    .prepare<unknown[], V>(sql)
    .pluck()
    .all(...values);
}

/** Returns the first column of the first row; undefined if no row matches. */
export function selectValue<V>(database: LedgerDatabase, sql: string, ...values: readonly unknown[]): V | undefined {
  return database
    .prepare<unknown[], V>(sql)
    .pluck()
    .get(...values);
}

/** Returns the number that a pragma reads. */
export function pragmaNumber(database: LedgerDatabase, name: string): number {
  return database.pragma(name, { simple: true }) as number;
}
