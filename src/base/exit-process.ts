/**
 * Ends a process without Node's teardown, which can hang for ever with locks held. During teardown the main thread waits for V8's workers.
 * A worker may wait for a garbage collection of the main thread (https://github.com/nodejs/node/issues/54918; seen twice in some fifty runs
 * of `palace forget`). `execve` ends all threads at once.
 */
import { accessSync, constants } from "node:fs";
import { within } from "./time-limit.ts";

const SHELL = "/bin/sh";

/**
 * Exits with `code` after stdout and stderr are flushed (`process.exit()` does not wait for them). Pass `timeoutMs` if other processes wait
 * for this one, for example for its lock: a reader that has stopped reading then delays the exit by at most `timeoutMs`. Calls the
 * listeners of `exit`; does not wait for other work in the event loop.
 */
export async function leave(code: number, timeoutMs?: number): Promise<never> {
  const said = Promise.all([process.stdout, process.stderr].map(flushed));
  await (timeoutMs === undefined ? said : within(said, timeoutMs));
  if (process.execve !== undefined && isExecutable(SHELL)) {
    process.emit("exit", code);
    process.execve(SHELL, ["sh", "-c", `exit ${code}`], {});
  }
  process.exit(code);
}

/** Resolves when the stream is flushed or its reader is gone. Ignores a failed write, which calls the listeners of `error`. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) setImmediate(resolve);
    else stream.write("", () => resolve());
  });
}

/** Returns true if this user may run the file. Checked before `execve`, because a failing `execve` aborts the process. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
