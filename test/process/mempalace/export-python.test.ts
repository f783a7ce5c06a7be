/**
 * Tests `palace export` through real Chroma, while agents write. The real MemPalace opens the export, counts, lists and searches it, and
 * finds the graph. A folder that is not empty is refused. After Ctrl-C or a kill at any step the export is whole or missing.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createTestPalace, processesWith, ROOT, type TestPalace } from "../../helpers/palace.ts";
import { dumpChroma } from "../../helpers/python-chroma.ts";
import {
  chromaOf,
  MEMPALACE_VERSIONS,
  mempalaceBin,
  mempalaceEnv,
  mempalaceMissing,
  type MempalaceVersion,
  openMempalace,
} from "../../helpers/python-mempalace.ts";
import { expectSame, ledgerRows, status } from "../../helpers/python-rows.ts";

/** Makes a palace whose HOME has MemPalace's model, so that both sides make the same vectors. */
function createScene(): TestPalace {
  const palace = createTestPalace();
  mempalaceEnv(palace.home);
  return palace;
}

async function fill(palace: TestPalace, notes: number): Promise<void> {
  await using shim = await palace.shim();
  const call = (tool: string, values: Record<string, unknown>): Promise<Record<string, unknown>> =>
    shim.call(`mempalace_${tool}`, values);
  await Promise.all(
    Array.from({ length: notes }, (_, n) =>
      call("add_drawer", { wing: `w${n % 3}`, room: "notes", content: `our note ${n}, ä 日本 👩‍👩‍👧` }),
    ),
  );
  await call("add_drawer", { wing: "w0", room: "long", content: "abc ".repeat(500) });
  await call("diary_write", { agent_name: "me", entry: "dear diary", topic: "days" });
  await call("kg_add", { subject: "Alice", predicate: "works at", object: "Acme", valid_from: "2025-01-01" });
  await call("create_tunnel", {
    ...{ source_wing: "w0", source_room: "notes", target_wing: "w1", target_room: "notes", label: "alike" },
  });
  await call("event_append", { type: "news", stream: "s", room: "r", from_agent: "me", body: "an event of ours" });
  while ((await status(palace)).search.pending > 0) await delay(100);
}

const left = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes("export"));

const [version] = MEMPALACE_VERSIONS;
const missing = (await Promise.all(MEMPALACE_VERSIONS.map(mempalaceMissing))).find((why) => why !== undefined);
if (missing !== undefined) console.log(`left out: export (${missing})`);

describe.skipIf(missing !== undefined)("MemPalace of either version", () => {
  it("MemPalace opens, counts, lists and searches an export made while an agent wrote, and finds the graph", async () => {
    await using palace = createScene();
    await palace.startBroker();
    // More drawers than the threshold at which Chroma writes its index to disk.
    await fill(palace, 1_100);
    const rows = ledgerRows(palace);
    const dir = join(palace.home, "there/exported");
    const chroma = mempalaceBin(version, "chroma");
    await using shim = await palace.shim();
    let isWriting = true;
    const writing = (async () => {
      for (let n = 0; isWriting; n++)
        await shim.call("mempalace_add_drawer", { wing: "later", room: "r", content: `while it ran ${n}` });
    })();
    const { code, stdout, stderr } = await palace.run("palace", ["export", dir, "--chroma", chroma, "--json"]);
    isWriting = false;
    await writing;
    expect([code, stderr]).toEqual([0, ""]);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({ dir, writer: "chroma", graph: { facts: 1, tunnels: 1 }, events: 1 });
    for (const one of MEMPALACE_VERSIONS)
      await expectOpens(one, palace.home, { dir, drawers: Number(report["drawers"]) });
    // Both versions bring the same Chroma, so it is enough to dump the export with one version.
    expect(chromaOf("3.3.6")).toBe(chromaOf("3.11.0"));
    const exported = await dumpChroma(version, palace.home, dir);
    expect(exported.size).toBe(report["drawers"]);
    const later = [...exported.keys()].filter((id) => !rows.has(id));
    for (const id of later) {
      expect(exported.get(id)?.text).toContain("while it ran");
      exported.delete(id);
    }
    expectSame(rows, exported);
    expect(readdirSync(dir)).toEqual(expect.arrayContaining(["chroma.sqlite3", "tunnels.json"]));
    expect(left(join(palace.home, "there"))).toEqual(["exported"]);
  });
});

/** Opens a copy of the export with the MemPalace `by`, because MemPalace changes the folder. */
async function expectOpens(
  by: MempalaceVersion,
  home: string,
  { dir, drawers }: { dir: string; drawers: number },
): Promise<void> {
  const copy = join(home, `there-${by}`);
  cpSync(dir, copy, { recursive: true });
  await using theirs = await openMempalace(by, { home, palace: copy });
  expect(await theirs.call("status"), by).toMatchObject({ total_drawers: drawers });
  expect(JSON.stringify(await theirs.call("list_rooms", { wing: "w0" }))).toContain("long");
  const found = await theirs.call("search", { query: "our note 7, ä 日本 👩‍👩‍👧", wing: "w1", limit: 1 });
  expect(JSON.stringify(found)).toContain("our note 7,");
  expect(JSON.stringify(await theirs.call("kg_query", { entity: "Alice" }))).toContain("Acme");
  expect(JSON.stringify(await theirs.call("diary_read", { agent_name: "me" }))).toContain("dear diary");
  if (by !== "3.3.6") expect(JSON.stringify(await theirs.call("event_list"))).toContain("an event of ours");
  const added = await theirs.call("add_drawer", { wing: "theirs", room: "r", content: "theirs" });
  expect(added).toMatchObject({ success: true });
}

