/** Makes a palace use the id recipe of MemPalace 3.3.6, as if the ledger had adopted a palace of that version. */
import Database from "better-sqlite3";
import type { TestPalace } from "./palace.ts";

/** Call this while the broker runs and before any drawer is filed. */
export async function makeOldRecipe(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  await client.callTool("mempalace_status", {});
  client.close();
  const ledger = new Database(palace.config.paths.ledgerFile);
  ledger.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('id_recipe', 'bare')").run();
  ledger.close();
}
