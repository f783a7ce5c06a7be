/** Copies of a palace, read on this machine: nobody else opens its files for it. */
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Beside the ledger what there is of it. */
const KEPT_FILES = ["ledger.sqlite3", "knowledge_graph.sqlite3", "tunnels.json"].flatMap((name) =>
  name.endsWith(".sqlite3") ? [name, `${name}-wal`] : [name],
);

/** Databases with what their logs hold, while nobody writes. */
export function copyPalace(from: string, to: string): string {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const name of KEPT_FILES) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
  return to;
}
