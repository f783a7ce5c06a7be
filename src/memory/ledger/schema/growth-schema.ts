/** Counts of drawers by filing day, which triggers maintain. A drawer without a known day has the day ''. */

/** Returns SQL for the day in `filed_at`; '' without a date. A learned memory has `created_at` instead. */
const dayOf = (metadata: string): string => {
  const filed = `coalesce(json_extract(${metadata}, '$.filed_at'), json_extract(${metadata}, '$.created_at'))`;
  return `coalesce(CASE WHEN ${filed} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' THEN date(substr(${filed}, 1, 10)) END, '')`;
};

const add = (row: string): string => `INSERT INTO growth VALUES (${dayOf(`${row}.metadata`)}, 1)
    ON CONFLICT (day) DO UPDATE SET drawers = drawers + 1;`;
const remove = (
  row: string,
): string => `UPDATE growth SET drawers = drawers - 1 WHERE day = ${dayOf(`${row}.metadata`)};
  DELETE FROM growth WHERE day = ${dayOf(`${row}.metadata`)} AND drawers = 0;`;

/** Counts the drawers of each day. Does not remove days that have no drawers now. */
export const GROWTH_COUNTED = `INSERT OR REPLACE INTO growth SELECT ${dayOf("metadata")} AS day, count(*) FROM drawer GROUP BY day;`;

export const GROWTH_SCHEMA = `
CREATE TABLE IF NOT EXISTS growth (day TEXT PRIMARY KEY, drawers INTEGER NOT NULL) WITHOUT ROWID, STRICT;
${GROWTH_COUNTED}
CREATE TRIGGER IF NOT EXISTS growth_insert AFTER INSERT ON drawer BEGIN
  ${add("new")}
END;
CREATE TRIGGER IF NOT EXISTS growth_delete AFTER DELETE ON drawer BEGIN
  ${remove("old")}
END;
CREATE TRIGGER IF NOT EXISTS growth_move AFTER UPDATE OF metadata ON drawer WHEN ${dayOf("old.metadata")} <> ${dayOf("new.metadata")} BEGIN
  ${remove("old")}
  ${add("new")}
END;
`;
