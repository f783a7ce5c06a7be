import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createScene, fill } from "../../helpers/export-scene.ts";
import { processesWith, type TestPalace } from "../../helpers/palace.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import { MEMPALACE_VERSIONS, mempalaceBin, mempalaceMissing } from "../../helpers/python-mempalace.ts";
import { expectSame, ledgerRows } from "../../helpers/python-rows.ts";

const [version] = MEMPALACE_VERSIONS;
const missing = await mempalaceMissing(version);
if (missing !== undefined) console.log(`left out: killed exports (${missing})`);

const AFTER_RENAME = "export.after-rename";
const WHILE_CHROMA_RUNS = "export.after-page:3";
/** Steps at which an export is killed. A Chroma runs only at `WHILE_CHROMA_RUNS`; the other steps are the same without Chroma. */
const STEPS = ["export.before-server", WHILE_CHROMA_RUNS, "export.before-verify", "export.before-rename", AFTER_RENAME];

/** Number of notes: enough that the export writes a third page. */
const NOTES = 400;

describe.skipIf(missing !== undefined)("palace export", () => {
  // The tests share one palace, which no test changes.
  let palace: TestPalace, broker: ChildProcess;
  const chroma = ["--chroma", mempalaceBin(version, "chroma")];

  beforeAll(async () => {
    palace = createScene();
    broker = await palace.startBroker();
    await fill(palace, NOTES);
  });
  afterAll(() => palace[Symbol.asyncDispose]());

  it("export refuses a folder that is not empty, our own home, and a Chroma program that cannot run", async () => {
    const full = join(palace.home, "refused/full");
    mkdirSync(full, { recursive: true });
    writeFileSync(join(full, "mine.txt"), "mine");
    const refusals: [string[], number, string][] = [
      [[full], 2, "is not empty"],
      [[join(full, "mine.txt")], 2, "is not a folder"],
      [[join(palace.config.paths.home, "inside")], 2, "own"],
      [[join(palace.home, "refused/new"), "--chroma", "no-such-chroma"], 7, "--without-chroma"],
    ];
    for (const [args, code, words] of refusals) {
      const answer = await palace.run("palace", ["export", ...args]);
      expect([answer.code, answer.stderr], args.join(" ")).toEqual([code, expect.stringContaining(words)]);
    }
    expect(readdirSync(full)).toEqual(["mine.txt"]);
    expect(readdirSync(join(palace.home, "refused"))).toEqual(["full"]);
  });

  it("an interrupted export leaves neither file nor process, and the next export, without Chroma, has all rows of the palace", async () => {
    const folder = join(palace.home, "interrupted");
    mkdirSync(folder);
    const dir = join(folder, "exported");
    const child = spawn(process.execPath, [palace.executable("palace"), "export", dir, ...chroma], {
      env: palace.env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("writing drawers")) child.kill("SIGINT");
    });
    expect(await once(child, "close")).toEqual([130, null]);
    expect(readdirSync(folder)).toEqual([]);
    expect(processesWith(`${dir}.export`)).toEqual([]);
    expect((await palace.run("palace", ["jobs"])).stdout).toContain("cancelled");
    expect(broker.exitCode).toBe(null);
    mkdirSync(dir);
    const { code, stdout } = await palace.run("palace", ["export", dir, "--without-chroma"]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("written by files and verified")]);
    expectSame(ledgerRows(palace), await dumpChroma(version, palace.home, dir));
  });

  it("an export killed at any step is missing or whole, no Chroma outlives it, and the next export is whole", async () => {
    const folder = join(palace.home, "killed");
    mkdirSync(folder);
    const dir = join(folder, "exported");
    // Each export finds the files of the previous killed export, and is killed at a later step.
    for (const fault of STEPS) {
      await palace.run("palace", ["stop"]);
      const killed = once(await palace.startBroker({ MEMPALACE_FAULT: fault }), "exit");
      const { code } = await palace.run("palace", [
        "export",
        dir,
        ...(fault === WHILE_CHROMA_RUNS ? chroma : ["--without-chroma"]),
      ]);
      expect([fault, await killed, code === 0]).toEqual([fault, [null, "SIGKILL"], false]);
      for (let tries = 0; processesWith(`${dir}.export`).length > 0 && tries < 100; tries++) await delay(100);
      expect(processesWith(`${dir}.export`), fault).toEqual([]);
      if (fault !== AFTER_RENAME) expect(readdirSync(folder), fault).not.toContain("exported");
    }
    expectSame(ledgerRows(palace), await dumpChroma(version, palace.home, dir));
    // The last export has removed the files of the previous killed export.
    expect(readdirSync(folder)).toEqual(["exported"]);
  });
});
