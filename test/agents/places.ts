/** Places in which the real agents run: this machine and a devbox. Each place has its own palace and stub model. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { vi } from "vitest";
import type { Agent } from "../../scripts/agents.ts";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { findBroker, readBrokerFile } from "../../src/wire/client/discover.ts";
import { execIn } from "../helpers/docker-box.ts";
import { openStack } from "../helpers/docker-stack.ts";
import { createTestPalace, processesWith } from "../helpers/palace.ts";
import { openAgentsHome } from "./on-host.ts";
import { PI_MODELS, piModels, type Run } from "./real-agents.ts";
import { type Seen, startStubModel } from "./stub-model.ts";

/** Running broker. `born` differs after each start. */
export type Broker = { born: string; signal: (signal: "SIGSTOP" | "SIGCONT" | "SIGKILL") => Promise<void> };

export type Place = AsyncDisposable & {
  url: string;
  /** Resolves to the output that the agent's user sees. Throws if the agent fails. */
  run: (agent: Agent, run: Run) => Promise<string>;
  seen: () => Promise<Seen>;
  /** Returns the texts of each request to the model that contains the word. */
  requests: (word: string) => Promise<string[][]>;
  /** Releases the calls that the model holds back. */
  go: () => Promise<void>;
  shim: () => Promise<StdioMcp>;
  /** Waits for a broker that answers and is not `former`. */
  broker: (former?: Broker) => Promise<Broker>;
  /** Runs a `palace` command as a user of this machine. */
  palace: (...args: string[]) => Promise<{ stdout: string }>;
  /** Only in a devbox. `recreate` makes the container again, as `docker compose up --force-recreate` does. `sh` runs a script in it. */
  box?: { recreate: () => Promise<void>; sh: (script: string) => Promise<{ stdout: string }> };
};

/** `start` starts an agent that runs at most until the place is disposed of. With `isOpen` its stdin stays open. */
export type Host = Place & {
  start: (agent: Agent, run: Omit<Run, "input"> & { input?: string; isOpen?: boolean }) => ChildProcess;
};

const RUN_MAX_MS = 300_000;
const BROKER_MAX_MS = 300_000;
const FILING_MAX_MS = 60_000;
const BOX_PORT = 18_080;

