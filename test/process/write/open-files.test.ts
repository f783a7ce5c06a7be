import { spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type OpenFiles, openFilesMissing, watchOpenFiles } from "../../helpers/open-files.ts";
import { otherMountMissing, throughOtherMount } from "../../helpers/other-mount.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { seededRandom } from "../../helpers/random.ts";
import { storm } from "../../helpers/storm.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const missing = openFilesMissing ?? otherMountMissing;
if (missing !== undefined) console.log(`left out: who has a palace's files open (${missing})`);

/** Script that opens a file with the given flags, prints `open` and keeps the file open. */
const HOLD = `require("node:fs").openSync(process.argv[1], process.argv[2]); console.log("open"); setInterval(() => {}, 1000)`;

let elsewhere: string;
beforeEach(() => {
  elsewhere = mkdtempSync(join(tmpdir(), "palace-elsewhere-"));
});
afterEach(() => rmSync(elsewhere, { recursive: true }));

/** Lets agents write in rounds and kills the broker at the end of each round. `meanwhile` runs in each round, before the kill. */
async function amidStorm(palace: TestPalace, meanwhile: (round: number) => Promise<void>): Promise<void> {
  const env = { MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) };
  await storm(palace, { ...{ env, shims: 2, rounds: 4, random: seededRandom(3) }, onRound: meanwhile });
}

/** Waits until a broker has the palace open. */
async function opened(watch: OpenFiles): Promise<void> {
  await expect.poll(async () => (await watch.seen()).held.palace, { interval: 50 }).toBeGreaterThan(0);
}

/** File that a second process opens in each round of `amidStorm`, except in round 0: no broker has been killed before it. */
const OPENS: Readonly<
  Record<number, { file: string; flags: string; by: "its own path" | "another name" | "another mount" }>
> = {
  1: { file: "ledger.sqlite3", flags: "r+", by: "its own path" },
  2: { file: "ledger.sqlite3-wal", flags: "r", by: "another name" },
  3: { file: "palace/chroma.sqlite3", flags: "r", by: "another mount" },
};

describe.skipIf(missing)("the files of a palace", () => {
  test("no file of a palace is open in two brokers while one broker after another is killed", async () => {
    await using palace = createTestPalace();
    await using watch = watchOpenFiles(palace.config.paths.home);
    await amidStorm(palace, async (round) => {
      if (round === 2) await opened(watch);
    });
    await watch.expectOneAtATime();
  });

  test("the test notices a second process that opens a file by its own path, another name or another mount during a storm", async () => {
    await using palace = createTestPalace();
    const { home } = palace.config.paths;
    const noticed: string[] = [];
    await amidStorm(palace, async (round) => {
      const open = OPENS[round];
      if (open === undefined) return;
      const { file, flags, by } = open;
      await using watch = watchOpenFiles(home);
      await opened(watch);
      const name = join(elsewhere, String(round));
      if (by === "another name") linkSync(join(home, file), name);
      const { path, wrapper } = by === "another mount" ? throughOtherMount(home, name) : { path: home, wrapper: [] };
      const [command = "", ...args] = [
        ...[...wrapper, process.execPath, "-e", HOLD],
        ...[by === "another name" ? name : join(path, file), flags],
      ];
      const second = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
      await once(second.stdout, "data");
      await expect.poll(async () => (await watch.seen()).together, { interval: 20, message: by }).not.toEqual([]);
      second.kill("SIGKILL");
      await once(second, "exit");
      const { together } = await watch.seen();
      const what = `${file} to ${flags === "r" ? "read" : "write"} by process`;
      expect(
        together.filter((both) => !both.includes(what)),
        by,
      ).toEqual([]);
      await expect(watch.expectOneAtATime(), by).rejects.toThrow("open in two processes");
      noticed.push(by);
    });
    expect(noticed).toEqual(["its own path", "another name", "another mount"]);
  });
});
