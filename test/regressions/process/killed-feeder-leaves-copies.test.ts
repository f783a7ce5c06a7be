/** A feeder that was killed while it wrote left a temporary file with a session's or document's text for ever. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createOpencodeDatabase, fillOpencode } from "../../helpers/opencode-database.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

function leave(palace: TestPalace, name: string, ageS: number): string {
  const path = join(palace.home, ".cache", name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "what was said");
  utimesSync(path, Date.now() / 1000 - ageS, Date.now() / 1000 - ageS);
  return path;
}

test("the next feeder removes old temporary files of a killed feeder and keeps recent files", async () => {
  await using palace = createTestPalace();
  const file = join(palace.home, "opencode.db");
  const database = createOpencodeDatabase(file);
  fillOpencode(database, { sessions: 1, messages: 10, seed: 1 });
  database.close();
  const put = (name: string, ageS: number): string => leave(palace, `mempalace-session/${name}`, ageS);
  const old = [put("wing/a.jsonl.123.tmp", 7200), put(".manifest/notes.json.45.tmp", 7200)];
  const kept = [put("wing/b.jsonl.124.tmp", 0), put("wing/c.jsonl", 7200)];
  const rehearsed = await palace.run("mempalace-session", ["--db", file, "--dry-run"]);
  expect(rehearsed.code, rehearsed.stderr).toBe(0);
  expect(old.map((path) => existsSync(path))).toEqual([true, true]);
  const { code, stderr } = await palace.run("mempalace-session", ["--db", file]);
  expect(code, stderr).toBe(0);
  expect([...old, ...kept].map((path) => existsSync(path))).toEqual([false, false, true, true]);
});

test.each([
  ["docs", "mempalace-docs/wing/a.md.123.tmp"],
  ["projects", "mempalace-projects/.manifest/wing/notes.json.123.tmp"],
  ["convos", "mempalace-convos/.checkpoint/notes.json.123.tmp"],
])("palace mine %s removes an old temporary file of a killed run and keeps a recent one", async (verb, name) => {
  await using palace = createTestPalace();
  const folder = join(palace.home, "project");
  mkdirSync(folder);
  writeFileSync(join(folder, "a.md"), `> what do we do?\n${"words of a document that is long enough\n".repeat(9)}`);
  const [old, fresh] = [leave(palace, name, 7200), leave(palace, name.replace("123", "124"), 0)];
  const { code, stderr } = await palace.run("palace", ["mine", verb, folder]);
  expect(code, stderr).toBe(0);
  expect([old, fresh].map((path) => existsSync(path))).toEqual([false, true]);
});
