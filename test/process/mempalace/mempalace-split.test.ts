import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { MEMPALACE_VERSIONS, mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";

const HEADER = "╭─── Claude Code v2.1.3 ───╮\n";

function session(prompt: string, { at = "", lines = 12, more = "" } = {}): string {
  const head = `${HEADER}${more}> ls -la\n> ok\n> ${prompt}\n${at === "" ? "" : `⏺ ${at}\n`}`;
  return head + Array.from({ length: lines }, (_, n) => `  line ${n}\n`).join("");
}

const RESTORED = `${HEADER}  Ctrl+E to show 12 previous messages\n`;
const MEGA = [
  "a line before all sessions\n",
  session("Why is the build slow? (again)", { at: "9:05 AM Friday, March 7, 2025", more: "/Users/jdoe/work\n" }),
  session(`${RESTORED}Ünïcode 日本語 naming, with émphasis and more words than sixty characters may hold here`, {
    at: "11:30 PM Monday, Smarch 1, 2025",
    more: "hello alice\n",
  }),
  session("tiny", { lines: 2 }),
  session("git push is slow", { more: "Bob and Carol and Alice and Dan\x85next\n" }),
  session("the last", { at: "9:05 AM Friday, March 7, 2025" }).trimEnd(),
].join("");

/** Fills a folder `chats` with ordinary and odd files for both programs. */
function fill(home: string): string {
  const chats = join(home, "chats");
  rmSync(chats, { recursive: true, force: true });
  mkdirSync(join(home, ".mempalace"), { recursive: true });
  mkdirSync(join(chats, "out"), { recursive: true });
  writeFileSync(
    join(home, ".mempalace/known_names.json"),
    JSON.stringify({ names: ["Bob", "Alice", "Carol", "Dan"], username_map: { jdoe: "John" } }),
  );
  writeFileSync(join(chats, "my chats (1).v2.txt"), MEGA);
  writeFileSync(
    join(chats, "dos.txt"),
    Buffer.concat([Buffer.from(MEGA.replaceAll("\n", "\r\n")), Buffer.of(0xff, 10)]),
  );
  writeFileSync(join(chats, "one.txt"), session("only one session"));
  writeFileSync(join(chats, "short.txt"), `${HEADER}\n${HEADER}\n`);
  writeFileSync(join(chats, ".hidden.txt"), session("first one here") + session("and a second"));
  writeFileSync(join(chats, "notes.md"), MEGA);
  execFileSync("mkfifo", [join(chats, "pipe.txt")]);
  return chats;
}

function contents(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), "latin1")]),
  );
}

describe.each(MEMPALACE_VERSIONS)("beside MemPalace %s", async (version) => {
  const missing = await mempalaceMissing(version);
  it.skipIf(missing !== undefined)(
    "split makes the same files with the same names, and prints the same text as MemPalace",
    async () => {
      await using palace = createTestPalace();
      const { home } = palace;
      const words = (output: string): string => (version === "3.3.6" ? output.replaceAll("—", "--") : output);
      for (const args of [
        ["chats", "--dry-run"],
        ["chats", "--output-dir", join(home, "chats/out")],
        ["chats", "--min-sessions", "4"],
        ["chats", "--min-sessions", "1", "--dry-run"],
        ["chats", "--min-sessions", "9"],
        ["nowhere"],
      ]) {
        const [dir = "", ...flags] = args;
        const chats = fill(home);
        // Removes the pipe for 3.3.6, which would open the pipe and wait for ever.
        if (version === "3.3.6") rmSync(join(chats, "pipe.txt"));
        const theirs = await runMempalace(version, ["split", join(home, dir), ...flags], { home });
        const theirFiles = contents(chats);
        fill(home);
        if (version === "3.3.6") rmSync(join(chats, "pipe.txt"));
        const ours = await palace.run("mempalace", ["split", join(home, dir), ...flags]);
        expect([ours.code, ours.stdout], args.join(" ")).toEqual([theirs.code, words(theirs.output)]);
        expect(contents(chats), args.join(" ")).toEqual(theirFiles);
      }
    },
  );
});

/** Makes one file of two sessions, and returns the names that split gives the sessions. */
function pair(palace: TestPalace): { chats: string; whole: string; names: string[] } {
  const chats = join(palace.home, "chats");
  mkdirSync(chats);
  const whole = session("the very first question") + session("the second question");
  writeFileSync(join(chats, "two.txt"), whole);
  return {
    chats,
    whole,
    names: ["two_part01_unknown_the-very-first-question", "two_part02_unknown_the-second-question"],
  };
}

test("a run of split finishes what killed runs left", async () => {
  await using palace = createTestPalace();
  const { chats, whole, names } = pair(palace);
  const [first = "", second = ""] = names;
  // Writes what two kills leave: one whole session, the next session half written, and the original under its old and its new name.
  writeFileSync(join(chats, `${first}.txt`), session("the very first question"));
  writeFileSync(join(chats, ".split-4194300.tmp"), "Claude Co");
  linkSync(join(chats, "two.txt"), join(chats, "two.mega_backup"));
  expect(await palace.run("mempalace", ["split", chats])).toMatchObject({ code: 0 });
  expect(readdirSync(chats).sort()).toEqual(["two.mega_backup", `${first}.txt`, `${second}.txt`]);
  expect(readFileSync(join(chats, "two.mega_backup"), "utf8")).toBe(whole);
  const again = await palace.run("mempalace", ["split", chats, "--json"]);
  expect(JSON.parse(again.stdout)).toMatchObject({ files: [], created: 0 });
});

test("split overwrites neither a file nor a link that has a session's or the original's new name, but chooses another name", async () => {
  await using palace = createTestPalace();
  const { chats, whole, names } = pair(palace);
  const [first = "", second = ""] = names;
  const outside = join(palace.home, "outside.txt");
  writeFileSync(outside, whole);
  writeFileSync(join(chats, `${first}.txt`), "mine");
  writeFileSync(join(chats, "two.mega_backup"), "older");
  symlinkSync(join(palace.home, "not-yet"), join(chats, `${second}.txt`));
  symlinkSync(outside, join(chats, "link.txt"));
  const { code, stdout } = await palace.run("mempalace", ["split", chats]);
  expect(code).toBe(0);
  expect(stdout).toContain("  SKIP: link.txt (not a regular file)");
  expect(stdout).toContain("  -> Original renamed to two.2.mega_backup");
  expect(readFileSync(join(chats, `${first}.txt`), "utf8")).toBe("mine");
  expect(readFileSync(join(chats, `${first}_2.txt`), "utf8")).toBe(session("the very first question"));
  expect(readFileSync(join(chats, `${second}_2.txt`), "utf8")).toBe(session("the second question"));
  expect(readFileSync(join(chats, "two.mega_backup"), "utf8")).toBe("older");
  expect(readFileSync(join(chats, "two.2.mega_backup"), "utf8")).toBe(whole);
  expect(existsSync(join(palace.home, "not-yet"))).toBe(false);
  expect(readFileSync(outside, "utf8")).toBe(whole);
});

test("split keeps the original if it cannot write the sessions, and the error names the next step", async () => {
  await using palace = createTestPalace();
  const { chats, whole } = pair(palace);
  const { code, stderr } = await palace.run("mempalace", ["split", chats, "--output-dir", "/proc"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("the file is where it was")]);
  expect(readFileSync(join(chats, "two.txt"), "utf8")).toBe(whole);
  const missing = await palace.run("mempalace", ["split", chats, "--output-dir", join(chats, "no")]);
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("mkdir -p")]);
});
