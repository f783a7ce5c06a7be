import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

it("undo reverts one agent's writes, names drawers changed by others and can be undone", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using good = await palace.shim({ MEMPALACE_AGENT_NAME: "good" });
  await using bad = await palace.shim({ MEMPALACE_AGENT_NAME: "bad" });
  const add = async (content: string): Promise<string> =>
    String((await good.call("mempalace_add_drawer", { wing: "w", room: "r", content }))["drawer_id"]);
  const [first, second, third] = [await add("first"), await add("second"), await add("third")];
  const lies = await bad.call("mempalace_add_drawer", { wing: "w", room: "r", content: "lies" });
  await bad.call("mempalace_delete_drawer", { drawer_id: first });
  await bad.call("mempalace_update_drawer", { drawer_id: second, content: "spoilt" });
  await bad.call("mempalace_update_drawer", { drawer_id: third, content: "spoilt, too" });
  await bad.call("mempalace_kg_add", { subject: "a", predicate: "is", object: "b" });
  await good.call("mempalace_update_drawer", { drawer_id: third, content: "mended by hand" });
  const undo = async (...args: string[]): Promise<{ code: number | null; value: Record<string, unknown> }> => {
    const { code, stdout } = await palace.run("palace", ["undo", ...args, "--json"]);
    return { code, value: JSON.parse(stdout) as Record<string, unknown> };
  };
  const text = async (id: unknown): Promise<unknown> =>
    (await good.call("mempalace_get_drawer", { drawer_id: id }))["content"];

  expect(await undo("--client", "baad", "--since", "1h")).toMatchObject({
    code: 2,
    value: { error: { hint: expect.stringContaining('"bad"') as string } },
  });
  const found = { writes: 5, restored: 1, reverted: 1, refused: 1, too_old: 0 };
  const planned = await undo("--client", "bad", "--since", "1h", "--dry-run");
  expect(planned).toMatchObject({ code: 0, value: found });
  const previews = (planned.value["items"] as { preview?: string }[]).map(({ preview }) => preview);
  expect(previews.sort()).toEqual(["a is b", "first", "lies", "mended by hand", "second", undefined, undefined]);
  expect(await text(second)).toBe("spoilt");
  expect(await undo("--client", "bad", "--since", "1h")).toMatchObject({ code: 2, value: { error: {} } });
  const done = await undo("--client", "bad", "--since", "1h", "--yes");
  expect(done).toMatchObject({ code: 6, value: found });
  expect(done.value["items"]).toContainEqual({ kind: "drawer", id: third, change: "refused", by: "good" });
  expect([await text(first), await text(second), await text(third), await text(lies["drawer_id"])]).toEqual([
    ...["first", "second", "mended by hand"],
    undefined,
  ]);
  expect(await good.call("mempalace_kg_query", { entity: "a" })).toMatchObject({ count: 0 });

  expect(await undo("--client", "palace undo", "--since", "1h", "--yes")).toMatchObject({ code: 0 });
  expect([await text(first), await text(second), await text(lies["drawer_id"])]).toEqual([undefined, "spoilt", "lies"]);
});

it("the ledger keeps the journal for the set number of days, at least 30", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const write = async (content: string): Promise<void> => {
    await using shim = await palace.shim();
    await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content });
  };
  await write("old");
  await palace.run("palace", ["stop"]);
  const ledger = new Database(palace.config.paths.ledgerFile);
  ledger.prepare("UPDATE journal SET at_ms = at_ms - 40 * 86400000").run();
  const rows = (): unknown => ledger.prepare("SELECT count(*) FROM journal").pluck().get();
  await palace.run("palace", ["start"]);
  await write("new");
  expect(rows()).toBe(2);
  await palace.run("palace", ["stop"]);
  const refused = await palace.run("palace", ["status"], { env: { MEMPALACE_AUDIT_DAYS: "7" } });
  expect(refused.stderr).toContain("at least 30 days");
  await palace.run("palace", ["start"], { env: { MEMPALACE_AUDIT_DAYS: "30" } });
  for (let tries = 0; rows() !== 1 && tries < 200; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(rows()).toBe(1);
  ledger.close();
});
