/** Mining a file that was too short also deleted agents' notes about this file, which MemPalace keeps. */
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("mining a file that is too short keeps an agent's note about it", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const note = { wing: "w", room: "r", content: "what we decided about it", source_file: "/p/kept.md" };
  expect(await client.callTool("mempalace_add_drawer", note)).toMatchObject({ success: true });
  const file = { wing: "p", room: "general", sourceFile: "/p/kept.md", content: "short", sha256: "0", mtime: 1 };
  expect(await client.call("source.replace", { ...file, addedBy: "t" })).toEqual({ drawers: 0, removed: 0 });
  expect(await client.callTool("mempalace_list_drawers", { wing: "w" })).toMatchObject({ drawers: [{ wing: "w" }] });
  client.close();
});
