/**
 * Fixes of `palace doctor --fix`, in their order. Each fix is looked for first, so that a second run finds nothing, and
 * each looks again before it acts. No fix deletes a user's text, or a file that is not ours. Imported by
 * verbs/doctor.ts.
 */
import { findBroker } from "../../wire/client/discover.ts";
import { Spool } from "../../wire/client/spool.ts";
import { ensureBroker, foreignMount } from "../../wire/client/start.ts";
import { connectClient } from "../../wire/client/client.ts";
import { isBridged } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { isStopped, vanishedPalace } from "../../base/state-files.ts";
import { PalaceError } from "../../base/errors.ts";
import { type Output, plural } from "../terminal/output.ts";
import type { Fix } from "./check.ts";
import { agentFixes } from "./fix-agents.ts";
import { backupFixes } from "./fix-backup.ts";
import { folderFixes, leftoverFixes } from "./fix-files.ts";

/** `error`: it was tried and is as it was. `state` is `planned` with --dry-run. */
export type Fixed = {
  name: string;
  what: string;
  state: "done" | "planned" | "failed";
  error?: { code: string; message: string; hint: string };
};

/** `mayStart`: a broker may be started. Errors: those of finding one. */
export async function planFixes(config: Config, mayStart: boolean, out: Output): Promise<Fix[]> {
  const isOwn = config.endpoint === undefined && !isBridged(config);
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

/**
 * Returns whether a broker is there. A broker that speaks another protocol, or refuses us, counts; the checks report
 * its fault.
 */
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
  const waiting = count(spool);
  if (waiting === 0) return [];
  const what = `deliver ${plural(waiting, "spooled write")}`;
  const run = async (): Promise<string> => {
    // Connecting delivers: it is the first thing that any client of ours does.
    (await connectClient({ config, agent: "palace doctor", start: "auto" })).close();
    const left = spool.entries().length;
    if (left < waiting) return left === 0 ? what : `${what}: ${left} still wait`;
    throw new PalaceError(
      "STORE_UNAVAILABLE",
      `${plural(left, "write")} could not be delivered`,
      "palace status spool list",
    );
  };
  return [{ name: "spool", what, run }];
}

/** Counts the waiting entries. An unreadable folder counts as empty; the checks report it. */
function count(spool: Spool): number {
  try {
    return spool.entries().length;
  } catch {
    return 0;
  }
}
