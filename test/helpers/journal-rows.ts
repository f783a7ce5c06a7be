/** Finds writes that were applied twice, in tests whose writes all have different arguments. */
import type Database from "better-sqlite3";

/** Lists calls that have two journal rows. This finds even a second application that changes nothing. */
export function appliedTwice(database: Database.Database): string[] {
  return database
    .prepare<[], string>(
      `SELECT method || ' ' || arguments FROM journal
        GROUP BY method, arguments HAVING count(*) > 1`,
    )
    .pluck()
    .all();
}
