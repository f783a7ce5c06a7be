/** Tests the texts for people about a write in the journal, and about files that still contain a forgotten text. */
import { expect, test } from "vitest";
import { removalHints } from "../../../src/cli/report/traces.ts";
import { inWords } from "../../../src/cli/report/written.ts";

const sourceOf = (path: string): string => path.replace(/^.*\/stage\//, "");
const HASH = "0".repeat(64);

test("the description of a write begins with its wing, room and file", () => {
  const mined = { wing: "w", room: "r", mtime: 1, sha256: HASH, content: `[2776 characters, sha256 ${HASH}]` };
  expect(inWords({ ...mined, sourceFile: "/cache/stage/docs/a.md" }, sourceOf)).toBe("w/r, docs/a.md, 2776 characters");
  expect(inWords({ wing: "w", room: "r", content: "a note", added_by: "me" }, sourceOf)).toBe(
    'w/r, "a note", added_by me',
  );
  expect(inWords({ drawer_id: `drawer_w_r_${"c75c741223".padEnd(24, "0")}`, room: "s" }, sourceOf)).toBe(
    "s, c75c741223",
  );
  expect(inWords({ items: [{ content: "x" }, { content: "y" }], flag: true }, sourceOf)).toBe("2 items, flag true");
  expect(inWords({}, sourceOf)).toBe("");
});

test("the hint for copies from a restore gives the command that deletes the copies", () => {
  const folder = "/home/me/my palace/before-restore-2026";
  const kept = ["ledger.sqlite3", "palace/chroma.sqlite3"].map(
    (name) => ({ path: `${folder}/${name}`, what: "backup" }) as const,
  );
  expect(removalHints(kept)).toEqual([`if you no longer need that copy: rm -rf '${folder}'`]);
  expect(removalHints([...kept, { path: "/backups/a.tar", what: "encrypted backup" }])).toHaveLength(2);
  expect(removalHints([{ path: "/src/a.md", what: "source" }])).toEqual([]);
});
