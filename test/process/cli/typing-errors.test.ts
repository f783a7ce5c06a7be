/** The error for a mistyped option or wing suggests the most similar one. */
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("a command suggests the most similar option for an unknown option, and names an unknown wing", async () => {
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
