/**
 * What was applied twice, by the journal: a row for each write that was applied, with its arguments. Tests whose writes all have
 * arguments of their own see a doubled one here even where a second application changes nothing (the same drawer, the same fact).
 */
import type Database from "better-sqlite3";

/** Calls that were journaled more than once; `like`: of those whose arguments match, in SQL's pattern. */
export function appliedTwice(database: Database.Database, like = "%"): string[] {
  return database
    .prepare<[string], string>(
      `SELECT method || ' ' || arguments FROM journal WHERE arguments LIKE ?
        GROUP BY method, arguments HAVING count(*) > 1`,
    )
    .pluck()
    .all(like);
}
