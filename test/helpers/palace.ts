/** Makes a palace for one test (`await using`). Disposing of it stops all processes of the palace. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { builtFile } from "../../src/cli/executable.ts";
import { openStdioMcp, type StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { connectClient, type Client } from "../../src/wire/client/client.ts";
import { findBroker } from "../../src/wire/client/discover.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import type { Env } from "../../src/config/env.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
/** Folder of the real model, if the folder `shared` is beside the checkout. */
const MODEL_DIR = join(ROOT, "../shared/models/all-MiniLM-L6-v2");
export const realModelDir: string | undefined = existsSync(MODEL_DIR) ? MODEL_DIR : undefined;

const CALL_TIMEOUT_MS = 60_000;
const START_MAX_MS = 60_000;

export type TestPalace = AsyncDisposable & {
  home: string;
  env: Env;
  config: Config;
  /** Starts a broker as a child process. Resolves when it answers. */
  startBroker(more?: Env): Promise<ChildProcess>;
  /** Starts a shim as an agent does. `cwd`: the agent's working folder. */
  shim(more?: Env, cwd?: string): Promise<StdioMcp>;
  client(): Promise<Client>;
  /** Returns the path of an executable of src/bin or dist. */
  executable(bin: string): string;
  run(
    bin: string,
    args: string[],
    /** `isOpen`: stdin stays open after the input. `cwd`: working folder. */
    options?: { env?: Env; input?: string | Uint8Array; isOpen?: boolean; cwd?: string },
  ): Promise<{ code: number | null; stdout: string; stderr: string }>;
  log(): string;
};

export type TestPalaceOptions = {
  env?: Env;
  home?: string;
  /** True: runs the built files (dist), as users do. False: runs the sources. Default: true if ./scripts/test has built them. */
  built?: boolean;
  /** Words before each command, for example those that enter a network namespace. */
  within?: readonly string[];
};

/** Makes a test palace. Uses no model unless `env` names one, and never downloads a model. */
export function createTestPalace(options: TestPalaceOptions = {}): TestPalace {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "palace-"));
  const env: Env = {
    PATH: process.env["PATH"],
    // The test's own process computes the palace's paths with the same TMPDIR.
    TMPDIR: process.env["TMPDIR"],
    HOME: home,
    LANG: "C.UTF-8",
    // ./scripts/test names this folder for Node's compiled code.
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    // Lets Node record which lines the processes run, for scripts/mutate.ts.
    NODE_V8_COVERAGE: process.env["PALACE_TEST_COVERAGE"],
    MEMPALACE_OFFLINE: "1",
    MEMPALACE_IDLE_EXIT_MINUTES: "2",
    // Hides a Docker stack of this machine, which does not belong to the test.
    DOCKER_HOST: "unix:///none",
    ...options.env,
  };
  const config = loadConfig(env);
  const children: ChildProcess[] = [];
  const isBuilt = options.built ?? process.env["PALACE_TEST_BUILT"] === "1";
  const executable = (bin: string): string => join(ROOT, isBuilt ? `dist/bin/${builtFile(bin)}` : `src/bin/${bin}.ts`);

  const spawnBin = (bin: string, args: string[], more: Env = {}, cwd?: string): ChildProcess => {
    const [command = "", ...rest] = [...(options.within ?? []), process.execPath, executable(bin), ...args];
    const child = spawn(command, rest, { env: { ...env, ...more }, stdio: "pipe", cwd });
    children.push(child);
    return child;
  };

  return {
    home,
    env,
    config,
    executable,
    async startBroker(more = {}) {
      const child = spawnBin("mempalace-broker", ["--foreground"], more);
      let stderr = "";
      child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-4000)));
      const deadline = Date.now() + START_MAX_MS;
      while ((await findBroker(config)) === undefined) {
        if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the broker did not start: ${stderr}`);
        await delay(10);
      }
      return child;
    },
    shim: (more = {}, cwd = process.cwd()) =>
      openStdioMcp(["/bin/sh", "-c", 'cd "$0" && exec "$@"', cwd, process.execPath, executable("mp-shim")], {
        env: { ...env, ...more },
        timeoutMs: CALL_TIMEOUT_MS,
      }),
    client: () => connectClient({ config, agent: "test", start: "auto" }),
    async run(bin, args, { env: more = {}, input, isOpen = false, cwd } = {}) {
      const child = spawnBin(bin, args, more, cwd);
      const output = { stdout: "", stderr: "" };
      child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
      child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
      // Ignores errors of stdin, because the process may end before it reads its input.
      child.stdin?.on("error", () => {}).write(input ?? "");
      if (!isOpen) child.stdin?.end();
      const [code] = (await once(child, "close")) as [number | null];
      return { code, ...output };
    },
    log: () => {
      const folder = join(home, ".local/state/palace");
      return existsSync(folder)
        ? readdirSync(folder)
            .filter((name) => name.endsWith(".log"))
            .map((name) => readFileSync(join(folder, name), "utf8"))
            .join("")
        : "";
    },
    async [Symbol.asyncDispose]() {
      // Asks a broker that was started on demand to end, because it is not our child.
      const broker = await findBroker(config).catch(() => undefined);
      if (broker !== undefined) {
        const client = await connectClient({ config, agent: "test end", start: "never" }).catch(() => undefined);
        await client?.call("broker.stop", {}, { timeoutMs: 5_000 }).catch(() => {});
        client?.close();
        const deadline = Date.now() + 15_000;
        while ((await findBroker(config).catch(() => undefined)) !== undefined && Date.now() < deadline)
          await delay(20);
      }
      for (const child of children) {
        if (child.exitCode === null && child.signalCode === null) {
          // Waits for a normal exit, because Node writes the coverage then.
          if (env["NODE_V8_COVERAGE"] !== undefined) await Promise.race([once(child, "exit"), delay(5_000)]);
          child.kill("SIGKILL");
          await exitOf(child);
        }
      }
      if (options.home === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** Returns how the process ended. Also works if it ended before the call. */
export async function exitOf(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return [child.exitCode, child.signalCode];
}

/** Lists the pids of processes with `text` in their command line, with the HOME `text`, or with a MEMPALACE_PATH in the folder `text`. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text) ||
          [`HOME=${text}\0`, `MEMPALACE_PATH=${text}/`].some((variable) =>
            readFileSync(`/proc/${pid}/environ`, "utf8").includes(variable),
          )
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}
