/** Forgetting, killed at every step of it: the command still comes to its end, once, and nothing is left of the text. */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { filesHolding } from "../../helpers/bytes.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const SECRET = "zq7xk9unforgettable4w2v";
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

it.each(KILL_POINTS)(
  "a broker killed at %s leaves no byte of what was forgotten, and loses nothing else",
  async (point) => {
    await using palace = createTestPalace();
    const env = { MEMPALACE_DRIVER: "files", MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) };
    const first = await palace.startBroker(env);
    {
      await using shim = await palace.shim(env);
      for (const content of [
        `the code is ${SECRET}`,
        `${"word ".repeat(158)}${SECRET} after`,
        "nothing to hide",
        "nor here",
      ])
        await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content });
      await shim.call("mempalace_kg_add", { subject: "safe", predicate: "opens_with", object: SECRET });
    }
    const client = await palace.client();
    for (let lag = 1; lag > 0; await delay(50)) {
      const { driver, graph } = await client.call("palace.status", {});
      lag = driver.lag + graph.lag;
    }
    client.close();
    const ended = once(first, "exit");
    first.kill("SIGTERM");
    await ended;

    const broker = await palace.startBroker({ ...env, MEMPALACE_FAULT: point });
    const died = once(broker, "exit");
    const done = await palace.run("palace", ["forget", "--match", SECRET, "--yes", "--json"], { env });
    expect((await died)[1]).toBe("SIGKILL");
    expect(JSON.parse(done.stdout)).toMatchObject({ drawers: 3, facts: 1, left: [] });
    // The command has seen the end of it, or the next broker comes to it by itself.
    const next = await palace.client();
    for (let pending = 1; pending > 0;) ({ pending } = await next.call("memory.erasure", { waitMs: 5_000 }));
    next.close();
    expect(filesHolding(palace.home, SECRET)).toEqual([]);
    const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
    expect(ledger.prepare("SELECT text FROM drawer ORDER BY row").pluck().all()).toEqual([
      "nothing to hide",
      "nor here",
    ]);
    expect(ledger.prepare("SELECT count(*) FROM journal WHERE method = 'memory.forget'").pluck().get()).toBe(1);
    ledger.close();
  },
);
