/** Tests how commits are read from `git log` and filed, and the answers for a folder without commits. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceOf, textOfCommit, whyLeftOut } from "../../../../src/feeders/git-miner/commit.ts";
import { openRepository, readLog } from "../../../../src/feeders/git-miner/git.ts";
import { type Commit, MESSAGE_MAX_BYTES, NAMES_MAX, parseLog } from "../../../../src/feeders/git-miner/parse-log.ts";

const HASH = "a".repeat(40);
const HEAD = ["", HASH, "", "2026-01-31T10:00:00+01:00", "Ada", "ada@example.org"];
const ENTRY = [...HEAD, "first\n", ""];

const bytes = (...fields: (string | Buffer)[]): Buffer =>
  Buffer.concat(fields.flatMap((field) => [Buffer.from(field), Buffer.from([0])]));

async function parsed(log: Buffer, chunkSize = log.length): Promise<Commit[]> {
  const commits: Commit[] = [];
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < log.length; at += chunkSize) yield log.subarray(at, at + chunkSize);
  }
  for await (const commit of parseLog(chunks())) commits.push(commit);
  return commits;
}

const commitOf = (more: Partial<Commit>): Commit => ({
  ...{ hash: HASH, parents: [], authoredAt: "2026-01-31T10:00:00+01:00", author: "Ada", address: "ada@example.org" },
  ...{ message: "first\n", isTooLong: false, files: [], fileCount: 0, ...more },
});

describe("git's log", () => {
  test("the reader of git's log gives the same commits in chunks of any size", async () => {
    const message = `a\\0b %x00 \n\n${HASH}\n\ncommit ${HASH}\n`;
    const log = bytes(
      ...[...HEAD, message, "", "\na.ts", "\nb\n.ts", HASH],
      ...[...HEAD, "", ""],
      ...[...HEAD, Buffer.from("caf\xe9\n", "latin1"), "", "\nc"],
    );
    const whole = await parsed(log);
    expect(whole.map((one) => [one.message, one.files])).toEqual([
      [message, ["a.ts", "\nb\n.ts", HASH]],
      ["", []],
      ["café\n", ["c"]],
    ]);
    for (const size of [1, 2, 7]) expect(await parsed(log, size)).toEqual(whole);
  });

  test("the reader of git's log keeps only the first files of a commit, and the beginning of a too long message", async () => {
    const names = Array.from({ length: 3 * NAMES_MAX }, (_, at) => `${at === 0 ? "\n" : ""}file-${at}`);
    const [many, long] = await parsed(
      bytes(...ENTRY, ...names, ...HEAD, "x".repeat(MESSAGE_MAX_BYTES + 1), ""),
      65_536,
    );
    expect(many).toMatchObject({ fileCount: 3 * NAMES_MAX, isTooLong: false });
    expect(many?.files).toEqual(names.slice(0, NAMES_MAX).map((name) => name.trim()));
    expect(long).toMatchObject({ isTooLong: true });
    expect(long?.message).toHaveLength(MESSAGE_MAX_BYTES);
  });

  test.each([
    ["a log that ends in a commit", bytes(...HEAD)],
    ["a log that ends in a name", Buffer.concat([bytes(...ENTRY), Buffer.from("\na.t")])],
    ["another form", bytes("commit", ...ENTRY)],
    ["an answer for people", Buffer.from("commit aaaa\n\n    first\n")],
  ])("the reader of git's log refuses %s", async (_name, log) => {
    await expect(parsed(log)).rejects.toMatchObject({ code: "FEEDER_SOURCE_UNREADABLE" });
  });
});

describe("a commit", () => {
  test("a commit is filed with message, author's name, date and files, without e-mail addresses", () => {
    const message =
      "fix: the door\n\nAsk ada@example.org. Clone git@example.org:a/b.git, npm i left@1.2.3\n\nCo-authored-by: Bob <bob@example.org>\n";
    const text = textOfCommit(commitOf({ message, author: "ada@example.org", files: ["a.ts", "b\nc"], fileCount: 7 }));
    expect(text).toBe(
      "fix: the door\n\nAsk [e-mail]. Clone git@example.org:a/b.git, npm i left@1.2.3\n\nCo-authored-by: Bob\n\n" +
        "Commit aaaaaaaaaaaa by ada, 2026-01-31T10:00:00+01:00\nFiles: a.ts, b?c, 5 more",
    );
  });

  const merge = { parents: ["b", "c"] };
  test.each<[string, Partial<Commit>, string | undefined]>([
    ["with a message is filed", {}, undefined],
    ["without a message is left out", { message: " \n" }, "empty"],
    ["that a rebase squashes is left out", { message: "fixup! first\n" }, "empty"],
    ["of a bot is left out", { author: "dependabot[bot]" }, "bots"],
    [
      "with a generated merge message is left out",
      { ...merge, message: "Merge branch 'x' into y\n\n# Conflicts:\n#\ta.ts\n" },
      "merges",
    ],
    [
      "that merges a request with a title is filed",
      { ...merge, message: "Merge pull request #1 from a/b\n\nA door\n" },
      undefined,
    ],
    ["that merges with the author's words is filed", { ...merge, message: "Merge the two doors\n" }, undefined],
    ["with one parent and a merge message is filed", { parents: ["b"], message: "Merge branch 'x'\n" }, undefined],
  ])("a commit %s", (_name, more, why) => {
    expect(whyLeftOut(commitOf(more))).toBe(why);
  });

  test("a commit's source depends on wing, message, author and date, but not on hash, parents and files", () => {
    const source = sourceOf(commitOf({}), "w");
    expect(sourceOf(commitOf({ hash: "b".repeat(40), parents: ["c"], files: ["x"] }), "w")).toBe(source);
    expect(sourceOf(commitOf({}), "v")).not.toBe(source);
    for (const more of [{ message: "second" }, { author: "Bob" }, { authoredAt: "2026-01-31T10:00:01+01:00" }])
      expect(sourceOf(commitOf(more), "w")).not.toBe(source);
  });
});

describe("a folder that the git miner opens", () => {
  let root = "";
  const env = (): NodeJS.ProcessEnv => ({ PATH: process.env["PATH"], HOME: root, GIT_CONFIG_NOSYSTEM: "1" });
  const git = (folder: string, ...args: string[]): void =>
    void execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=a@b.c", "-C", folder, ...args], {
      ...{ env: env(), stdio: "ignore" },
    });
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "git-miner-"));
    for (const name of ["none", "clone"]) mkdirSync(join(root, name));
    git(join(root, "clone"), "init");
    git(root, "clone", "--bare", "clone", "empty.git");
    for (const name of ["one", "two"]) git(join(root, "clone"), "commit", "--allow-empty", "-m", name);
    git(root, "clone", "--depth=1", `file://${join(root, "clone")}`, "shallow");
    git(join(root, "clone"), "worktree", "add", join(root, "tree"));
    mkdirSync(join(root, "clone", "inner"));
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test.each([
    ["clone", { root: "clone", commits: 2, isShallow: false }],
    ["clone/inner", { root: "clone", commits: 2, isShallow: false }],
    ["clone/.git", { root: "clone", commits: 2, isShallow: false }],
    ["tree", { root: "clone", commits: 2, isShallow: false }],
    ["empty.git", { root: "empty", commits: 0, isShallow: false }],
    ["shallow", { root: "shallow", commits: 1, isShallow: true }],
  ])("a folder counts as a repository: %s", async (name, expected) => {
    const { repository } = await openRepository(join(root, name), env());
    expect(repository).toEqual({ ...expected, root: join(root, expected.root) });
  });

  test.each([
    ["outside of a repository", "none", {}, /is in no git repository/, /palace mine git FOLDER/],
    ["that does not exist", "nowhere", {}, /does not exist/, /palace mine git FOLDER/],
    ["on a machine without git", "clone", { PATH: "/nowhere" }, /git is not installed/, /install git/],
  ])("opening a folder %s causes an error that says what to type", async (_name, folder, more, message, hint) => {
    await expect(openRepository(join(root, folder), { ...env(), ...more })).rejects.toMatchObject({
      ...{
        code: "FEEDER_SOURCE_UNREADABLE",
        message: expect.stringMatching(message),
        hint: expect.stringMatching(hint),
      },
    });
  });

  test("a git process that fails causes an error", async () => {
    const { git: opened } = await openRepository(join(root, "clone"), env());
    const log = parseLog(readLog({ ...opened, folder: join(root, "none") }, 0));
    await expect(log.next()).rejects.toMatchObject({ code: "FEEDER_SOURCE_UNREADABLE" });
  });
});
