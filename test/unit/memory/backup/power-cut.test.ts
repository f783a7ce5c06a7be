/** Simulates a power cut at every moment of a restore, a move and a backup. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { EVENTS, LEDGER } from "../../../../src/memory/backup/contents.ts";
import { makeDraft } from "../../../../src/memory/backup/draft.ts";
import { noteBackup, readList } from "../../../../src/memory/backup/known-backups.ts";
import { move } from "../../../../src/memory/backup/move.ts";
import { writeWhole } from "../../../../src/memory/backup/pack.ts";
import type { SwapPaths } from "../../../../src/memory/backup/palace-files.ts";
import { listAllAgain } from "../../../../src/memory/backup/restore.ts";
import { finishRestore, pendingRestore, planSwap, STAGED, swapIn } from "../../../../src/memory/backup/swap.ts";
import { openForWriting } from "../../../../src/memory/ledger/open.ts";
import { PowerCut } from "../../../helpers/power-cut.ts";

let root: string;
beforeEach(() => (root = realpathSync(mkdtempSync(join(tmpdir(), "backup-power-")))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("after a power cut in a restore, the next start finishes with the old or the new palace and keeps the old files", () => {
  const paths = at(root);
  mkdirSync(paths.palaceDir, { recursive: true });
  writeFileSync(paths.ledgerFile, "old ledger");
  writeFileSync(join(paths.palaceDir, EVENTS), "old events");
  // Creates the real ledger outside the simulation: opening a ledger syncs folders that the restore itself does not sync.
  const made = join(root, LEDGER);
  openForWriting(made).close();
  let isRestored = false;
  using disk = new PowerCut(root, {
    look: (folder) => {
      const left = at(folder);
      if (isRestored) expect(pendingRestore(left.home)).toBeUndefined();
      finishRestore(left);
      const isNew = readFileSync(left.ledgerFile).subarray(0, 15).equals(Buffer.from("SQLite format 3"));
      if (isRestored) expect(isNew).toBe(true);
      expect(readFileSync(join(left.palaceDir, EVENTS), "utf8")).toBe(isNew ? "new events" : "old events");
      if (isNew) openForWriting(left.ledgerFile).close();
      const [oldLedger, oldEvents] = isNew
        ? [inAside(left.home, LEDGER), inAside(left.palaceDir, EVENTS)]
        : [left.ledgerFile, join(left.palaceDir, EVENTS)];
      expect([readFileSync(oldLedger, "utf8"), readFileSync(oldEvents, "utf8")]).toEqual(["old ledger", "old events"]);
    },
  });
  const staged = makeDraft(paths.home, STAGED);
  copyFileSync(made, join(staged.folder, LEDGER));
  writeFileSync(join(staged.folder, EVENTS), "new events");
  listAllAgain(staged.folder);
  disk.cut("when all is staged");
  swapIn(paths, planSwap(paths, { file: "b.tar", staged: staged.folder, names: [LEDGER, EVENTS] }, false));
  staged.release();
  isRestored = true;
  disk.cut();
});

test("after a power cut in a move to another disk, the whole file is at its source or at its target", () => {
  const otherDisk = (): never => {
    throw Object.assign(new Error("cross-device link"), { code: "EXDEV" });
  };
  mkdirSync(join(root, "from/segment"), { recursive: true });
  mkdirSync(join(root, "to"));
  writeFileSync(join(root, "from/segment/data.bin"), "vectors");
  using disk = new PowerCut(root, {
    look: (folder) => {
      const there = ["from", "to"]
        .map((place) => join(folder, place, "segment/data.bin"))
        .filter((file) => existsSync(file));
      expect(there.map((file) => readFileSync(file, "utf8"))).toContain("vectors");
    },
  });
  move(join(root, "from/segment"), join(root, "to/segment"), otherDisk);
  disk.cut();
});

test("after a power cut a backup that was reported is whole and listed", async () => {
  const made = { file: join(root, "b.tar"), madeAtMs: 1, journalSeq: 2, bytes: 3, encrypted: false, scheduled: false };
  let [isMade, isListed] = [false, false];
  using disk = new PowerCut(root, {
    look: (folder) => {
      const file = join(folder, "b.tar");
      if (isMade || existsSync(file)) expect(readFileSync(file, "utf8")).toBe("one two");
      if (isListed) expect(readList(folder).backups).toEqual([made]);
    },
  });
  await writeWhole(made.file, pieces());
  isMade = true;
  disk.cut("when the backup was made");
  noteBackup(root, made);
  isListed = true;
  disk.cut();
});

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (const piece of ["one ", "two"]) yield Buffer.from(piece);
}

function inAside(folder: string, name: string): string {
  return join(folder, readdirSync(folder).find((one) => one.startsWith("before-restore-")) ?? "none", name);
}

function at(folder: string): SwapPaths {
  const home = join(folder, "home");
  return {
    ...{ home, palaceDir: join(home, "palace"), ledgerFile: join(home, LEDGER) },
    graphFile: join(home, "knowledge_graph.sqlite3"),
    ...{ tunnelsFile: join(home, "tunnels.json"), hallwaysFile: join(home, "hallways.json") },
  };
}
