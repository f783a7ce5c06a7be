/** Ids of facts contain their words in lower case. `palace forget` left such ids, and a masked answer showed a secret in one. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { filesHolding } from "../../helpers/bytes.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 60_000;
const TOKEN = `ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5`;

for (const driver of ["none", "files"] as const)
  test(`forget removes every id of a forgotten fact, driver ${driver}`, { timeout: TIMEOUT_MS }, async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: driver } });
    const broker = await palace.startBroker();
    const shim = await palace.shim();
    const fact = { subject: "Zed", predicate: "has_token", object: TOKEN };
    await shim.call("mempalace_kg_add", fact);
    await shim.call("mempalace_kg_add", { ...fact, subject: TOKEN.toUpperCase(), object: "a desk" });
    await shim.call("mempalace_kg_add", { ...fact, predicate: `opened by ${TOKEN}`, object: "the desk" });
    await shim.call("mempalace_kg_invalidate", { ...fact, object: TOKEN.toLowerCase() });
    await shim.call("mempalace_kg_add", { subject: "Zed", predicate: "sits_at", object: "Desk" });
    await shim[Symbol.asyncDispose]();
    // An undone fact is only in the journal and the before-images.
    const client = await palace.client();
    await client.callTool("mempalace_kg_add", { ...fact, subject: "Ann" });
    client.close();
    expect(await palace.run("palace", ["undo", "--client", "test", "--since", "1h", "--yes"])).toMatchObject({
      code: 0,
    });

    expect(filesHolding(palace.home, TOKEN)).not.toEqual([]);
    const done = await palace.run("palace", ["forget", "--match", "-", "--yes", "--json"], { input: TOKEN });
    expect(done.stderr).toBe("");
    expect(JSON.parse(done.stdout)).toMatchObject({ pending: 0, left: [], facts: 3 });
    expect(filesHolding(palace.home, TOKEN)).toEqual([]);
    const ended = once(broker, "exit");
    broker.kill("SIGTERM");
    await ended;
    expect(filesHolding(palace.home, TOKEN)).toEqual([]);
    const stays = await palace.run("palace", ["call", "kg_query", '{"entity":"Zed"}']);
    expect(stays.stdout).toContain("sits_at");
  });

test("a secret in a fact is also masked in the fact's id", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
  await palace.startBroker();
  await using shim = await palace.shim();
  const added = await shim.call("mempalace_kg_add", { subject: "Zed", predicate: "has_token", object: TOKEN });
  expect(added["triple_id"]).toMatch(/^t_zed_has_token_\[redacted: github token\]_/);
  const ends = { subject: "Zed", predicate: "has_token", old_object: TOKEN, new_object: `${TOKEN}Z` };
  const superseded = await shim.call("mempalace_kg_supersede", ends);
  expect(JSON.stringify([added, superseded]).toLowerCase()).not.toContain(TOKEN.toLowerCase());
  const plain = await shim.call("mempalace_kg_add", { subject: "Zed", predicate: "sits_at", object: "a desk" });
  expect(plain["triple_id"]).toMatch(/^t_zed_sits_at_a_desk_/);
});
