/** Kills the broker at each step of a write and at random moments: PALACE_KILL_ROUNDS times (50 in CI), chosen by PALACE_SEED. */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import { seededRandom } from "../../helpers/random.ts";
import { assertWhole, fileDrawer, storm } from "../../helpers/storm.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const KILL_POINTS = [
  "admit.before-queue",
  "commit.before-begin",
  "commit.after-apply",
  "commit.after-journal",
  "commit.before-commit",
  "commit.before-sync",
  "commit.after-sync",
  "acknowledge.before-reply",
  "vectors.before-commit",
  "vectors.after-commit",
];
const ROUNDS = Number(process.env["PALACE_KILL_ROUNDS"] ?? (process.env["CI"] === undefined ? 25 : 50));
const SEED = Number(process.env["PALACE_SEED"] ?? Date.now() % 1_000_000);
const SHIMS = 8;

describe("a broker killed at any step", () => {
  it.each(KILL_POINTS)(
    "a broker killed at any step loses no acknowledged write and doubles none: %s",
    async (point) => {
      await using palace = createTestPalace();
      const env = { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) };
      const broker = await palace.startBroker({ ...env, MEMPALACE_FAULT: `${point}:3` });
      const died = once(broker, "exit");
      await using shim = await palace.shim();
      const acknowledged = new Set<string>();
      const writing = Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          const note = { wing: "kill", room: "step", content: `${point} text ${index}` };
          acknowledged.add(await fileDrawer(palace, shim, note));
        }),
      );
      // One transaction may contain all twelve writes. More writes make sure that the broker passes the step often enough to be killed.
      const pushing = (async () => {
        for (let index = 0; broker.exitCode === null && broker.signalCode === null && index < 50; index++) {
          const note = { wing: "kill", room: "step", content: `${point} push ${index}` };
          acknowledged.add(await fileDrawer(palace, shim, note));
          await delay(20);
        }
      })();
      const [, signal] = (await died) as [number | null, string];
      expect(signal).toBe("SIGKILL");
      await palace.startBroker(env);
      await Promise.all([writing, pushing]);
      await assertWhole(palace, acknowledged);
    },
  );
});

describe("a broker killed at random moments", () => {
  it(
    `a broker killed at random moments keeps every acknowledged write exactly once through ${ROUNDS} kills under ${SHIMS} shims`,
    { timeout: 1_500_000 },
    async () => {
      await using palace = createTestPalace();
      const env = { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) };
      const { present, deleted } = await storm(palace, {
        env,
        shims: SHIMS,
        rounds: ROUNDS,
        random: seededRandom(SEED),
      });
      console.log(
        `seed ${SEED}: ${present.size + deleted.size} writes acknowledged, ${deleted.size} of them deleted, ${ROUNDS} kills`,
      );
      await assertWhole(palace, present, deleted);
    },
  );
});
