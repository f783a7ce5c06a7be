import type { RowName } from "../../src/memory/ledger/graph-row.ts";
import { PalaceError } from "../../src/base/errors.ts";
import { type GraphPaths, GraphSide } from "../../src/mempalace/graph/side.ts";

/** Describes each difference between ledger and graph files, including unsent rows. Throws STORE_UNAVAILABLE for an unreadable file. */
export function graphDifferences(paths: GraphPaths): string[] {
  const side = new GraphSide(paths);
  try {
    const { finding, problem } = side.look();
    if (problem !== "") throw new PalaceError("STORE_UNAVAILABLE", problem, "palace doctor");
    const name = ({ kind, id }: RowName): string => `${kind} ${id}`;
    return [
      ...finding.rows.map((row) => `${name(row)}: the file has ${row.body}`),
      ...finding.missing.map((row) => `${name(row)}: not in the file`),
      ...finding.deleted.map((row) => `${name(row)}: no longer in the file`),
      ...side.unsent().map((row) => `${name(row)}: not sent yet`),
    ];
  } finally {
    side.close();
  }
}
