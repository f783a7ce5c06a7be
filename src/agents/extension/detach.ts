/** Starts processes that outlive this process and its agent. */
import { spawn } from "node:child_process";
import type { Env } from "../../config/env.ts";

/** `problem`: log text if the command cannot start. `onExit`: called once, when the command has ended or could not start. */
type Detached = { env: Env; log: (line: string) => void; problem: string; input?: string; onExit?: () => void };

/** Starts a command and resolves when the command has read all of `input`. Never throws. */
export function detach(
  [command = "", ...args]: readonly string[],
  { env, log, problem, input = "", onExit = () => {} }: Detached,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const fail = (error: unknown): void => {
    log(`${problem}: ${error instanceof Error ? error.message : String(error)}`);
    resolve();
    onExit();
  };
  try {
    const child = spawn(command, args, { env, stdio: ["pipe", "ignore", "ignore"], detached: true, cwd: "/" });
    child.once("error", fail).once("exit", onExit).unref();
    child.stdin.on("error", () => resolve()).end(input, () => resolve());
  } catch (error) {
    fail(error);
  }
  return promise;
}
