/**
 * Finds writes that were applied twice. The journal has one row for each applied write, with its arguments. Tests whose writes all have
 * different arguments see a doubled write here even if the second application changes nothing (the same drawer, the same fact).
 */
import type Database from "better-sqlite3";

/** Lists calls that were journaled more than once. */
export function appliedTwice(database: Database.Database): string[] {
  return database
    .prepare<[], string>(
      `SELECT method || ' ' || arguments FROM journal
        GROUP BY method, arguments HAVING count(*) > 1`,
    )
    .pluck()
    .all();
}
