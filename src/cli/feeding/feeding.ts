/** Code shared by the feeders' commands and other long commands: the connection, and Ctrl-C. */
import { connectClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import type { Caller } from "../../feeders/send.ts";

export { placeOf } from "../../feeders/came-from.ts";

export const EXIT_INTERRUPTED = 130;
/** Time that a miner gets to exit cleanly after the program that started it has died. */
const ORPHAN_MAX_MS = 2_000;

/** Connects to the broker. With `onlyIfRunning` (a dry run, for example), returns undefined if no broker runs. */
export async function connect(config: Config, agent: string, onlyIfRunning: boolean): Promise<Caller | undefined> {
  if (onlyIfRunning && (await findBroker(config)) === undefined) return undefined;
  return connectClient({ config, agent, start: onlyIfRunning ? "never" : "auto" });
}

type InterruptOptions = {
  /** Called at the first Ctrl-C, for example to print that the work is stopping. */
  onStop?: () => void;
  isWatched?: boolean;
};

/**
 * The first Ctrl-C lets the current call finish; the second ends the process. With `isWatched` (a program reads our progress), our process
 * also ends at the end of its stdin, because that program has then died or closed the pipe.
 */
export async function withInterrupt<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { onStop, isWatched = false }: InterruptOptions = {},
): Promise<T> {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) return;
    onStop?.();
    controller.abort();
  };
  // Without the program that started us (perhaps the broker), the work may never finish, so we exit. Half-done work is not marked as done.
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

export async function withoutInterrupt<T>(work: () => Promise<T>): Promise<T> {
  const ignore = (): void => {};
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, ignore);
  try {
    return await work();
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, ignore);
  }
}
