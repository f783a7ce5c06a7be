/**
 * Code shared by the commands of the feeders, and by others that take long: their connection,
 * Ctrl-C. Imported by the files of verbs/.
 */
import { connectClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import type { Caller } from "../../feeders/send.ts";

export { placeOf } from "../../feeders/came-from.ts";

export const EXIT_INTERRUPTED = 130;
/** The time that a miner without its starter has to exit cleanly. */
const ORPHAN_MAX_MS = 2_000;

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

/** Ignores Ctrl-C while the work runs. */
export async function withoutInterrupt<T>(work: () => Promise<T>): Promise<T> {
  const ignore = (): void => {};
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, ignore);
  try {
    return await work();
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, ignore);
  }
}
