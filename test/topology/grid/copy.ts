/** Copies a palace, so that a test on this machine can read the copies and does not open the palace's own files. */
import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const KEPT_FILES = ["ledger.sqlite3", "knowledge_graph.sqlite3", "tunnels.json"].flatMap((name) =>
  name.endsWith(".sqlite3") ? [name, `${name}-wal`] : [name],
);

/** Copies the databases with their write-ahead logs. Nothing may write to them meanwhile. */
export function copyPalace(from: string, to: string): string {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const name of KEPT_FILES) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
  return to;
}
