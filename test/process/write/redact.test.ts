import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const TOKEN = `ghp_${"Ab3dEf6hIj9kLm2nOp5q".repeat(2).slice(0, 36)}`;
const TEXT = `the deploy token is ${TOKEN}, ask before you use it`;
const MASKED = "the deploy token is [redacted: github token], ask before you use it";

it("an agent never gets a secret unmasked, and the ledger stores the secret verbatim", async () => {
  await using palace = createTestPalace();
  expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
  await using shim = await palace.shim();
  const filed = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: TEXT });
  const id = String(filed["drawer_id"]);
  // In this drawer the secret is split over two slices of 800 characters. The broker must join the slices before it masks.
  const long = `${"x ".repeat(385)}${TEXT}`;
  const split = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: long });
  await shim.call("mempalace_diary_write", { agent_name: "me", entry: TEXT });
  await shim.call("mempalace_kg_add", { subject: "deploy", predicate: "token_is", object: TOKEN });

  for (const [tool, args] of [
    ["search", { query: "deploy token" }],
    ["get_drawer", { drawer_id: id }],
    ["get_drawer", { drawer_id: split["drawer_id"] }],
    ["get_drawers", { drawer_ids: [id] }],
    ["list_drawers", { wing: "w" }],
    ["diary_read", { agent_name: "me" }],
    ["kg_query", { entity: "deploy" }],
  ] as const) {
    const answer = await shim.call(`mempalace_${tool}`, args);
    expect(JSON.stringify(answer), tool).not.toContain(TOKEN);
    expect(JSON.stringify(answer), tool).toContain("[redacted: github token]");
    expect(answer["redacted"], tool).toMatchObject({ kinds: ["github token"] });
  }
  expect(await shim.call("mempalace_get_drawer", { drawer_id: id })).toMatchObject({ content: MASKED });
  const search = await palace.run("palace", ["search", "deploy token", "--json"]);
  expect(search.stdout).not.toContain(TOKEN);

  const revealed = await palace.run("palace", ["reveal", id]);
  expect(revealed).toMatchObject({ code: 0, stdout: `${TEXT}\n` });
  expect(await palace.run("palace", ["reveal", "drawer_of_nobody"])).toMatchObject({ code: 4 });
  expect(palace.log()).toContain("drawer revealed");
  expect(palace.log()).not.toContain(TOKEN);
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  expect(ledger.prepare("SELECT text FROM drawer WHERE id = ?").pluck().get(id)).toBe(TEXT);
  ledger.close();

  // An update with the masked text that an agent got is refused, because it would overwrite the secret.
  const lost = await shim.call("mempalace_update_drawer", { drawer_id: id, content: `${MASKED} twice` });
  expect(lost).toMatchObject({ success: false, error: expect.stringContaining("palace edit") as string });
  const moved = await shim.call("mempalace_update_drawer", { drawer_id: id, room: "elsewhere" });
  expect(moved).toMatchObject({ success: true });
});

it("with MEMPALACE_REDACT=off reads return everything verbatim", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_REDACT: "off" } });
  await palace.startBroker();
  await using shim = await palace.shim();
  const { drawer_id: id } = await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: TEXT });
  expect(await shim.call("mempalace_get_drawer", { drawer_id: id })).toMatchObject({ content: TEXT });
});
