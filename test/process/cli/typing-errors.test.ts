import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a command suggests the most similar option for an unknown option, and similar wings for an unknown wing", async () => {
  await using palace = createTestPalace();
  const bogus = await palace.run("palace", ["search", "x", "--limt", "3"]);
  expect(bogus.code).toBe(2);
  expect(bogus.stderr).toMatch(/Unknown option '--limt'; did you mean --limit\?\n {2}usage: .*palace search/);
  const far = await palace.run("palace", ["status", "--bogus"]);
  expect(far.code).toBe(2);
  expect(far.stderr).toMatch(/Unknown option '--bogus'\n {2}usage: .*palace status/);
  await palace.run("palace", ["call", "add_drawer", '{"wing":"notes","room":"r","content":"a key behind the door"}']);
  const wrong = await palace.run("palace", ["search", "key", "--wing", "note"]);
  expect(wrong.stdout).toBe("no wing `note`; wings like it: `notes`\n");
  const json = await palace.run("palace", ["search", "key", "--wing", "nope", "--json"]);
  const hint = "no wing `nope`; wings like it: `notes`";
  expect(JSON.parse(json.stdout)).toMatchObject({ results: [], hint });
  const closets = await palace.run("palace", ["closets", "rebuild", "--wing", "note"]);
  expect(closets.stderr).toContain("there is no wing note; did you mean notes?");
  const right = await palace.run("palace", ["search", "key", "--wing", "notes"]);
  expect(right.stderr).not.toContain("wing `");
});

test("reads accept a different spelling of a wing, room or source, and writes do not", async () => {
  await using palace = createTestPalace();
  const client = await palace.client();
  const call = (tool: string, args: object): Promise<unknown> => client.callTool(`mempalace_${tool}`, { ...args });
  const note = { wing: "my_project", room: "to do", content: "a key behind the door", source_file: "/p/docs/Keys.md" };
  await call("add_drawer", note);
  const hint = "searched in wing `my_project`: there is no wing `My-Project`";
  const found = await palace.run("palace", ["search", "key", "--wing", "My-Project"]);
  expect([found.stdout, found.stderr]).toEqual([
    expect.stringContaining("a key behind"),
    expect.stringContaining(hint),
  ]);
  const json = await palace.run("palace", ["search", "key", "--wing", "My-Project", "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    hint,
    filters: { wing: "my_project" },
    results: [{ room: "to do" }],
  });
  const upstream = await palace.run("mempalace", ["search", "key", "--wing", "My-Project"]);
  expect([upstream.stdout, upstream.stderr]).toEqual([
    expect.stringContaining("Wing: my_project"),
    expect.stringContaining(hint),
  ]);
  const list = await palace.run("palace", ["ls", "My-Project/To_Do"]);
  expect([list.stdout, list.stderr]).toEqual([
    expect.stringContaining("a key"),
    expect.stringContaining("room `to do`"),
  ]);
  const rooms = await palace.run("palace", ["ls", "My-Project", "--json"]);
  expect(JSON.parse(rooms.stdout)).toEqual({ wing: "my_project", rooms: { "to do": 1 }, hint });
  expect(await call("search", { query: "key", source_file: "docs/keys.md" })).toMatchObject({
    results: [{ source_path: note.source_file }],
  });
  expect(await call("list_drawers", { wing: "My-Project" })).toMatchObject({ total: 1, hint });
  expect(await call("list_rooms", { wing: "My-Project" })).toEqual({ wing: "my_project", rooms: { "to do": 1 }, hint });

  expect(await call("delete_by_source", { source_file: "keys.md", dry_run: false })).not.toMatchObject({ deleted: 1 });
  const other = { wing: "My-Project", room: "To-Do", content: "another key, under the mat" };
  expect(await call("add_drawer", other)).toMatchObject({ wing: other.wing, room: other.room });
  expect(await call("list_drawers", { wing: "My-Project" })).toMatchObject({ total: 1, drawers: [{ room: "To-Do" }] });
  expect(await call("list_drawers", { wing: "my project" })).toMatchObject({
    ...{ total: 0, hint: "wing `my project` could be `My-Project`, `my_project`" },
  });
  client.close();
});

test("a command refuses a wrong word, number or path with one sentence, and changes nothing", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await palace.run("palace", ["add", "the key is behind the door"]);
  const file = join(palace.home, "file");
  writeFileSync(file, "");
  const refused: [string[], string][] = [
    [["backup", "list"], "palace backup has no command list"],
    [["backup", "verfy"], "palace backup has no command verfy"],
    [["export", "status"], "palace export has no command status"],
    [["outcome", "export", "list"], "palace outcome export has no command list"],
    [["bridge", "setup"], "the host is missing"],
    [["--palace", "status"], "the verb is missing"],
    [["history", "--limit", "-1"], "Option '--limit' argument is ambiguous"],
    [["status", "model"], "unexpected argument: model"],
    [["token", "add", "laptop", "--days", "0"], "--days takes a number from 1 to 36500, not 0"],
    [["token", "add", "laptop", "--days", "999999999"], "--days takes a number from 1 to 36500, not 999999999"],
    [["ls", "--limit", "101"], "--limit takes a number from 1 to 100, not 101"],
    [["show", "5"], "5 is too short: give at least 6 digits of a short id"],
    [["forget", "577f", "--yes"], "577f is too short: give at least 6 digits of a short id"],
    [["outcome", "ingest", `${file}s`], `${file}s: this file does not exist`],
    [["outcome", "ingest", palace.home], `${palace.home}: this is a folder, and a book is one file`],
    [["export", join(file, "x")], `${file}/x cannot be made here (ENOTDIR)`],
    [["outcome", "export", join(file, "x")], `${file}/x cannot be made here (ENOTDIR)`],
  ];
  for (const [words, sentence] of refused) {
    const { code, stdout } = await palace.run("palace", [...words, "--json"], { cwd: palace.home });
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string; hint: string } };
    expect([words, code, error]).toEqual([words, 2, { ...error, code: "CONFIG_USAGE", message: sentence }]);
    expect(error.hint).not.toBe("");
  }
  expect((await palace.run("palace", ["token", "list", "--json"])).stdout).toBe('{"tokens":[]}\n');
});

test("a command refuses a text on stdin of more than 16 MB before the text ends", async () => {
  await using palace = createTestPalace();
  const input = "x".repeat(17_000_000);
  for (const words of [["add"], ["call", "add_drawer", "-"], ["forget", "--match", "-"]]) {
    const { code, stderr } = await palace.run("palace", words, { input, isOpen: true });
    expect([words, code, stderr]).toEqual([words, 2, expect.stringMatching(/^palace: the text has more than 16 MB/)]);
  }
});

test("`palace outcome` says so if there are no turns, memories or books to list", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const lists = { turns: /^No turn has shown/, list: /^No memories in working/, books: /^No books; / };
  for (const [list, said] of Object.entries(lists))
    expect(await palace.run("palace", ["outcome", list])).toEqual({
      code: 0,
      stdout: expect.stringMatching(said),
      stderr: "",
    });
});