export async function onHost(): Promise<Host> {
  const model = await startStubModel();
  const url = `http://127.0.0.1:${model.port}`;
  const home = await openAgentsHome(url);
  const { palace } = home;
  const started: ChildProcess[] = [];
  const ask = async (what: string): Promise<string> => (await fetch(`${url}${what}`)).text();
  return {
    url,
    run: async (agent, run) => String((await home.start(agent, run)).stdout),
    start: (agent, { args, env, input, isOpen = false }) => {
      const stdio = [input === undefined && !isOpen ? "ignore" : "pipe", "pipe", "ignore"] as const;
      const child = spawn(join(home.programs, agent), args, { ...home.within(env), stdio: [...stdio] });
      if (!isOpen) child.stdin?.end(input);
      started.push(child);
      return child;
    },
    seen: async () => JSON.parse(await ask("/seen")) as Seen,
    requests: async (word) => JSON.parse(await ask(`/requests?with=${encodeURIComponent(word)}`)) as string[][],
    go: async () => void (await ask("/go")),
    shim: () => palace.shim(),
    palace: (...args) => palace.run("palace", args),
    // Starts no broker, because here only an agent's shim may start one.
    broker: (former) =>
      vi.waitUntil(async () => {
        const born = (await findBroker(palace.config))?.health.instanceId;
        const file = readBrokerFile(palace.config.paths.brokerFile);
        if (file === undefined || file.instanceId !== born || born === former?.born) return undefined;
        return { born, signal: (signal) => Promise.resolve(void process.kill(file.pid, signal)) } satisfies Broker;
      }, BROKER_MAX_MS),
    [Symbol.asyncDispose]: async () => {
      for (const child of started) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill();
        await once(child, "exit");
      }
      // A process that files a session outlives its agent, and would restart a broker in the removed folder.
      const others = (): number[] =>
        processesWith(palace.home).filter((pid) => pid !== readBrokerFile(palace.config.paths.brokerFile)?.pid);
      await vi.waitUntil(() => others().length === 0, FILING_MAX_MS);
      await home[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

/** Opens a devbox and then disconnects its network, so that it has only a loopback. */
export async function inDevbox(): Promise<Place> {
  const workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
  chmodSync(workspace, 0o755);
  copyFileSync(join(import.meta.dirname, "stub-model.ts"), join(workspace, "stub-model.ts"));
  const stack = await openStack(workspace);
  const container = `${stack.project}-devbox-1`;
  const url = `http://127.0.0.1:${BOX_PORT}`;
  const sh = async (script: string, input = ""): Promise<{ stdout: string }> => ({
    stdout: await execIn(container, ["sh", "-c", script], { input }),
  });
  const ask = async (what: string): Promise<string> => (await sh(`curl --silent --fail '${url}${what}'`)).stdout;
  const host = hostOf(`${stack.project}-broker-1`);
  const close = async (): Promise<void> => {
    await host[Symbol.asyncDispose]();
    await stack[Symbol.asyncDispose]();
    rmSync(workspace, { recursive: true, force: true });
  };
  const start = async (...options: string[]): Promise<void> => {
    await stack.compose("up", "--detach", "--wait", ...options, "devbox");
    await execa("docker", ["network", "disconnect", `${stack.project}_default`, container]);
    await sh(`node /workspace/stub-model.ts ${BOX_PORT} > /tmp/stub-model.log 2>&1 &`);
    await sh(`curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused ${url}/seen`);
  };
  try {
    await start("--build");
    await sh(`cat > ~/${PI_MODELS}`, piModels(url));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url,
    run: (agent, { args, env, input }) => execIn(container, [agent, ...args], { input, env, timeout: RUN_MAX_MS }),
    seen: async () => JSON.parse(await ask("/seen")) as Seen,
    requests: async (word) => JSON.parse(await ask(`/requests?with=${encodeURIComponent(word)}`)) as string[][],
    go: async () => void (await ask("/go")),
    shim: () => stack.shim(1),
    // Sends the signal to all processes of the container except its init process. After a SIGKILL the init ends, and Docker restarts the
    // container.
    broker: (former) =>
      vi.waitUntil(
        async () => {
          const { Health, StartedAt: born } = (await stack.inspect("broker")).State;
          if (Health?.Status !== "healthy" || born === former?.born) return undefined;
          const script = (signal: string): string => `process.kill(-1, "${signal}")`;
          return {
            born,
            signal: async (signal) => void (await stack.exec("broker", 1, "node", "-e", script(signal))),
          } satisfies Broker;
        },
        { timeout: BROKER_MAX_MS, interval: 500 },
      ),
    palace: host.palace,
    box: { sh, recreate: () => start("--force-recreate", "--no-deps") },
    [Symbol.asyncDispose]: close,
  };
}

/** Makes a home on this machine. Its `palace` commands use the broker in the container, over a bridge as `./scripts/up` sets it up. */
function hostOf(container: string): AsyncDisposable & Pick<Place, "palace"> {
  const home = mkdtempSync(join(tmpdir(), "palace-"));
  const { PATH, DOCKER_HOST } = process.env;
  const command = createTestPalace({ home, env: { PATH, ...(DOCKER_HOST !== undefined && { DOCKER_HOST }) } });
  let joined: Promise<unknown> | undefined;
  const palace: Place["palace"] = async (...args) => {
    const done = await command.run("palace", args);
    if (done.code !== 0) throw new Error(`palace ${args.join(" ")}: ${done.stderr}`);
    return done;
  };
  return {
    palace: async (...args) => {
      await (joined ??= palace("bridge", "setup", `docker:${container}`));
      return palace(...args);
    },
    [Symbol.asyncDispose]: async () => {
      await command[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
