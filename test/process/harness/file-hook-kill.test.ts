import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { stageHome } from "../../../src/feeders/session-miner/staging-area.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";

const STEPS = ["marked", "taken", "held", "begun", "filed", "done"];

/** Writes a session of Claude Code, and returns the text of its last answer. */
function writeSession({ home }: TestPalace, id: string, turns = 3): string {
  const line = (n: number, role: string, content: unknown): string =>
    `${JSON.stringify({ type: role, uuid: `${id}-${role}-${n}`, sessionId: id, cwd: "/home/ada/fern", timestamp: "2026-01-01T00:00:00Z", message: { role, content } })}\n`;
  const turn = (n: number): string =>
    line(n, "user", `Question ${n} of ${id}`) + line(n, "assistant", [{ type: "text", text: `Answer ${n} of ${id}` }]);
  const transcript = join(home, ".claude/projects/-home-ada-fern", `${id}.jsonl`);
  mkdirSync(dirname(transcript), { recursive: true });
  writeFileSync(transcript, Array.from({ length: turns }, (_, at) => turn(at)).join(""));
  return `Answer ${turns - 1} of ${id}`;
}

function file(palace: TestPalace, session: string, fault?: string): ReturnType<TestPalace["run"]> {
  const args = ["hook", "file", "--from", "claude-code", "--session", session];
  return palace.run("palace", args, { env: fault === undefined ? {} : { MEMPALACE_FAULT: fault } });
}

/** Makes the files look old, because a new empty file could belong to a process that is about to write its pid. */
function makeOld(folder: string): void {
  const longAgo = Date.now() / 1000 - 60;
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), longAgo, longAgo);
}

function marksIn(folder: string): string[] {
  return (existsSync(folder) ? readdirSync(folder) : []).filter((name) => !name.endsWith(".pid"));
}

test("a session whose filing process is killed at any step is filed by the next process, which files another session", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const filing = join(palace.config.paths.stateDir, "filing");
  const client = await palace.client();
  const isFiled = async (text: string): Promise<boolean> => {
    const found = (await client.callTool("mempalace_search", { query: text, limit: 20 })) as {
      results?: { text: string }[];
    };
    return (found.results ?? []).some((hit) => hit.text.includes(text));
  };
  for (const [at, step] of STEPS.entries()) {
    const [killed, next] = [`killed-${at}`, `next-${at}`];
    const [last, other] = [writeSession(palace, killed), writeSession(palace, next)];
    const { code } = await file(palace, killed, `filing.${step}`);
    expect({ step, code }).toEqual({ step, code: null });
    makeOld(filing);
    expect((await file(palace, next)).code).toBe(0);
    expect({ step, isFiled: await isFiled(last) }).toEqual({ step, isFiled: true });
    expect(await isFiled(other)).toBe(true);
    expect(marksIn(filing)).toEqual([]);
  }
  client.close();
});

test("a session whose filing gets SIGTERM stays pending, and the next process files it", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const filing = join(palace.config.paths.stateDir, "filing");
  const last = writeSession(palace, "ended", 3_000);
  const args = ["src/bin/palace.ts", "hook", "file", "--from", "claude-code", "--session", "ended"];
  const child = spawn(process.execPath, args, { cwd: ROOT, env: palace.env, stdio: "ignore" });
  const ended = once(child, "exit");
  await expect.poll(() => marksIn(filing), { interval: 5 }).toEqual([expect.stringMatching(/\.doing$/)]);
  // The miner makes this folder only after it has begun to catch signals.
  await expect.poll(() => existsSync(stageHome(palace.config.paths.cacheDir)), { interval: 5 }).toBe(true);
  child.kill("SIGTERM");
  await ended;
  expect(marksIn(filing)).toEqual([expect.stringMatching(/\.doing$/)]);
  writeSession(palace, "next");
  makeOld(filing);
  expect((await file(palace, "next")).code).toBe(0);
  expect(marksIn(filing)).toEqual([]);
  expect((await palace.run("palace", ["search", last, "--json"])).stdout).toContain(last);
});

test("a session whose filing processes are all killed is tried three more times and is then no longer pending", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const filing = join(palace.config.paths.stateDir, "filing");
  writeSession(palace, "heavy");
  writeSession(palace, "other");
  expect((await file(palace, "heavy", "filing.begun")).code).toBe(null);
  for (let tries = 0; tries < 3; tries++) {
    makeOld(filing);
    // The process files its own session first.
    expect((await file(palace, "other", "filing.begun:2")).code).toBe(null);
    expect(marksIn(filing)).toHaveLength(1);
  }
  makeOld(filing);
  expect((await file(palace, "other")).code).toBe(0);
  expect(marksIn(filing)).toEqual([]);
});

test("a session whose filing finds no broker stays pending, and the next process files it", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const filing = join(palace.config.paths.stateDir, "filing");
  const last = writeSession(palace, "ended");
  writeSession(palace, "next");
  expect((await palace.run("palace", ["stop"])).code).toBe(0);
  expect((await file(palace, "ended")).code).toBe(0);
  expect(marksIn(filing)).toEqual([expect.stringMatching(/\.doing$/)]);
  expect((await palace.run("palace", ["start"])).code).toBe(0);
  expect((await file(palace, "next")).code).toBe(0);
  expect(marksIn(filing)).toEqual([]);
  expect((await palace.run("palace", ["search", last, "--json"])).stdout).toContain(last);
});
