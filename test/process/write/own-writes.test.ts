import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("reads on a connection see the writes sent just before on this connection, while sixteen other clients write", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const others = await Promise.all(Array.from({ length: 16 }, () => palace.client()));
  const noise = others.map(async (client, number) => {
    for (let index = 0; index < 40; index++)
      await client.callTool("mempalace_add_drawer", { wing: "noise", room: `r${number}`, content: `noise ${index}` });
  });
  const client = await palace.client();
  for (let round = 0; round < 40; round++) {
    const content = `needle${round} in a haystack`;
    const [added, listed, found] = await Promise.all([
      client.callTool("mempalace_add_drawer", { wing: "own", room: "r", content }),
      client.callTool("mempalace_list_drawers", { wing: "own", limit: 100 }),
      client.callTool("mempalace_search", { query: `needle${round}`, wing: "own", limit: 1 }),
    ]);
    const { drawer_id: id } = added as { drawer_id: string };
    expect(JSON.stringify(listed), `round ${round}`).toContain(id);
    expect(JSON.stringify(found), `round ${round}`).toContain(content);
  }
  await Promise.all(noise);
  for (const one of [client, ...others]) one.close();
});
