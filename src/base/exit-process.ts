/**
 * The end of a process, past the teardown of its runtime. In that teardown Node's main thread waits for V8's workers, and one of these may
 * wait for a garbage collection of the main thread: both stand still for ever, holding locks (https://github.com/nodejs/node/issues/54918,
 * seen here twice in some fifty runs of `palace forget`). A process that becomes another one loses its threads at once.
 */
import { accessSync, constants } from "node:fs";
import { within } from "./time-limit.ts";

const SHELL = "/bin/sh";

/**
 * Exits with `code` after stdout and stderr are flushed (`process.exit()` does not wait for them). Pass `timeoutMs` if
 * you hold something that others wait for: a reader that stopped reading is then given up. Calls the listeners of
 * `exit`; does not wait for other work in the event loop.
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

/** Also resolves for a stream whose reader has gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) resolve();
    else stream.write("", () => resolve());
  });
}

/** A failing call would abort the process. */
function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
