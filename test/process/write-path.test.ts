/**
 * The kill test: a real broker is killed with SIGKILL at every step of the write path, and at random moments while eight
 * shims write. Whatever was acknowledged is there exactly once afterwards; nothing else is half there.
 * PALACE_KILL_ROUNDS sets the random rounds (200 in CI), PALACE_SEED repeats a run.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { readBrokerFile } from "../../src/client/discover.ts";
import type { StdioMcp } from "../../src/bin/stdio-mcp.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";

const KILL_POINTS = [
  "commit.before-begin",
  "commit.after-apply",
  "commit.after-journal",
  "commit.before-commit",
  "commit.after-commit",
  "vectors.before-commit",
  "vectors.after-commit",
];
const ROUNDS = Number(process.env["PALACE_KILL_ROUNDS"] ?? (process.env["CI"] === undefined ? 25 : 200));
const SEED = Number(process.env["PALACE_SEED"] ?? Date.now() % 1_000_000);
const SHIMS = 8;

describe("a broker killed at any step", () => {
  it.each(KILL_POINTS)("loses nothing acknowledged and doubles nothing: %s", async (point) => {
    await using palace = createTestPalace();
    const env = { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) };
    const broker = await palace.startBroker({ ...env, MEMPALACE_FAULT: `${point}:3` });
    const died = once(broker, "exit");
    await using shim = await palace.shim();
    const acknowledged = new Set<string>();
    const writing = Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const result = await shim.call("mempalace_add_drawer", {
          wing: "kill",
          room: "step",
          content: `${point} text ${index}`,
        });
        acknowledged.add(String(result["drawer_id"]));
      }),
    );
    // Group commit may take all twelve at once: some later writes make sure that the third passing comes.
    const pushing = (async () => {
      for (let index = 0; broker.exitCode === null && broker.signalCode === null && index < 50; index++) {
        await shim
          .call("mempalace_add_drawer", { wing: "kill", room: "step", content: `${point} push ${index}` })
          .then((result) => acknowledged.add(String(result["drawer_id"])));
        await delay(20);
      }
    })();
    const [, signal] = (await died) as [number | null, string];
    expect(signal).toBe("SIGKILL");
    await palace.startBroker(env);
    await Promise.all([writing, pushing]);
    await assertWhole(palace, acknowledged);
  });
});

describe("a broker killed at random moments", () => {
  it(
    `keeps every acknowledged write exactly once through ${ROUNDS} kills under ${SHIMS} shims`,
    { timeout: 900_000 },
    async () => {
      await using palace = createTestPalace();
      const random = seededRandom(SEED);
      const env = { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) };
      // Nobody but the shims starts brokers: each kill is followed by a start on demand, as it is for users.
      const shims: StdioMcp[] = await Promise.all(Array.from({ length: SHIMS }, () => palace.shim(env)));
      const acknowledged = new Set<string>();
      const deleted = new Set<string>();
      let stopped = false;
      const writers = shims.map(async (shim, number) => {
        for (let index = 0; !stopped; index++) {
          const content = `shim ${number} write ${index}`;
          const { drawer_id: id } = await shim.call("mempalace_add_drawer", {
            wing: "storm",
            room: `shim${number}`,
            content,
          });
          acknowledged.add(String(id));
          if (index % 7 === 3) {
            await shim.call("mempalace_delete_drawer", { drawer_id: String(id) });
            deleted.add(String(id));
          }
          if (index % 5 === 2)
            await shim.call("mempalace_update_drawer", { drawer_id: String(id), room: `moved${number}` });
        }
      });
      for (let round = 0; round < ROUNDS; round++) {
        // Each broker gets to acknowledge a few writes, then dies somewhere in the middle of the next ones.
        const target = acknowledged.size + 1 + Math.floor(random() * 12);
        await expect.poll(() => acknowledged.size, { timeout: 120_000, interval: 1 }).toBeGreaterThanOrEqual(target);
        await delay(random() * 8);
        const pid = readBrokerFile(palace.config.paths.brokerFile)?.pid;
        if (pid !== undefined) killHard(pid);
      }
      stopped = true;
      await Promise.all(writers);
      for (const shim of shims) expect(await shim.close()).toBe(0);
      console.log(
        `seed ${SEED}: ${acknowledged.size} writes acknowledged, ${deleted.size} of them deleted, ${ROUNDS} kills`,
      );
      await assertWhole(palace, new Set([...acknowledged].filter((id) => !deleted.has(id))), deleted);
    },
  );
});

/** SIGKILL; a broker that has ended by itself meanwhile is no failure. */
function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ESRCH");
  }
}

/** Every acknowledged drawer is there once, no deleted one, and the ledger's tables agree with each other. */
async function assertWhole(
  palace: TestPalace,
  present: ReadonlySet<string>,
  absent: ReadonlySet<string> = new Set(),
): Promise<void> {
  const database = new Database(palace.config.paths.ledgerFile, { readonly: true });
  try {
    const ids = database.prepare<[], string>("SELECT id FROM drawer").pluck().all();
    expect(ids.length).toBe(new Set(ids).size);
    const missing = [...present].filter((id) => !ids.includes(id));
    expect(missing, "acknowledged and lost").toEqual([]);
    expect(
      ids.filter((id) => absent.has(id)),
      "deleted and back",
    ).toEqual([]);
    const one = (sql: string): unknown => database.prepare(sql).pluck().get();
    expect(one("PRAGMA integrity_check")).toBe("ok");
    expect(one("SELECT count(*) FROM drawer_fts_docsize")).toBe(ids.length);
    expect(one("SELECT coalesce(sum(drawers), 0) FROM place")).toBe(ids.length);
    expect(
      one(
        "SELECT count(*) FROM drawer WHERE row NOT IN (SELECT row FROM vector) AND row NOT IN (SELECT row FROM pending_embedding)",
      ),
    ).toBe(0);
    expect(
      one(
        "SELECT count(*) FROM vector WHERE row NOT IN (SELECT row FROM drawer) OR row NOT IN (SELECT row FROM vector_code)",
      ),
    ).toBe(0);
    expect(one("SELECT count(*) FROM journal WHERE method = 'add_drawer'"), "one journal row a filed drawer").toBe(
      ids.length + absent.size,
    );
  } finally {
    database.close();
  }
}
