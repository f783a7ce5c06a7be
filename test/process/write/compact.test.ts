/** `palace compact` through a real broker: under writes, killed on the way, and beside readers. */
import { expect, it } from "vitest";
import { createTestPalace, exitOf } from "../../helpers/palace.ts";

const DRAWERS = 40;

it("writes the ledger anew while an agent goes on writing, and keeps every drawer", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using shim = await palace.shim();
  const add = async (content: string): Promise<string> =>
    String((await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content }))["drawer_id"]);
  const ids = await Promise.all(Array.from({ length: DRAWERS }, (_, at) => add(`${at} ${"long ".repeat(5_000)}`)));
  for (const id of ids.splice(5)) await shim.call("mempalace_delete_drawer", { drawer_id: id });

  const [{ code, stdout }, during] = await Promise.all([
    palace.run("palace", ["compact", "--json"]),
    Promise.all(Array.from({ length: DRAWERS }, (_, at) => add(`beside it ${at}`))),
  ]);

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    beforeBytes: expect.any(Number) as number,
    afterBytes: expect.any(Number) as number,
  });
  for (const id of [...ids, ...during])
    expect(await shim.call("mempalace_get_drawer", { drawer_id: id })).toMatchObject({ drawer_id: id });
  expect((await palace.run("palace", ["compact"])).stdout).toMatch(/^ledger: .+ before, .+ now/);
});

it.each(["erase.before-rewrite", "erase.after-rewrite", "compact.after-rewrite"])(
  "a broker killed at %s has lost nothing, and the next one finishes",
  async (point) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker({ MEMPALACE_FAULT: point });
    await using shim = await palace.shim();
    const { drawer_id } = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "kept" });
    const { code } = await palace.run("palace", ["compact"]);
    expect(code).not.toBe(0);
    expect((await exitOf(broker))[1]).toBe("SIGKILL");
    expect((await palace.run("palace", ["compact"])).code).toBe(0);
    expect(await shim.call("mempalace_get_drawer", { drawer_id })).toMatchObject({ content: "kept" });
  },
);
