/** Runs the fixes of `palace doctor --fix`. No fix deletes a user's text, or a file that is not ours. */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, rmSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { type AgentName, AGENTS } from "../../agents/install/agent-files.ts";
import { install, type Parts, wiringOf } from "../../agents/install/install.ts";
import type { Change } from "../../agents/install/plan.ts";
import { canWrite } from "../../base/can-write.ts";
import { PalaceError, unavailable, wrongUsage } from "../../base/errors.ts";
import { tryFlock } from "../../base/libc.ts";
import { dropStarting, isStopped, isWanted, staleStart, writeFailure, vanishedPalace } from "../../base/state-files.ts";
import type { Config } from "../../config/config.ts";
import { ownBackups } from "../../memory/backup/known-backups.ts";
import { backupName } from "../../memory/backup/name.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { connectClient } from "../../wire/client/client.ts";
import { findBroker, readBrokerFile } from "../../wire/client/discover.ts";
import { Spool } from "../../wire/client/spool.ts";
import { ensureBroker, foreignMount, START_MARK_MS } from "../../wire/client/start.ts";
import { overdueFolder } from "../report/backup-health.ts";
import { backUp } from "../report/take-backup.ts";
import { willChange, wiringParts } from "../report/wiring.ts";
import { type Output, plural } from "../terminal/output.ts";
import type { Fix } from "./check.ts";
import { orElse } from "../../base/or-else.ts";

/** Result of a fix. `error`: why the fix failed. `state` is `planned` with --dry-run. */
export type Fixed = {
  name: string;
  what: string;
  state: "done" | "planned" | "failed";
  error?: { code: string; message: string; hint: string };
};

/** `mayStart`: whether a fix may start a broker. */
export async function planFixes(config: Config, mayStart: boolean, out: Output): Promise<Fix[]> {
  const isOwn = !isElsewhere(config);
  const isOurDisk = isOwn && foreignMount(config) === undefined;
  const isRunning = await isThere(config);
  const start =
    mayStart && isOwn && !isRunning && !isStopped(config.paths) && vanishedPalace(config.paths) === undefined;
  const willRun = isRunning || start;
  return [
    ...folderFixes(config),
    ...(isOurDisk && !isRunning ? leftoverFixes(config) : []),
    ...(start ? [startFix(config)] : []),
    ...(willRun ? spoolFixes(config) : []),
    ...agentFixes(config),
    ...(willRun && isOwn ? backupFixes(config, out) : []),
  ];
}

/** Applies the fixes in order; a fix that fails does not stop the others. */
export async function applyFixes(fixes: readonly Fix[], isDryRun: boolean): Promise<Fixed[]> {
  const done: Fixed[] = [];
  for (const { name, what, run } of fixes)
    try {
      const said = isDryRun ? undefined : await run();
      done.push({ name, what: said ?? what, state: isDryRun ? "planned" : "done" });
    } catch (error) {
      if (!(error instanceof PalaceError)) throw error;
      const { code, message, hint } = error;
      done.push({ name, what, state: "failed", error: { code, message, hint } });
    }
  return done;
}

/** Returns true also for a broker that refuses us or speaks another protocol, because the checks report such a broker. */
async function isThere(config: Config): Promise<boolean> {
  return findBroker(config).then(
    (found) => found !== undefined,
    () => true,
  );
}

function startFix(config: Config): Fix {
  return {
    name: "broker",
    what: "start the broker",
    run: async () => {
      const { endpoint } = await ensureBroker(config);
      return `start the broker: it runs at ${endpoint}`;
    },
  };
}

function spoolFixes(config: Config): Fix[] {
  const spool = new Spool(config.paths.spoolDir);
  // An unreadable folder counts as empty, because the checks report it.
  const waiting = orElse(() => spool.entries().length, 0);
  if (waiting === 0) return [];
  const what = `deliver ${plural(waiting, "spooled write")}`;
  const run = async (): Promise<string> => {
    // Connecting delivers the spool: each of our clients does that first.
    (await connectClient({ config, agent: "palace doctor", start: "auto" })).close();
    const left = spool.entries().length;
    if (left < waiting) return left === 0 ? what : `${what}: ${left} still wait`;
    throw unavailable(`${plural(left, "write")} could not be delivered`, "palace status spool list");
  };
  return [{ name: "spool", what, run }];
}

export function agentFixes(config: Config): Fix[] {
  const parts = wiringParts(config, undefined);
  return AGENTS.flatMap((agent): Fix[] => {
    const changes = driftOf(agent, parts);
    if (changes.length === 0 || changes.some(namesAnother)) return [];
    const what = `wire ${agent} again: ${changes.map(({ path }) => path).join(", ")}`;
    const run = (): string => {
      const { backups } = install(agent, parts, false);
      return backups.size === 0 ? what : `${what} (first copied ${plural(backups.size, "file")})`;
    };
    return [{ name: "agents", what, run }];
  });
}

/** Returns the changes that repair an agent's wiring; none if its settings are unreadable, which `palace install status` reports. */
function driftOf(agent: AgentName, parts: Parts): Change[] {
  return orElse(() => {
    if (wiringOf(agent, parts) !== "drifted") return [];
    return install(agent, parts, true).changes.filter(({ action }) => willChange(action));
  }, []);
}

