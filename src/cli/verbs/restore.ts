/** `palace backup restore` replaces the palace with a backup and moves the old palace aside. */
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { glance } from "../../memory/backup/look.ts";
import { ownEntries } from "../../memory/backup/palace-files.ts";
import {
  assertStaged,
  leaveStaged,
  listAllAgain,
  namesToPutBack,
  type Staged,
  stageBackup,
} from "../../memory/backup/restore.ts";
import { asideOf, finishRestore, type PendingRestore, planSwap, swapIn } from "../../memory/backup/swap.ts";
import { STDIN } from "../../memory/backup/verify.ts";
import { type LifetimeLock, takeLock } from "../../broker/life/lock.ts";
import { keepUpstreamLock } from "../../broker/palace/upstream-lock.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { clearStop, ensureBroker, foreignMount } from "../../wire/client/start.ts";
import { stopBroker } from "../../wire/client/stop.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";
import { armFault } from "../../base/fault-point.ts";
import { keepFolder } from "../../base/folders.ts";
import { createLog } from "../../base/log.ts";
import { isStopped } from "../../base/state-files.ts";
import { PalaceError, unwritable, wrongUsage } from "../../base/errors.ts";
import { withoutInterrupt } from "../feeding/feeding.ts";
import { reportCancelled, watchBytes } from "../report/job.ts";
import { brokerBox } from "../docker/owner.ts";
import { described, isWanted, preview } from "../report/restore-preview.ts";
import { readPassphrase } from "../terminal/confirm.ts";
import { defineVerb, options } from "../define-verb.ts";

const LOCK_MAX_MS = 10_000;
const LOCK_POLL_MS = 50;

export const verb = defineVerb({
  usage: `palace backup restore FILE|- [--dry-run] [--yes] [--with-tokens] [--no-start] [--passphrase-file FILE]

Replaces the palace by a backup, or creates the palace from it if there is none. It first reads and checks the whole backup; a bad one changes nothing.
Then it stops the broker, moves the present palace aside (to before-restore-TIME beside it, never deleted), puts the backup in its
place, and starts the broker again if it ran; the broker rebuilds the public palace. After a kill, the old palace or
the new one is in place, and the next start, or this command again, finishes it. Existing settings stay. - reads the backup from stdin.
A broker in a container of this machine's engine gets FILE through the engine.

  --dry-run               show the present palace and what would replace it; change nothing
  --yes                   do not ask
  --with-tokens           restore the TCP door's tokens too, if there are none now; whoever has such a token may then connect
  --no-start              do not start the broker again, if something else does
  --passphrase-file FILE  the first line of FILE is its passphrase (else MEMPALACE_BACKUP_PASSPHRASE_FILE, -PASSPHRASE, else asked)`,
  options: options("dry-run yes|y with-tokens no-start passphrase-file="),
  args: [1, 1],
  place: "any",
  run: async ({ values, args, config, out }) => {
    armFault(config.fault);
    const file = args[0] === STDIN ? STDIN : resolve(args[0] ?? "");
    const withTokens = values["with-tokens"] === true;
    const passphrase = (): Promise<string | undefined> => readPassphrase(config, values["passphrase-file"], false);
    const box = brokerBox(config);
    if (box !== undefined) {
      const asked = { dryRun: values["dry-run"] === true, yes: values.yes === true, withTokens };
      const { restoreInBox } = await import("../docker/restore.ts");
      return restoreInBox(box, { ...asked, file, passphrase, config }, out);
    }
    assertHere(config);
    const { home } = config.paths;
    const isNew = !existsSync(home);
    keepFolder(home);
    let staged: Staged | undefined;
    try {
      staged = await watchBytes(out, "reading ", (watch) => stageBackup(file, home, { ...watch, passphrase }));
      if (staged === undefined) return reportCancelled(out);
      const before = glance(config.paths.ledgerFile) ?? null;
      const there = ownEntries(config.paths, config.driver === "chroma").map(({ name }) => name);
      const coming = described(file, staged);
      preview(coming, { before, there, withTokens }, out);
      if (values["dry-run"] === true) {
        if (out.isJson) out.document({ ...coming, before, there });
        return 0;
      }
      if (!(await isWanted({ before, there }, values.yes))) return 0;
      listAllAgain(staged.folder);
      const how = { withTokens, noStart: values["no-start"] === true };
      const whole = staged;
      const done = await withoutInterrupt(() => exchange(config, file, whole, how));
      return out.answer({ ...coming, before, there, ...done }, () => {
        for (const folder of done.aside) out.text(`The old state is kept: ${folder}`);
        out.text(out.spelled(done.started ? "Restored; the broker is running." : "Restored; to go on: palace start"));
        if (config.driver === "chroma")
          out.notice(
            "the Chroma server still has drawers filed after the backup, and the broker adopts them; to prevent that, empty the server",
          );
      });
    } finally {
      if (staged !== undefined) leaveStaged(home, staged);
      if (isNew && readdirSync(home).length === 0) rmdirSync(home);
    }
  },
});

