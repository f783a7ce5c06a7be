/** If two agents changed a drawer in turns, an undo of one agent named that agent itself as the last one to change the drawer. */
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("an undo refuses a drawer that another agent changed between two of the agent's writes, and names the other agent", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const { config } = palace;
  const [a, b] = await Promise.all(["a", "b"].map((agent) => connectClient({ config, agent, start: "never" })));
  if (a === undefined || b === undefined) throw new Error("no client");
  const filed = await a.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "the first words of it" });
  const { drawer_id: id } = filed as { drawer_id: string };
  await b.callTool("mempalace_update_drawer", { drawer_id: id, content: "the second words of it" });
  await a.callTool("mempalace_update_drawer", { drawer_id: id, content: "the third words of it" });
  const items = async (agent: string): Promise<unknown> =>
    (await a.call("memory.undoPreview", { agent, sinceMs: 0, untilMs: Date.now() })).items;
  expect(await items("a")).toMatchObject([{ kind: "drawer", id, change: "refused", by: "b" }]);
  expect(await items("b")).toMatchObject([{ kind: "drawer", id, change: "refused", by: "a" }]);
  a.close();
  b.close();
});
