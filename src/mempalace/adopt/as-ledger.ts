/** Makes a ledger from a private copy of MemPalace's files. It files what an adoption would file, except the vectors. */
import { join } from "node:path";
import { openForReading } from "../../memory/ledger/open.ts";
import { LedgerWriter } from "../../memory/ledger/write/group-commit.ts";
import { wrongUsage } from "../../base/errors.ts";
import { CLOSETS, DRAWERS, openChroma, readCollections } from "../format/chroma-file.ts";
import { guardPalace } from "../format/refusal.ts";
import { DatabaseFile } from "../graph/database-file.ts";
import { LinkFile } from "../graph/link-file.ts";
import { ForeignRows } from "./foreign-rows.ts";

/** Limits under which every row counts as foreign. */
const ALL = { sinceSeq: 0, untilSeq: 0 };

/** Makes `ledgerFile`, which must not exist. Errors: CONFIG_USAGE for a folder without drawers, STORE_CORRUPT, STORE_UNAVAILABLE. */
export function makeLedgerOf(folder: string, ledgerFile: string, collection = DRAWERS): void {
  const writer = new LedgerWriter(ledgerFile, () => undefined);
  try {
    const ledger = openForReading(ledgerFile);
    try {
      guardPalace(folder, () => {
        const palace = openChroma(folder, 0);
        try {
          const collections = palace === undefined ? [] : readCollections(palace);
          const find = (name: string) => collections.find((one) => one.name === name);
          const drawers = find(collection);
          if (palace === undefined || drawers === undefined)
            throw wrongUsage(
              `its chroma.sqlite3 has no collection ${collection}`,
              "name a palace of MemPalace: palace import DIR",
            );
          const sides = { palace, palaceDir: folder, ledger, horizon: ALL };
          take(new ForeignRows({ ...sides, collection: drawers }), (rows) => void writer.adopt(rows));
          const closets = find(CLOSETS);
          if (closets !== undefined)
            take(
              new ForeignRows({ ...sides, collection: closets, kind: "closets" }),
              (rows) => void writer.closets.adopt(rows),
            );
        } finally {
          palace?.close();
        }
      });
      const graph = new DatabaseFile(join(folder, "knowledge_graph.sqlite3"));
      const links = (["tunnel", "hallway"] as const).map(
        (kind) => new LinkFile(kind, join(folder, `${kind}s.json`), folder),
      );
      try {
        for (const file of [graph, ...links]) {
          const finding = file.look(ledger);
          if (finding !== undefined) writer.graph.adopt(finding);
        }
      } finally {
        graph.close();
      }
    } finally {
      ledger.close();
    }
  } finally {
    writer.close();
  }
}

type Batch = Parameters<LedgerWriter["adopt"]>[0];

function take(foreign: ForeignRows, adopt: (batch: Batch) => void): void {
  try {
    for (;;) {
      const { rows, done } = foreign.next();
      adopt({ rows: rows.map((row) => ({ ...row, vector: undefined })), removed: [], model: undefined });
      if (done) return;
    }
  } finally {
    foreign.close();
  }
}
