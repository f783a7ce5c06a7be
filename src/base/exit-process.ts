/**
 * Ends a process without Node's teardown, which can deadlock with V8's worker threads while the process holds locks
 * (https://github.com/nodejs/node/issues/54918; about one in 25 runs of `palace forget` hung). `execve` ends all threads at once.
 */
import { accessSync, constants } from "node:fs";
import { within } from "./time-limit.ts";

const SHELL = "/bin/sh";

/**
 * Exits with `code` after stdout and stderr are flushed (`process.exit()` does not wait for them). Calls the listeners of `exit`. Pass
 * `timeoutMs` if other processes wait for this process to end: without it, a reader that has stopped reading delays the exit for ever.
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

/** Resolves when the stream is flushed or its reader is gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) setImmediate(resolve);
    else stream.write("", () => resolve());
  });
}

/** Checks the file before `execve`, because a failing `execve` aborts the process. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
