/**
 * Runs a Chroma server on one of our folders, on loopback only. It uses the npm package `chromadb` if its binding loads, else a `chroma`
 * command.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { threadFile } from "../../base/thread.ts";
import { unavailable } from "../../base/errors.ts";

const READY_MAX_MS = 60_000;
const POLL_MS = 50;
const END_MAX_MS = 10_000;
const STDERR_MAX = 400;

export type ChromaServer = { url: string; stop(): Promise<void> };

/** Starts `command`, or the first program that works. Stops the program if `look` throws during the wait. Errors: STORE_UNAVAILABLE. */
export async function startChromaServer(
  folder: string,
  command: string | undefined,
  look: () => Promise<void>,
): Promise<ChromaServer> {
  const failures: string[] = [];
  for (const argv of command === undefined ? candidates() : [[command]]) {
    const started = await tryStart(folder, argv, look);
    if (typeof started !== "string") return started;
    failures.push(`${argv.at(-1) ?? ""}: ${started}`);
  }
  throw unavailable(
    `no Chroma can be run here (${failures.join("; ")})`,
    "npm install -g chromadb installs one; or name a program with --chroma FILE (MemPalace's Python environment has bin/chroma); or export without Chroma: --without-chroma",
  );
}

function candidates(): string[][] {
  try {
    const cli = join(dirname(createRequire(import.meta.url).resolve("chromadb")), "..", "cli.mjs");
    return [[process.execPath, cli], ["chroma"]];
  } catch {
    return [["chroma"]];
  }
}

/** Returns the server, or the reason why it did not start. */
async function tryStart(
  folder: string,
  argv: readonly string[],
  look: () => Promise<void>,
): Promise<ChromaServer | string> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const guard = fileURLToPath(threadFile(import.meta.url, "chroma-guard"));
  const args = [...argv, "run", "--path", folder, "--host", "127.0.0.1", "--port", String(port)];
  const child = spawn(process.execPath, [guard, ...args], { stdio: ["pipe", "ignore", "pipe"], cwd: dirname(folder) });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-STDERR_MAX)));
  child.stdin.on("error", () => {});
  const ended = once(child, "exit").catch(() => []);
  const stop = async (): Promise<void> => {
    child.stdin.end();
    if ((await Promise.race([ended, sleep(END_MAX_MS)])) === undefined) child.kill("SIGKILL");
    await ended;
  };
  for (const deadline = performance.now() + READY_MAX_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    if (child.exitCode !== null || child.signalCode !== null)
      return reasonIn(said) ?? `it ended with ${child.exitCode}`;
    const answer = await fetch(`${url}/api/v2/heartbeat`, { signal: AbortSignal.timeout(2_000) }).catch(
      () => undefined,
    );
    if (answer?.ok === true) return { url, stop };
    await look().catch(async (error: unknown) => {
      await stop();
      throw error;
    });
  }
  await stop();
  return `it did not answer within ${READY_MAX_MS / 1000} s`;
}

/** Returns the line with the error in the stderr of a crashed Node process, whose last line is Node's version. */
function reasonIn(said: string): string | undefined {
  const lines = said
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^Node\.js v/.test(line));
  return lines.find((line) => /\b\w*Error\b/.test(line)) ?? lines.at(-1);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
