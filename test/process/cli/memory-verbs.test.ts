import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, afterAll, expect, test } from "vitest";
import type { Env } from "../../../src/config/env.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { hasTerminal, typeIn } from "../../helpers/terminal.ts";

const SECRET = `ghp_${"aB3dE5fG7h".repeat(4).slice(0, 36)}`;

let palace: TestPalace;
beforeAll(async () => {
  palace = createTestPalace();
  await palace.startBroker();
});
afterAll(() => palace[Symbol.asyncDispose]());

async function done(args: string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await palace.run("palace", args, input === undefined ? {} : { input });
  expect(code, `${args.join(" ")}: ${stderr}`).toBe(0);
  return stdout.trimEnd();
}

/** Runs a command in a terminal and types `keys` at its question. */
function typed(command: string, keys = "", env: Env = {}): { code: number | null; screen: string } {
  return typeIn(palace, command, { keys, env: { TMPDIR: palace.home, ...env } });
}

function editorOf(text: string, exit = 0): string {
  const file = join(palace.home, `editor-${exit}.sh`);
  writeFileSync(`${file}.txt`, text);
  writeFileSync(file, `#!/bin/sh\ncp '${file}.txt' "$1"\nexit ${exit}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("a note is added from words or stdin, listed newest first, and shown by a part of its id", async () => {
  const key = await done(["add", "the spare key", "hangs behind the door", "--wing", "home"]);
  expect(key).toMatch(/^drawer_home_notes_[0-9a-f]{24}$/);
  const long = await done(["add", "--wing", "home"], `# A long one\n${"many words of it. ".repeat(300)}\n`);
  await done(["add", "the cellar floods", "--wing", "home", "--room", "water"]);
  expect(await done(["ls"])).toContain("home\t3 drawers\tnotes, water");
  expect((await done(["ls", "home"])).split("\n")).toEqual(["home/notes\t2 drawers", "home/water\t1 drawer"]);
  const rows = (await done(["ls", "home/notes"])).split("\n").map((row) => row.split("\t"));
  expect(rows.map(([, , title]) => title)).toEqual(["A long one", "the spare key hangs behind the door"]);
  expect(rows.map(([id = ""]) => long.includes(id) || key.includes(id))).toEqual([true, true]);
  const recent = (await done(["ls", "home", "--recent", "--limit", "1", "--page", "3"])).split("\t");
  expect(recent.slice(2)).toEqual(["home/notes", "the spare key hangs behind the door"]);

  expect(await done(["show", rows[1]?.[0] ?? ""])).toBe("the spare key hangs behind the door");
  expect(await done(["show", rows[0]?.[0] ?? ""])).toMatch(/^# A long one\n(many words of it\. ?)+$/);
  expect(await done(["show", key.slice(0, -5)])).toBe("the spare key hangs behind the door");
  const several = await palace.run("palace", ["show", "drawer_home_notes_"]);
  expect(several.code).not.toBe(0);
  expect(several.stderr).toContain(key);
  const { stderr } = await palace.run("palace", ["ls", "hime"]);
  expect(stderr).toMatch(/no wing `hime`; wings like it: `home`\n.*palace ls home\n/);
});

test("add puts a note into the wing of the current project, and refuses an empty note", async () => {
  const project = join(palace.home, "Blue Boat");
  mkdirSync(join(project, ".git"), { recursive: true });
  mkdirSync(join(project, "src"));
  const run = spawnSync(process.execPath, [palace.executable("palace"), "add", "tests run with make"], {
    ...{ cwd: join(project, "src"), env: palace.env, encoding: "utf8", timeout: 60_000 },
  });
  expect(run.stdout).toMatch(/^drawer_blue_boat_notes_/);
  const empty = await palace.run("palace", ["add"], { input: " \n" });
  expect([empty.code, empty.stdout]).toEqual([2, ""]);
});

test("show masks a secret in a drawer, and shows it to the owner with --unmask", async () => {
  const id = await done(["add", `token ${SECRET}`, "--wing", "safe"]);
  expect(await done(["show", id])).toMatch(/^token \[redacted: /);
  expect(await done(["show", id, "--unmask"])).toBe(`token ${SECRET}`);
  expect(await done(["reveal", id.slice(0, -4)])).toBe(`token ${SECRET}`);
  // The editor gets the secret itself. Otherwise saving would overwrite it with a mask.
  await done(["edit", id], `token ${SECRET} of the build`);
  expect(await done(["show", id, "--unmask"])).toBe(`token ${SECRET} of the build`);
});

test("an edit is stored, and the printed command undoes it", async () => {
  const id = await done(["add", "first", "--wing", "draft"]);
  const { stderr } = await palace.run("palace", ["edit", id], { input: "second\n" });
  expect(await done(["show", id])).toBe("second");
  await done(["edit", id], "second\n");
  const { entries } = JSON.parse(await done(["audit", "--json", "--client", "palace edit", "--limit", "9"])) as {
    entries: { arguments: { drawer_id?: string } }[];
  };
  expect(entries.filter((entry) => entry.arguments.drawer_id === id)).toHaveLength(1);
  await undo(stderr);
  expect(await done(["show", id])).toBe("first");
  expect((await palace.run("palace", ["edit", id], { input: "" })).code).toBe(2);
  await done(["edit", id, "--room", "kept"]);
  expect(await done(["ls", "draft"])).toBe("draft/kept\t1 drawer");
});

test.skipIf(!hasTerminal)("add and edit open $EDITOR, and keep the text in a file if $EDITOR fails", async () => {
  expect(typed("add --wing pen", "", { EDITOR: editorOf("written by hand\n") }).code).toBe(0);
  const [row = ""] = (await done(["ls", "pen/notes"])).split("\n");
  const [id = ""] = row.split("\t");
  expect(await done(["show", id])).toBe("written by hand");
  expect(typed(`edit ${id}`, "", { EDITOR: editorOf("changed by hand\n") }).code).toBe(0);
  expect(await done(["show", id])).toBe("changed by hand");
  const failed = typed(`edit ${id}`, "", { EDITOR: editorOf("lost?\n", 3) });
  expect(failed.code).not.toBe(0);
  const [, file = ""] = /your text is kept in (\S+)/.exec(failed.screen) ?? [];
  expect(readFileSync(file, "utf8")).toBe("lost?\n");
  expect(await done(["show", id])).toBe("changed by hand");
  expect(typed(`edit ${id}`, "", { EDITOR: "true" }).screen).toContain("Nothing was changed.");
  const shown = typed(`show ${id}`).screen;
  expect(shown).toContain("pen / notes");
  expect(shown).toMatch(/filed \d{4}-\d\d-\d\d [\d:]+ by palace add/);
});

test.skipIf(!hasTerminal)("rm asks on a terminal, and prints the command that reverts the removal", async () => {
  const id = await done(["add", "to be deleted", "--wing", "bin"]);
  expect((await palace.run("palace", ["rm", id])).code).toBe(2);
  typed(`rm ${id}`, "n\n");
  expect(await done(["show", id])).toBe("to be deleted");
  expect((await palace.run("palace", ["rm", id, "no_such_drawer", "--yes"])).code).not.toBe(0);
  expect(await done(["show", id])).toBe("to be deleted");
  const { code, screen } = typed(`rm ${id.slice(-24, -14)}`, "y\n");
  expect([code, screen]).toEqual([0, expect.stringContaining("Deleted 1 drawer.")]);
  expect((await palace.run("palace", ["show", id])).code).not.toBe(0);
  await undo(screen);
  expect(await done(["show", id])).toBe("to be deleted");
});

test("add and edit refuse stdin that is not UTF-8, and change nothing", async () => {
  const id = await done(["add", "a café", "--wing", "bytes"]);
  for (const args of [
    ["add", "--wing", "bytes"],
    ["edit", id],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, [palace.executable("palace"), ...args], {
      ...{ env: palace.env, input: Buffer.from("un café", "latin1"), timeout: 60_000 },
    });
    expect([status, stderr.toString()]).toEqual([2, expect.stringContaining("the text is not UTF-8")]);
  }
  expect(await done(["ls", "bytes"])).toBe("bytes/notes\t1 drawer");
  expect(await done(["show", id])).toBe("a café");
});

test("forget refuses the beginning of an id with fewer than four characters of the hash, and accepts a short id", async () => {
  const id = await done(["add", "to be forgotten", "--wing", "gone"]);
  for (const part of [id.slice(0, -21), "drawer_gone"]) {
    const { code, stderr } = await palace.run("palace", ["forget", part, "--yes"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("at least 4 characters")]);
  }
  expect(await done(["show", id])).toBe("to be forgotten");
  await done(["forget", id.slice(-24, -14), "--yes"]);
  expect((await palace.run("palace", ["show", id])).code).not.toBe(0);
});

test("forget with the short id of a deleted note erases the text from the journal, and forget refuses an unknown id", async () => {
  const id = await done(["add", "pin code 5566 walrus", "--wing", "gone"]);
  await done(["rm", id, "--yes"]);
  const walrus = (): boolean =>
    [palace.config.paths.ledgerFile, `${palace.config.paths.ledgerFile}-wal`].some(
      (file) => existsSync(file) && readFileSync(file).includes("5566 walrus"),
    );
  expect(walrus()).toBe(true);
  expect(await done(["forget", id.slice(-24, -14), "--yes"])).toContain("2 before-images cleaned");
  expect(walrus()).toBe(false);
  // A second `forget` with the whole id is accepted, so that a user can check that the erasure is complete.
  await done(["forget", id, "--yes"]);
  for (const given of ["nosuchid", "0123456789"]) {
    const { code, stderr } = await palace.run("palace", ["forget", given, "--yes"]);
    expect([code, stderr]).toEqual([4, expect.stringContaining(`no drawer ${given}; nothing was erased`)]);
  }
});

/** Runs the undo command that `output` prints. */
async function undo(output: string): Promise<void> {
  const [, agent = "", since = ""] = /palace history undo --client "([^"]+)" --since (\S+)/.exec(output) ?? [];
  await done(["history", "undo", "--client", agent, "--since", since, "--yes"]);
}

test("without a broker, add spools the note; the next broker files it", async () => {
  await done(["stop"]);
  const { code, stderr } = await palace.run("palace", ["add", "in an outage", "--wing", "later"]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("kept on this machine")]);
  expect(existsSync(palace.config.paths.spoolDir)).toBe(true);
  await done(["start"]);
  await expect.poll(async () => (await palace.run("palace", ["ls", "later/notes"])).stdout).toContain("in an outage");
  const [id = ""] = (await done(["ls", "later/notes"])).split("\t");
  expect(await done(["show", id])).toBe("in an outage");
});