function assertHere(config: Config): void {
  if (isElsewhere(config)) throw wrongUsage("the broker is elsewhere", "on its machine: palace backup restore FILE");
  const foreign = foreignMount(config);
  if (foreign !== undefined) throw foreign;
  const { home } = config.paths;
  if (existsSync(home) && !canWrite(home))
    throw unwritable(
      `${home} cannot be written here; nothing was changed`,
      "where you can write it: palace backup restore FILE; for the compose stack see docs/how-to/backup.md",
    );
}

/** Swaps the palaces. The caller ignores Ctrl-C during the swap, because the next command would have to finish an interrupted swap. */
async function exchange(
  config: Config,
  file: string,
  staged: Staged,
  { withTokens, noStart }: { withTokens: boolean; noStart: boolean },
): Promise<{ aside: string[]; started: boolean }> {
  const { paths } = config;
  const wasStopped = isStopped(paths);
  const swap = (): PendingRestore => {
    // Finishes an interrupted earlier restore first, so that the swap starts from a complete palace.
    finishRestore(paths);
    assertStaged(staged.folder, staged.manifest);
    const names = namesToPutBack(staged, withTokens);
    const plan = planSwap(paths, { file, staged: staged.folder, names }, config.driver === "chroma");
    swapIn(paths, plan);
    return plan;
  };
  let stopped = false;
  let pending: PendingRestore;
  try {
    ({ stopped } = await stopBroker(config));
    // Docker may restart the broker's container before we take the lock. With --no-start we then stop the broker again and try once more.
    pending = await underLock(config, swap).catch(async (error: unknown) => {
      if (!noStart || !(error instanceof PalaceError && error.code === "PALACE_LOCKED")) throw error;
      await stopBroker(config);
      return underLock(config, swap);
    });
  } finally {
    if (!wasStopped) clearStop(config);
  }
  // After a failed swap we start no broker, because an error of its start would hide what prevented the swap.
  if (stopped && !noStart) await ensureBroker(config);
  return { aside: asideOf(paths, pending), started: stopped && !noStart };
}

/** Runs the work under the palace's lock. Errors: PALACE_LOCKED while a broker or MemPalace has the palace. */
async function underLock(config: Config, work: () => PendingRestore): Promise<PendingRestore> {
  const { lockFile, palaceDir, upstreamLocksDir: locksDir } = config.paths;
  const lock = await waitForLock(lockFile);
  const upstream = keepUpstreamLock({ palaceDir, locksDir, log: createLog(() => {}, "error"), onChange: () => {} });
  try {
    const locked = upstream.lockedBy();
    if (locked !== undefined) throw locked;
    return work();
  } finally {
    upstream.release();
    lock.release();
  }
}

/** Waits for the lock, which a broker that has just ended releases in a moment. */
async function waitForLock(file: string): Promise<LifetimeLock> {
  for (const deadline = performance.now() + LOCK_MAX_MS; ; await sleep(LOCK_POLL_MS)) {
    const lock = takeLock(file, false);
    if (!("heldBy" in lock)) return lock;
    if (performance.now() > deadline)
      throw new PalaceError(
        "PALACE_LOCKED",
        `the palace is held by ${lock.heldBy}; nothing was changed`,
        "end that process, then try again",
      );
  }
}
