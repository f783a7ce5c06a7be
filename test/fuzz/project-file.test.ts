/** Reads arbitrary mempalace.yaml files. Each must be refused with a hint, or give valid names, rooms and patterns. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { findIgnoreRule, rulesOf } from "../../src/feeders/doc-miner/ignore-chain.ts";
import { readProject } from "../../src/feeders/doc-miner/project.ts";
import { placeDocument } from "../../src/feeders/doc-miner/room.ts";
import { PalaceError } from "../../src/base/errors.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "palace-fuzz-project-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N}_ .'-]{0,126}[\p{L}\p{N}])?$/u;
const SCALARS = [
  ...[
    "my_wing",
    "Ünï côde",
    "a",
    "x".repeat(129),
    "a..b",
    "-x",
    "''",
    '""',
    "~",
    "null",
    "true",
    "12",
    "0x1F",
    "1e400",
    ".nan",
  ],
  ...[
    "2024-01-01",
    "!!binary aGk=",
    "!!js/function 'x'",
    "!tag v",
    "&a b",
    "*a",
    "*gone",
    "<<",
    "? x",
    "|",
    ">-\n  folded",
  ],
  ...[
    "{",
    "[",
    "]",
    "}",
    ":",
    "-",
    "#c",
    "%YAML 9",
    "@",
    "`",
    "\t",
    "\u0085",
    "\u2028",
    "\u0000",
    "\ufeff",
    "\ud800",
    "'open",
    '"\\x',
  ],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "[a, b]",
    "{a: b}",
    "[[[[]]]]",
    "- - - x",
    "*.md",
    "docs/",
    "!keep",
    "/**/",
    "[!a",
    "\\",
  ],
];
const KEYS = [
  "wing",
  "rooms",
  "exclude_patterns",
  "name",
  "keywords",
  "description",
  "__proto__",
  "<<",
  "? wing",
  '"wing"',
  "palace_path",
];

function line(chooser: Chooser): string {
  const indent = " ".repeat(chooser.pick([0, 0, 2, 2, 4, 1]));
  const scalar = chooser.pick(SCALARS);
  switch (chooser.below(6)) {
    case 0:
      return `${indent}- ${scalar}`;
    case 1:
      return `${indent}- ${chooser.pick(KEYS)}: ${scalar}`;
    case 2:
      return `${indent}${chooser.pick(KEYS)}:`;
    case 3:
      return chooser.pick(["---", "...", "", "# comment", scalar]);
    default:
      return `${indent}${chooser.pick(KEYS)}: ${scalar}`;
  }
}

const WHOLE =
  "wing: my-wing\nrooms:\n  - name: backend\n    keywords: [server, api]\n  - notes\nexclude_patterns:\n  - docs/\n  - '*.log'\n";

function generate(chooser: Chooser): Buffer {
  const kind = chooser.below(10);
  if (kind === 0) return Buffer.from(Array.from({ length: chooser.below(200) }, () => chooser.below(256)));
  // Makes YAML aliases of aliases, so that a small file would expand to a huge value.
  if (kind === 1) {
    const levels = Array.from(
      { length: chooser.between(2, 12) },
      (_, at) => `a${at}: &a${at} [${at === 0 ? "x" : `*a${at - 1},`.repeat(9)}]`,
    );
    return Buffer.from(`${levels.join("\n")}\nrooms: *a${levels.length - 1}\n`);
  }
  if (kind === 2) return Buffer.from(`rooms: ${chooser.pick(["[", "{a: ", "- "]).repeat(chooser.between(1, 300))}`);
  if (kind < 6) {
    const bytes = Buffer.from(WHOLE);
    for (let count = chooser.between(1, 6); count > 0; count--) bytes[chooser.below(bytes.length)] = chooser.below(256);
    return bytes;
  }
  return Buffer.from(Array.from({ length: chooser.between(1, 14) }, () => line(chooser)).join("\n"));
}

const PATHS = ["a.md", "docs/deep/b.txt", "__proto__/constructor.md", "é/[x].log", "src/.hidden"];

let read = 0;
fuzz("project-file", {
  count: 4_000,
  generate,
  check: async (bytes) => {
    writeFileSync(join(root, "mempalace.yaml"), bytes);
    let project;
    try {
      project = await readProject(root, undefined);
    } catch (error) {
      expect(error).toBeInstanceOf(PalaceError);
      expect(error).toMatchObject({ code: "CONFIG_BAD_VALUE", hint: expect.stringMatching(/./) });
      return;
    }
    read += 1;
    expect(project.wing).toMatch(NAME);
    const rooms = project.rooms?.map(({ name }) => name) ?? [];
    for (const room of rooms) expect(room).toMatch(NAME);
    const excluded = rulesOf(project.exclude);
    for (const path of PATHS) {
      expect(["general", "documentation", ...rooms]).toContain(
        placeDocument(path, "an api server", project.rooms).room,
      );
      findIgnoreRule(excluded, path, false);
    }
  },
  // Most files are refused, but at least one must be read, so that the checks above run.
  finish: () => expect(read).toBeGreaterThan(0),
});
