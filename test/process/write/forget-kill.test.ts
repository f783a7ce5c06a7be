import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { filesHolding } from "../../helpers/bytes.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const SECRET = "zq7xk9unforgettable4w2v";
const TIMEOUT = { timeout: 300_000 };
const KILL_POINTS = [
  "commit.before-commit",
  "commit.before-sync",
  "commit.after-sync",
  "acknowledge.before-reply",
  "erase.after-sent",
  "erase.after-queue",
  "erase.before-palace-rewrite",
  "erase.after-palace-rewrite",
  "erase.before-rewrite",
  "erase.after-rewrite",
  "erase.before-done",
  "erase.after-done",
];

it(
  "a broker killed at any step of forget leaves no byte of the forgotten text, and keeps every other drawer",
  TIMEOUT,
  async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    // The model's folder is in the home, whose path is known only at this point.
    const env = { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) };
    Object.assign(palace.env, env);
    const kept = ["nothing to hide", "nor here"];
    for (const [at, point] of KILL_POINTS.entries()) {
      await fill(palace, [`code ${at} is ${SECRET}`, `${"word ".repeat(158)}${SECRET} after ${at}`, ...kept]);
      expect(await palace.run("palace", ["stop"]), point).toMatchObject({ code: 0 });

      const broker = await palace.startBroker({ MEMPALACE_FAULT: point });
      const died = once(broker, "exit");
      const done = await palace.run("palace", ["forget", "--match", SECRET, "--yes", "--json"]);
      expect([point, (await died)[1]]).toEqual([point, "SIGKILL"]);
      expect(JSON.parse(done.stdout), point).toMatchObject({ drawers: 3, facts: 1, left: [] });
      // Either the command saw the end of its work, or the next broker finishes the work by itself.
      const next = await palace.client();
      for (let pending = 1; pending > 0;) ({ pending } = await next.call("memory.erasure", { waitMs: 5_000 }));
      next.close();
      expect(filesHolding(palace.home, SECRET), point).toEqual([]);
      const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
      expect(ledger.prepare("SELECT text FROM drawer ORDER BY row").pluck().all(), point).toEqual(kept);
      const forgets = "SELECT count(*) FROM journal WHERE method = 'memory.forget'";
      expect(ledger.prepare(forgets).pluck().get(), point).toBe(at + 1);
      ledger.close();
    }
  },
);

/** Files the drawers and a fact, and waits until the public palace has them. */
async function fill(palace: TestPalace, contents: readonly string[]): Promise<void> {
  {
    await using shim = await palace.shim();
    for (const content of contents) await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content });
    await shim.call("mempalace_kg_add", { subject: "safe", predicate: "opens_with", object: SECRET });
  }
  const client = await palace.client();
  for (let lag = 1; lag > 0; await delay(50)) {
    const { driver, graph } = await client.call("palace.status", {});
    lag = driver.lag + graph.lag;
  }
  client.close();
}
