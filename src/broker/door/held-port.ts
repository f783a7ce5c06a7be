/** Starts the process that holds a TCP port (port-process.ts), and reports its end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { threadFile } from "../../base/thread.ts";
import type { TcpAddress } from "./listen.ts";

export type HeldPort = {
  /** Resolves when the process has ended, however it ended. */
  ended: Promise<void>;
  close: () => Promise<void>;
};

const OPEN_MAX_MS = 20_000;
const END_MAX_MS = 4_000;

/** Starts the port process. `path`: socket to which it passes connections. Errors: the system's code, as for `listen`. */
export async function holdPort({ host, port }: TcpAddress, path: string): Promise<HeldPort> {
  const file = fileURLToPath(threadFile(import.meta.url, "port-process"));
  const child = spawn(process.execPath, [file, host, String(port), path], {
    cwd: "/",
    // The broker's environment may contain secrets, so the process gets an empty environment.
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {});
  const ended = once(child, "exit").then(
    () => {},
    () => {},
  );
  const close = async (): Promise<void> => {
    child.stdin.end();
    await Promise.race([ended, delay(END_MAX_MS, undefined, { ref: false })]);
    child.kill("SIGKILL");
    await ended;
  };
  const lines = createInterface(child.stdout);
  const said = await Promise.race([
    once(lines, "line", { signal: AbortSignal.timeout(OPEN_MAX_MS) }).then(([line]) => String(line), silent),
    ended.then(silent),
  ]);
  if (said === "open") return { ended, close };
  await close();
  throw Object.assign(new Error("the process that must open the port did not open it"), { code: said });
}

const silent = (): string => "it ended at once";