/** Returns true if the change would drop `--palace` from an agent's wiring. The user chose that palace, so the fix keeps it. */
function namesAnother({ current, next }: Change): boolean {
  return current?.includes("--palace") === true && next?.includes("--palace") !== true;
}

export function backupFixes(config: Config, out: Output): Fix[] {
  const dir = overdueFolder(config);
  // If the folder is missing, its disk is probably not mounted.
  if (dir === undefined || !existsSync(dir)) return [];
  const wasEncrypted = ownBackups(config.paths, dir).made.at(-1)?.file.endsWith(".age") === true;
  return [
    {
      name: "backups",
      what: `make a backup in ${dir}`,
      run: async () => {
        // If this fix has just started a broker, that broker makes the overdue backup itself.
        if (overdueFolder(config) === undefined) return `make a backup in ${dir}: the broker has made one`;
        const passphrase = config.backup.passphrase();
        if (wasEncrypted && passphrase === undefined)
          throw wrongUsage(
            "the backups there are encrypted, and no passphrase is given",
            "export MEMPALACE_BACKUP_PASSPHRASE_FILE=FILE, then repeat the command",
          );
        const file = join(dir, backupName(config.paths.tag, new Date(), passphrase !== undefined));
        const made = await backUp(config, { file, passphrase, replace: false }, out);
        if (made === undefined) throw new PalaceError("BROKER_CANCELLED", "it was cancelled", "palace backup");
        return `make a backup: ${made.file}`;
      },
    },
  ];
}

const OPEN_TO_OTHERS = 0o077;

/** Returns fixes that make the state folder private, or create it; the sockets' folder, too, if a broker may run here. */
export function folderFixes({ paths }: Config): Fix[] {
  const sockets = existsSync(paths.home) && !canWrite(paths.home) ? [] : [dirname(paths.socketPath)];
  return [paths.stateDir, ...sockets].flatMap((folder): Fix[] => {
    const stat = look(folder);
    if (stat === undefined) {
      const run = guarded(folder, () => void mkdirSync(folder, { recursive: true, mode: 0o700 }));
      return [{ name: "folder", what: `make ${folder}, readable only by you`, run }];
    }
    if (!stat.isDirectory() || stat.uid !== process.getuid?.() || (stat.mode & OPEN_TO_OTHERS) === 0) return [];
    return [{ name: "folder", what: `make ${folder} private`, run: guarded(folder, () => chmodSync(folder, 0o700)) }];
  });
}

/** Removes leftovers only if no process has the palace's lock, because otherwise a broker may be using the files. */
export function leftoverFixes({ paths }: Config): Fix[] {
  const { lockFile, brokerFile, wantedFile, socketPath, gatePath, outcomeSocketPath } = paths;
  const release = existsSync(lockFile) ? holdLock(lockFile) : undefined;
  if (existsSync(lockFile) && release === undefined) return [];
  release?.();
  const alone = (path: string, name: string, what: string, remove: () => void): Fix => {
    const run = guarded(path, () => {
      const held = existsSync(lockFile) ? holdLock(lockFile) : () => {};
      if (held === undefined) return `${what}: not done, because a broker has started meanwhile`;
      try {
        remove();
      } finally {
        held();
      }
      return undefined;
    });
    return { name, what, run };
  };
  const drop = (path: string, name: string, what: string): Fix =>
    alone(path, name, what, () => rmSync(path, { force: true }));
  return [
    ...[socketPath, gatePath, outcomeSocketPath]
      .filter(isOwnSocket)
      .map((path) => drop(path, "socket", `remove the dead socket ${path}`)),
    // Keeps files of another broker, or of a program that is not ours.
    ...(readBrokerFile(brokerFile) === undefined
      ? []
      : [drop(brokerFile, "note", `remove ${brokerFile} of a broker that has died`)]),
    ...(existsSync(wantedFile) && !isWanted(wantedFile)
      ? [drop(wantedFile, "note", `remove ${wantedFile} of a broker that has given up`)]
      : []),
    ...(staleStart(paths, START_MARK_MS)
      ? [alone(paths.stateDir, "note", "remove the mark of a start that did not finish", () => dropStarting(paths))]
      : []),
  ];
}

/** Takes the lock and returns a function that releases it; undefined if a broker has the lock or the lock cannot be tested. */
function holdLock(file: string): (() => void) | undefined {
  // Opening fails for example if the file is read-only.
  const fd = orElse(() => openSync(file, "r+"), undefined);
  if (fd === undefined) return undefined;
  if (orElse(() => tryFlock(fd), false)) return () => closeSync(fd);
  closeSync(fd);
  return undefined;
}

function isOwnSocket(path: string): boolean {
  const stat = look(path);
  return stat?.isSocket() === true && stat.uid === process.getuid?.();
}

function guarded<T>(folder: string, act: () => T): () => T {
  return () => {
    try {
      return act();
    } catch (cause) {
      throw writeFailure(folder, cause);
    }
  };
}

function look(path: string): Stats | undefined {
  return orElse(() => lstatSync(path, { throwIfNoEntry: false }), undefined);
}