/** Two file times that Chroma's server reads with the last bit changed, as it reads nine of a hundred times. */
const TIMES_S = [1795417799.9044359, 1795417812.7709341];

const AFTER_RENAME = "export.after-rename";
const STEPS = [
  "export.before-server",
  "export.after-page:3",
  "export.before-verify",
  "export.before-rename",
  AFTER_RENAME,
];

describe.skipIf(missing !== undefined)("palace export", () => {
  it("an export keeps every file time as exactly as Chroma's server reads it", async () => {
    await using palace = createScene();
    const folder = join(palace.home, "project");
    mkdirSync(folder);
    for (const [at, seconds] of TIMES_S.entries()) {
      const file = join(folder, `${at}.md`);
      writeFileSync(file, `number ${at} of some notes that are long enough to be filed as a document of their own`);
      utimesSync(file, seconds, seconds);
    }
    expect(await palace.run("palace", ["mine", "projects", folder])).toMatchObject({ code: 0 });
    while ((await status(palace)).search.pending > 0) await delay(100);
    const dir = join(palace.home, "exported");
    const exported = await palace.run("palace", ["export", dir, "--chroma", mempalaceBin(version, "chroma")]);
    expect(exported, exported.stderr).toMatchObject({ code: 0 });
    const rows = [...(await dumpChroma(version, palace.home, dir)).values()];
    const times = rows.map(({ metadata }) => Number(metadata["source_mtime"])).sort();
    expect(times.map((time, at) => Math.abs(time - (TIMES_S[at] ?? 0)) < 1e-6)).toEqual([true, true]);
  });

  it("an export is refused into a folder that is not empty, into our own home, and if the Chroma program cannot run", async () => {
    await using palace = createScene();
    await palace.startBroker();
    await fill(palace, 3);
    const full = join(palace.home, "full");
    mkdirSync(full);
    writeFileSync(join(full, "mine.txt"), "mine");
    const refusals: [string[], number, string][] = [
      [[full], 2, "is not empty"],
      [[join(full, "mine.txt")], 2, "is not a folder"],
      [[join(palace.config.paths.home, "inside")], 2, "own"],
      [[join(palace.home, "new"), "--chroma", "no-such-chroma"], 7, "--without-chroma"],
    ];
    for (const [args, code, words] of refusals) {
      const answer = await palace.run("palace", ["export", ...args]);
      expect([answer.code, answer.stderr], args.join(" ")).toEqual([code, expect.stringContaining(words)]);
    }
    expect(readdirSync(full)).toEqual(["mine.txt"]);
    expect(left(palace.home)).toEqual([]);
  });

  it("an export without Chroma has the same rows", async () => {
    await using palace = createScene();
    await palace.startBroker();
    await fill(palace, 30);
    const dir = join(palace.home, "exported");
    mkdirSync(dir);
    const { code, stdout } = await palace.run("palace", ["export", dir, "--without-chroma"]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("written by files and verified")]);
    expectSame(ledgerRows(palace), await dumpChroma(version, palace.home, dir));
  });

  it("an interrupted export leaves neither file nor process, and the next export is whole", async () => {
    await using palace = createScene();
    const broker = await palace.startBroker();
    await fill(palace, 600);
    const dir = join(palace.home, "exported");
    const chroma = mempalaceBin(version, "chroma");
    const child = spawn(process.execPath, [join(ROOT, "src/bin/palace.ts"), "export", dir, "--chroma", chroma], {
      env: palace.env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes("writing drawers")) child.kill("SIGINT");
    });
    expect(await once(child, "close")).toEqual([130, null]);
    expect(left(palace.home)).toEqual([]);
    expect(processesWith(`${dir}.export`)).toEqual([]);
    expect((await palace.run("palace", ["jobs"])).stdout).toContain("cancelled");
    expect(broker.exitCode).toBe(null);
    expect(await palace.run("palace", ["export", dir, "--chroma", chroma])).toMatchObject({ code: 0 });
    expect((await dumpChroma(version, palace.home, dir)).size).toBe(ledgerRows(palace).size);
  });

  it("an export killed at any step is missing or whole, no Chroma outlives it, and the next export is whole", async () => {
    await using palace = createScene();
    const dir = join(palace.home, "exported");
    const args = ["export", dir, "--chroma", mempalaceBin(version, "chroma")];
    // Each export starts with the files that the killed export before it left, and is killed at a later step.
    for (const [at, fault] of STEPS.entries()) {
      if (at > 0) await palace.run("palace", ["stop"]);
      const broker = await palace.startBroker({ MEMPALACE_FAULT: fault });
      if (at === 0) await fill(palace, 400);
      const killed = once(broker, "exit");
      const { code } = await palace.run("palace", args);
      expect([fault, await killed, code === 0]).toEqual([fault, [null, "SIGKILL"], false]);
      for (let tries = 0; processesWith(`${dir}.export`).length > 0 && tries < 100; tries++) await delay(100);
      expect(processesWith(`${dir}.export`), fault).toEqual([]);
      if (fault !== AFTER_RENAME) expect(left(palace.home), fault).not.toContain("exported");
    }
    expectSame(ledgerRows(palace), await dumpChroma(version, palace.home, dir));
    // The last export has removed the files that the killed export before it left.
    expect(left(palace.home)).toEqual(["exported"]);
  });
});
