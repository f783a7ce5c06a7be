/** Writes upstream's files for facts, tunnels and hallways (palace.md 3.6–3.8) from a snapshot into a folder without such files. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { GRAPH_TABLES } from "../../memory/ledger/schema/graph-schema.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { damaged } from "../../base/errors.ts";
import { GRAPH_FILE_SCHEMA } from "../graph/database-file.ts";
import { formatLinks } from "../graph/link-file.ts";
import type { GraphKind, Snapshot } from "./snapshot.ts";

export type GraphCounts = { entities: number; facts: number; tunnels: number; hallways: number };

const KINDS: readonly GraphKind[] = ["entity", "triple"];

/** Writes no file for an empty kind. Errors: STORE_CORRUPT. */
export function writeGraphFiles(snapshot: Snapshot, folder: string): GraphCounts {
  const [entities, facts] = [snapshot.graphRows("entity"), snapshot.graphRows("triple")];
  const links = { tunnel: snapshot.links("tunnel"), hallway: snapshot.links("hallway") };
  if (entities.length + facts.length > 0) {
    const database = new Database(join(folder, "knowledge_graph.sqlite3"));
    try {
      database.pragma("synchronous = FULL");
      database.pragma("foreign_keys = OFF");
      database.exec(GRAPH_FILE_SCHEMA);
      database.transaction(() => {
        for (const kind of KINDS) {
          const { fileTable, columns } = GRAPH_TABLES[kind];
          const put = database.prepare(
            `INSERT INTO ${fileTable} (id, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})`,
          );
          for (const { id, body } of kind === "entity" ? entities : facts) put.run(id, ...body);
          const rows = database.prepare<[], number>(`SELECT count(*) FROM ${fileTable}`).pluck().get();
          if (rows !== (kind === "entity" ? entities : facts).length)
            throw damaged(`${fileTable} of the graph has ${rows} rows`, "try again");
        }
      })();
    } finally {
      database.close();
    }
  }
  for (const kind of ["tunnel", "hallway"] as const)
    if (links[kind].length > 0 && !existsSync(join(folder, `${kind}s.json`)))
      writeFileAtomic(join(folder, `${kind}s.json`), formatLinks(kind, links[kind]));
  return {
    entities: entities.length,
    facts: facts.length,
    tunnels: links.tunnel.length,
    hallways: links.hallway.length,
  };
}
