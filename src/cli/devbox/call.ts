/** Defines the arguments of each subverb of `palace devbox`, and finds the stack's folder. */
import { wrongUsage } from "../../base/errors.ts";
import { EXIT_INTERRUPTED, withInterrupt } from "../feeding/feeding.ts";
import type { Place, Watch } from "../../devbox/compose.ts";
import { lostEngine } from "../../devbox/engine.ts";
import { stackFolder } from "../../devbox/folder.ts";
import { PACKAGE_ROOT } from "../executable.ts";
import { askLine } from "../terminal/confirm.ts";
import { type Call, options } from "../define-verb.ts";

export const DEVBOX_OPTIONS = options("workspace= share from= fresh no-build force volumes yes= no-backup");

/** `rest`: words after the subverb, that is, the command of `shell` or the backup of `restore`. */
export type DevboxCall = Call<typeof DEVBOX_OPTIONS> & Readonly<{ rest: readonly string[] }>;

/** Returns the stack's folder. `isBuilding`: first copies the files for a build from the installed package into this folder. */
export function placeOf(
  { config, env }: DevboxCall,
  isBuilding: boolean,
): Place & { stateDir: string; cacheDir: string } {
  const { stateDir, cacheDir } = config.paths;
  return { root: stackFolder(PACKAGE_ROOT, stateDir, isBuilding), env, stateDir, cacheDir };
}

/**
 * Shows progress on stderr. The first Ctrl-C ends the work at its next safe point. `next`: advice after an interruption. Errors:
 * TRANSPORT_CLOSED if the connection to Docker is lost.
 */
export async function watched(
  { out }: DevboxCall,
  next: string,
  work: (watch: Watch) => Promise<number>,
): Promise<number> {
  let isStopped = false;
  try {
    return await withInterrupt((signal) => work({ log: (line) => out.notice(line), signal }), {
      onStop: () => {
        isStopped = true;
        out.notice("ending at the next safe point ...");
      },
    });
  } catch (error) {
    if (!isStopped || (error as Error).name !== "AbortError") throw lostEngine(error, next) ?? error;
    out.notice(`Interrupted. ${out.spelled(next)}`);
    return EXIT_INTERRUPTED;
  }
}

/** Asks the user to type the project's name, unless `--yes` gives it. Errors: CONFIG_USAGE for another name or no terminal. */
export async function assertNamed(
  project: string,
  given: string | undefined,
  command: (project: string) => string,
): Promise<void> {
  const hint = command(project);
  if (given === undefined && (!process.stdin.isTTY || !process.stderr.isTTY))
    throw wrongUsage("the confirmation needs a terminal; nothing was changed", hint);
  const typed = given ?? (await askLine(`Type the project's name (${project}) to go on: `)).trim();
  if (typed !== project) throw wrongUsage(`that is not the project's name, ${project}; nothing was changed`, hint);
}
