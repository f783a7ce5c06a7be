/** Starts processes that outlive this one and its agent. Part of the files that are copied into agents' folders. */
import { spawn } from "node:child_process";
import type { Env } from "../../config/env.ts";

/** Runs a command. `problem`: words for the log if it cannot start. Resolves when it has all of `input`; never throws. */
export function detach(
  [command = "", ...args]: readonly string[],
  { env, log, problem, input = "" }: { env: Env; log: (line: string) => void; problem: string; input?: string },
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fail = (error: unknown): void => {
    log(`${problem}: ${error instanceof Error ? error.message : String(error)}`);
    resolve();
  };
  try {
    const child = spawn(command, args, { env, stdio: ["pipe", "ignore", "ignore"], detached: true, cwd: "/" });
    child.once("error", fail).unref();
    child.stdin.on("error", () => resolve()).end(input, () => resolve());
  } catch (error) {
    fail(error);
  }
  return promise;
}
