/** Simulates power cuts while we write small files and make folders. */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addToken, readTokens } from "../../../src/broker/door/tokens.ts";
import { takeLock } from "../../../src/broker/life/lock.ts";
import { writeFileAtomic } from "../../../src/base/atomic-file.ts";
import { isStopped, rememberLedger, setStopped, vanishedPalace } from "../../../src/base/state-files.ts";
import { PowerCut } from "../../helpers/power-cut.ts";

let root: string;
beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), "files-power-")))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("after a power cut a small file has its old or its new text, and a finished write survives", () => {
  const file = join(root, "note.json");
  writeFileAtomic(file, "the old text");
  let isWritten = false;
  using disk = new PowerCut(root, {
    look: (folder) => {
      const text = readFileSync(join(folder, "note.json"), "utf8");
      if (isWritten || text !== "the old text") expect(text).toBe("the new text");
    },
  });
  writeFileAtomic(file, "the new text");
  isWritten = true;
  disk.cut();
  expect(disk.syncs).toBe(2);
});

test("a token, the record of `palace stop` and the record that a ledger exists, each in a new folder, survive a power cut", () => {
  const at = (folder: string) => ({
    tokens: join(folder, "a/home/tokens.json"),
    marks: { stateDir: join(folder, "b/state"), tag: "tag", ledgerFile: "/gone/ledger.sqlite3" },
  });
  const { tokens, marks } = at(root);
  let [hasToken, wasStopped, wasThere] = [false, false, false];
  using disk = new PowerCut(root, {
    look: (folder) => {
      const left = at(folder);
      if (hasToken) expect(readTokens(left.tokens).map(({ name }) => name)).toEqual(["box"]);
      if (wasStopped) expect(isStopped(left.marks)).toBe(true);
      if (wasThere) expect(vanishedPalace(left.marks)?.code).toBe("PALACE_GONE");
    },
  });
  addToken(tokens, { name: "box", role: "agent", expiresAtMs: null }, 1);
  hasToken = true;
  disk.cut("after the token");
  setStopped(marks);
  wasStopped = true;
  disk.cut("after the stop");
  rememberLedger(marks);
  wasThere = true;
  disk.cut();
});

test("the palace's folder survives a power cut after the broker got its lock", () => {
  let isLocked = false;
  using disk = new PowerCut(root, {
    look: (folder) => {
      if (isLocked) readFileSync(join(folder, "x/y/home/note"));
    },
  });
  const lock = takeLock(join(root, "x/y/home/lock"), false);
  if ("heldBy" in lock) throw new Error("the lock is held");
  writeFileAtomic(join(root, "x/y/home/note"), "filed by the broker");
  isLocked = true;
  disk.cut();
  lock.release();
});
