/** Reads all drawers and their metadata from a palace of the real MemPalace or of ours, in one shape. */
import Database from "better-sqlite3";
import type { TestPalace } from "./palace.ts";
import { type MempalaceVersion, python } from "./python-mempalace.ts";

export type Row = { text: string; metadata: Record<string, unknown> };

/** Asks Chroma directly, because MemPalace's own code takes 1.5 times as long: it also loads an embedding function. */
const DUMP = `
import chromadb, json, sys
collection = chromadb.PersistentClient(sys.argv[1]).get_collection("mempalace_drawers", embedding_function=None)
found = collection.get(include=["documents", "metadatas"])
print(json.dumps({i: {"text": d, "metadata": m} for i, d, m in zip(found["ids"], found["documents"], found["metadatas"])}))`;

export async function upstreamRows(version: MempalaceVersion, home: string, palace: string): Promise<Map<string, Row>> {
  const stdout = await python(version, home, DUMP, [palace]);
  return new Map(Object.entries(JSON.parse(stdout.slice(stdout.indexOf("{"))) as Record<string, Row>));
}

export function ourRows(palace: TestPalace): Map<string, Row> {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare<[], { id: string; text: string; metadata: string }>("SELECT * FROM drawer").all();
  ledger.close();
  return new Map(
    rows.map(({ id, text, metadata }) => [id, { text, metadata: JSON.parse(metadata) as Row["metadata"] }]),
  );
}
