/**
 * Code shared by the commands of the feeders: the place of their notes, their connection, Ctrl-C, progress. Imported by the
 * files of verb/.
 */
import type { ParseArgsOptionsConfig } from "node:util";
import { connectClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import type { FeedWatch } from "../../feeders/convo-miner/run.ts";
import type { Caller } from "../../feeders/send.ts";
import type { Output } from "../terminal/output.ts";
import type { Place } from "../terminal/place.ts";
import { Progress } from "../terminal/progress.ts";

export const SKIPS_SHOWN_MAX = 20;
export const EXIT_PARTIAL = 8;
export const EXIT_INTERRUPTED = 130;
export const INTERRUPTED = "Interrupted. Run the same command again to file the rest.";
/** The time that a miner without its starter has to exit cleanly. */
const ORPHAN_MAX_MS = 2_000;

/** Options of all commands that file something, except the sweep. */
export const FEED_OPTIONS = {
  wing: { type: "string" },
  limit: { type: "string" },
  agent: { type: "string" },
  "dry-run": { type: "boolean" },
  force: { type: "boolean" },
  quiet: { type: "boolean" },
  /** Prints progress for a program. */
  progress: { type: "boolean" },
} as const satisfies ParseArgsOptionsConfig;

/** Filing may begin a palace; a dry run needs none. */
export function feedPlace({ values }: { values: { "dry-run"?: boolean | undefined } }): Place {
  return values["dry-run"] === true ? "any" : "anew";
}

/** Returns the staging folder, and the palace's name in the feeders' notes: a broker elsewhere serves another palace. */
export function placeOf(config: Config): { cacheDir: string; palace: string } {
  return { cacheDir: config.paths.cacheDir, palace: config.endpoint ?? config.paths.home };
}

/** A dry run and `why` ask the broker only if one runs. */
export async function connect(config: Config, agent: string, onlyIfRunning: boolean): Promise<Caller | undefined> {
  if (onlyIfRunning && (await findBroker(config)) === undefined) return undefined;
  return connectClient({ config, agent, start: onlyIfRunning ? "never" : "auto" });
}

type InterruptOptions = {
  /** Called at the first Ctrl-C, for work that takes a while to stop. */
  onStop: () => void;
  isWatched?: boolean;
};

/**
 * At the first Ctrl-C the call in flight still finishes; the second ends the process. A program that started us and reads
 * our progress (`isWatched`) ends us too by closing our stdin, which its death also does.
 */
export async function withInterrupt<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { onStop, isWatched = false }: InterruptOptions,
): Promise<T> {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) return;
    onStop();
    controller.abort();
  };
  // The starter is gone, perhaps the broker itself, so nobody may be there to finish with. Half-done work does not count as
  // done.
  const leave = (): void => {
    stop();
    setTimeout(() => process.exit(EXIT_INTERRUPTED), ORPHAN_MAX_MS).unref();
  };
  if (isWatched) process.stdin.once("end", leave).once("error", leave).resume();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  try {
    return await work(controller.signal);
  } finally {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  }
}

/**
 * `end` clears the progress from the terminal, `onStop` reports that Ctrl-C was noticed. `asLines` prints progress for a
 * program, one JSON document per line.
 */
export function feedWatch(
  out: Output,
  isQuiet: boolean,
  asLines = false,
): { watch: FeedWatch; end: () => void; onStop: () => void } {
  if (asLines)
    return {
      onStop: () => {},
      watch: {
        notice: (line) => out.notice(line),
        progress: (done, total, name, drawers) =>
          void process.stderr.write(`${JSON.stringify({ done, total, name, drawers })}\n`),
      },
      end: () => {},
    };
  const progress = new Progress({ silent: isQuiet || out.isJson });
  return {
    watch: {
      notice: (line) => (isQuiet ? undefined : out.notice(line)),
      progress: (done, total, name, drawers) =>
        progress.step(
          done,
          total,
          name,
          drawers === undefined ? undefined : `  + [${done}/${total}] ${name} +${drawers}`,
        ),
    },
    end: () => progress.end(),
    onStop: () => {
      progress.end();
      if (!isQuiet) out.notice("Stopping when what is being filed is in; Ctrl-C again stops at once.");
    },
  };
}
