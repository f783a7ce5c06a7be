/** Tests which files of a project the document miner finds and skips, and how it reads text. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readDocument, surveyProject } from "../../../../src/feeders/doc-miner/survey.ts";
import { SOURCE_SIZE_MAX_BYTES } from "../../../../src/protocol/limits.ts";
import { cpuTimeOf } from "../../../helpers/cpu-time.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "palace-source-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, content: string | Buffer = "text\n"): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
const found = (avoid: string[] = []): string[] => surveyProject(root, avoid).documents.map(({ path }) => path);
const skips = (): Record<string, string> =>
  Object.fromEntries(surveyProject(root, []).skipped.map(({ file, reason }) => [file, reason]));

test("the miner finds documents in the order of their names, without source code and refused folders", () => {
  for (const path of [
    "b.md",
    "a/z.md",
    "src/x.ts",
    "src/README.md",
    "node_modules/p/README.md",
    ".git/description.txt",
    ".github/ci.yml",
    "build/o.md",
  ])
    put(path);
  expect(found()).toEqual([".github/ci.yml", "a/z.md", "b.md", "src/README.md"]);
});

test("the miner reads a project whose root folder has the name build", () => {
  put("build/a.md");
  expect(surveyProject(join(root, "build"), []).documents).toHaveLength(1);
});

test("the miner skips a folder with the marker of a virtual environment", () => {
  put("py/pyvenv.cfg");
  put("py/lib/readme.md");
  expect(found()).toEqual([]);
});

test("the miner finds shell scripts without extension by their first line", () => {
  put("run", "#!/usr/bin/env bash\necho\n");
  put("tool", "#!/usr/bin/env python3\n");
  put("blob", Buffer.from([0, 1, 2]));
  expect(found()).toEqual(["run"]);
});

test("the miner skips symbolic links to files and folders", () => {
  put("real/a.md");
  symlinkSync(join(root, "real"), join(root, "linked"));
  symlinkSync(join(root, "real/a.md"), join(root, "b.md"));
  expect(found()).toEqual(["real/a.md"]);
  expect(skips()).toEqual({ "b.md": "symbolic link" });
});

test("the miner skips a file over the size limit and gives the reason", () => {
  for (const [name, size] of [
    ["big.txt", SOURCE_SIZE_MAX_BYTES + 1],
    ["full.txt", SOURCE_SIZE_MAX_BYTES],
  ] as const) {
    put(name);
    truncateSync(join(root, name), size);
  }
  expect(found()).toEqual(["full.txt"]);
  expect(skips()["big.txt"]).toMatch(/larger than 40\.0 MiB/);
});

test("the miner skips a file that looks like a secret and gives the reason", () => {
  put("secrets.yaml");
  expect(found()).toEqual([]);
  expect(skips()).toEqual({ "secrets.yaml": "looks like a secret" });
});

test("a chapter about passwords is a document, and a list of passwords is not", () => {
  const chapter = [
    "Password management\n===================",
    ...Array.from({ length: 6 }, () => CHAPTER),
    ".. code-block:: python\n\n    PASSWORD_HASHERS = [",
  ].join("\n\n");
  put("auth/passwords.txt", chapter);
  put("own/passwords.txt", "mail: hunter2\nbank: 4711\n\nshop.example.org  jane  correct horse\n".repeat(30));
  put("noted/passwords.txt", `${chapter}\n\nthe mail password: hunter2\n`);
  put("short/credentials.txt", CHAPTER);
  expect(found()).toEqual(["auth/passwords.txt"]);
  const why = "looks like a secret";
  const left = { "noted/passwords.txt": why, "own/passwords.txt": why, "short/credentials.txt": why };
  expect(skips()).toEqual(left);
});

const CHAPTER = `Password management is something that should generally not be reinvented unnecessarily, and this framework
endeavors to provide a secure and flexible set of tools for managing user passwords.`;

test("the miner does not enter folders that the caller excludes", () => {
  put("a.md");
  put("cache/b.md");
  expect(found([join(root, "cache")])).toEqual(["a.md"]);
});

test("the miner reports an unreadable folder", () => {
  put("locked/a.md");
  chmodSync(join(root, "locked"), 0);
  // Root can read every folder, unless it lacks these two capabilities.
  const asOthers = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"];
  const source = join(import.meta.dirname, "../../../../src/feeders/doc-miner/survey.ts");
  const script = `import { surveyProject } from ${JSON.stringify(source)};
    console.log(JSON.stringify(surveyProject(${JSON.stringify(root)}, []).unreadable));`;
  const command = [
    ...(process.getuid?.() === 0 ? asOthers : []),
    process.execPath,
    "--input-type=module",
    "-e",
    script,
  ];
  const answer = execFileSync(command[0] ?? "", command.slice(1), { encoding: "utf8" });
  chmodSync(join(root, "locked"), 0o700);
  expect(JSON.parse(answer)).toEqual(["locked"]);
});

test("the miner reports a missing root as unreadable", () => {
  expect(surveyProject(join(root, "gone"), []).unreadable).toEqual([""]);
});

test("the miner obeys .gitignore files, and the nearest file wins", () => {
  put(".gitignore", "*.txt\n/top.md\nprivate/\n\\#odd.md\nsub/deep/*.md\n");
  put("sub/.gitignore", "!keep.txt\n/local.md\n");
  for (const path of [
    "a.txt",
    "top.md",
    "sub/top.md",
    "private/x.md",
    "#odd.md",
    "sub/keep.txt",
    "sub/drop.txt",
    "sub/local.md",
    "sub/in/local.md",
    "sub/deep/x.md",
  ])
    put(path);
  expect(found()).toEqual(["sub/in/local.md", "sub/keep.txt", "sub/top.md"]);
});

test("the miner does not enter an ignored folder, even for a rule that re-includes a file in this folder", () => {
  put(".gitignore", "out/\n!out/keep.md\n");
  put("out/keep.md");
  put("out/.gitignore", "!*\n");
  expect(found()).toEqual([]);
});

test("the miner reads a folder that a nearer .gitignore re-includes", () => {
  put(".gitignore", "logs/\n*.rst\n");
  put("a/.gitignore", "!logs/\n");
  put("a/logs/x.md");
  put("a/logs/y.rst");
  put("logs/z.md");
  expect(found()).toEqual(["a/logs/x.md"]);
});

test("the miner's time grows linearly with the number of rules that re-include a folder", () => {
  put("a/x.md");
  const took = (rules: number): number => {
    put(".gitignore", Array.from({ length: rules }, (_, at) => `![a${at}]\n`).join(""));
    return cpuTimeOf(() => expect(found()).toEqual(["a/x.md"]));
  };
  took(200);
  // Ten times the rules must take ten times the work, not a hundred times. The limit is higher because the machine may be busy.
  const small = Math.max(took(200), 2);
  expect(took(2_000) / small).toBeLessThan(40);
});

test("the miner reports a document in a folder whose .gitignore rules are too complex", () => {
  const folder = "a".repeat(200);
  put(".gitignore", `${"*a*a*a*a*b\n".repeat(20_000)}!a*\n`);
  put(`${folder}/x.md`);
  expect(found()).toEqual([]);
  expect(skips()).toEqual({ [`${folder}/x.md`]: ".gitignore has rules too complex to decide" });
});

test("ignore patterns are case-sensitive", () => {
  put(".gitignore", "readme.md\n");
  put("README.md");
  expect(found()).toEqual(["README.md"]);
});

test("the reader returns text with line feeds only and counts unreadable bytes", () => {
  put("a.md", Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0x62, 0x0d, 0x63, 0xff, 0x0a]));
  expect(readDocument(root, "a.md")).toMatchObject({ text: "a\nb\nc\uFFFD\n", lost: 1, size: 11 });
});

test("the reader decodes a document in UTF-16 or Windows-1252", () => {
  put("utf16.md", Buffer.from("\uFEFFBrücken\r\n", "utf16le"));
  expect(readDocument(root, "utf16.md")).toMatchObject({ text: "Brücken\n" });
  put("old.txt", Buffer.from("Br\xfccken \x80 5", "latin1"));
  expect(readDocument(root, "old.txt")).toMatchObject({ text: "Brücken € 5" });
});

test("other line ends do not change a document's hash", () => {
  put("unix.md", "one\ntwo\n");
  put("dos.md", "one\r\ntwo\r\n");
  const [unix, dos] = [readDocument(root, "unix.md"), readDocument(root, "dos.md")];
  expect(typeof unix === "object" && typeof dos === "object" && unix.sha256 === dos.sha256).toBe(true);
});

test("content with NUL bytes is refused as binary", () => {
  put("a.txt", Buffer.from("ab\0cd"));
  expect(readDocument(root, "a.txt")).toMatch(/binary/);
});
