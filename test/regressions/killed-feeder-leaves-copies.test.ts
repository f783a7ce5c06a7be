/**
 * A session feeder that was killed while it wrote a transcript or its notes left the temporary file, with what was said in the
 * session, and nobody ever took it away. Found by test/process/session-kill.test.ts.
 */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createOpencodeDatabase, fillOpencode } from "../helpers/opencode-database.ts";
import { createTestPalace } from "../helpers/palace.ts";

test("what a killed feeder left is gone after the next run, what somebody writes just now stays", async () => {
  await using palace = createTestPalace();
  const file = join(palace.home, "opencode.db");
  const database = createOpencodeDatabase(file);
  fillOpencode(database, { sessions: 1, messages: 10, seed: 1 });
  database.close();
  const put = (name: string, ageS: number): string => {
    const path = join(palace.home, ".cache/mempalace-session", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "what was said");
    utimesSync(path, Date.now() / 1000 - ageS, Date.now() / 1000 - ageS);
    return path;
  };
  const old = [put("wing/a.jsonl.123.tmp", 7200), put(".manifest/notes.json.45.tmp", 7200)];
  const kept = [put("wing/b.jsonl.124.tmp", 0), put("wing/c.jsonl", 7200)];
  const rehearsed = await palace.run("mempalace-session", ["--db", file, "--dry-run"]);
  expect(rehearsed.code, rehearsed.stderr).toBe(0);
  expect(old.map((path) => existsSync(path))).toEqual([true, true]);
  const { code, stderr } = await palace.run("mempalace-session", ["--db", file]);
  expect(code, stderr).toBe(0);
  expect([...old, ...kept].map((path) => existsSync(path))).toEqual([false, false, true, true]);
});
