import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const OLD_NAME = /^palace: [a-z-]+ is now `\.\/scripts\/palace [a-z -]+`\n/;

test("an old verb name runs the new verb and prints the new name on stderr, except with --json", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["call", "add_drawer", '{"wing":"notes","room":"r","content":"a key behind the door"}']);
  const pairs: [old: string, now: string][] = [
    ["spool list", "status spool"],
    ["jobs cancel none", "status jobs cancel none"],
    ["tools search", "call tools search"],
    ["repair-status", "repair status"],
    ["closets rebuild", "repair closets"],
    ["verify", "backup verify"],
    ["uninstall nobody", "install remove nobody"],
    ["artifact get none", "events artifact get none"],
    ["why ./gone", "mine why ./gone"],
  ];
  for (const [old, now] of pairs) {
    const [was, is] = await Promise.all([old, now].map((line) => palace.run("palace", line.split(" "))));
    const told = `palace: ${old.split(" ")[0]} is now \`./scripts/palace ${now.split(" ").slice(0, 2).join(" ")}`;
    expect(was?.stderr.startsWith(told.replace(/ -.*|( events) .*/, "$1")), was?.stderr).toBe(true);
    expect({ ...was, stderr: was?.stderr.replace(OLD_NAME, "") }, old).toEqual(is);
  }
  const json = await palace.run("palace", ["spool", "list", "--json"]);
  expect(json.stderr).toBe("");
});

test("a synonym of a verb that reads or adds runs this verb; a synonym of any other verb only suggests the verb", async () => {
  await using palace = createTestPalace();
  const noted = await palace.run("palace", ["remember", "the key is behind the door", "--wing", "w"]);
  expect(noted).toMatchObject({ code: 0, stderr: expect.stringContaining("remember runs `./scripts/palace add`\n") });
  const listed = await palace.run("palace", ["call", "list_drawers", "{}"]);
  const [{ drawer_id: id }] = (JSON.parse(listed.stdout) as { drawers: [{ drawer_id: string }] }).drawers;
  expect((await palace.run("palace", ["get", id])).stdout).toBe("the key is behind the door\n");
  const suggested: [string[], string][] = [
    [["delete", id], `palace rm ${id}\` \\(delete memories; can be undone\\)`],
    [["--palace", palace.home, "unlink", id, "the other"], `rm ${id} 'the other'`],
    [["delte", id], `palace rm ${id}`],
    [["setup"], "palace up"],
    [["verfy"], "palace backup verify"],
  ];
  for (const [words, meant] of suggested) {
    const { code, stdout, stderr } = await palace.run("palace", words);
    expect([code, stdout], words.join(" ")).toEqual([2, ""]);
    expect(stderr).toMatch(new RegExp(`^palace: there is no verb .*\\n {2}did you mean \`.*${meant}.*\\?\\n$`));
  }
  for (const word of ["r", "rn", "mr", "tm", "format", "reset"])
    expect((await palace.run("palace", [word, id])).stderr).not.toMatch(/palace (rm|forget|backup|history)/);
  expect((await palace.run("palace", ["forgt"])).stderr).toContain("forget` (erase memories permanently");
  expect((await palace.run("palace", ["show", id])).code).toBe(0);
  for (const words of [["help"], ["help", "search"], ["search", "--help"], ["events"], ["--version"]])
    expect(JSON.parse((await palace.run("palace", [...words, "--json"])).stdout)).not.toEqual({});
  const also = /^Also: (.*)\.$/m.exec((await palace.run("palace", ["help"])).stdout)?.[1];
  expect(also?.split(", ").toSorted()).toEqual(["logs", "model", "restart", "stats", "ui"]);
  expect((await palace.run("palace", ["version"])).stdout).toMatch(/^palace-devbox \d/);
});

test("a mistyped subverb gets the nearest one as a suggestion, and nothing runs", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const suggested: [string, string][] = [
    ["backup verfy", "backup verify"],
    ["backup restor", "backup restore` \\(replace the palace with a backup\\)"],
    ["token lst", "bridge token list"],
    ["status spool lst", "status spool list"],
    ["events lst", "events list"],
    ["events task creat", "events task create"],
    ["history udno", "history undo"],
  ];
  const runs = suggested.map(([line]) => palace.run("palace", line.split(" "), { cwd: palace.home }));
  for (const [at, { code, stdout, stderr }] of (await Promise.all(runs)).entries()) {
    const [line = "", meant = ""] = suggested[at] ?? [];
    expect([code, stdout], line).toEqual([2, ""]);
    expect(stderr, line).toMatch(new RegExp(`\\n {2}did you mean \`\\S*palace ${meant}.*\\?`));
  }
  for (const line of ["status quux", "config get quux", "devbox restart"])
    expect((await palace.run("palace", line.split(" "))).stderr, line).not.toContain("did you mean");
});

test("bash completes verbs, subverbs and options, at whatever position --palace is given", async () => {
  await using palace = createTestPalace();
  const { stdout: script } = await palace.run("palace", ["completions", "bash"]);
  const file = join(palace.home, "palace.bash");
  writeFileSync(file, script);
  const complete = (...words: string[]): string[] => {
    const asked = `source "$0"; COMP_WORDS=(palace "$@"); COMP_CWORD=$#; _palace; echo "\${COMPREPLY[*]}"`;
    return execFileSync("bash", ["-c", asked, file, ...words], { encoding: "utf8" })
      .trim()
      .split(" ");
  };
  expect(complete("se")).toEqual(["search"]);
  expect(complete("")).toContain("add");
  expect(complete("")).not.toContain("shim");
  expect(complete("--palace", "/x", "repair", "c")).toEqual(["compact", "closets"]);
  expect(complete("backup", "")).toEqual(["verify", "restore"]);
  expect(complete("backup", "verify", "--pass")).toEqual(["--passphrase-file"]);
  expect(complete("help", "sea")).toEqual(["search"]);
  const { stdout: man } = await palace.run("palace", ["completions", "man"]);
  expect(man).toMatch(/^\.TH PALACE 1 /);
  // The man page is pure ASCII, and no line of its text begins like a roff request.
  expect(man).toMatch(/^[\n\x20-\x7E]+$/);
  const wrong = await palace.run("palace", ["completions", "zhs"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("did you mean zsh?")]);
});
