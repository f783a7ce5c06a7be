/** Brings up a palace from a bare clone (compose if Docker answers, else the native broker) and proves that it works. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { $ } from "zx";
import { PalaceError } from "../src/base/errors.ts";
import { run as build } from "./build.ts";
import { engineMissing } from "./engine.ts";
import { ROOT, type RunOptions, runAsMain } from "./main.ts";
import { type Joined, joinStack } from "../src/cli/docker/one-memory.ts";
import { type Proof, provePalace } from "../src/wire/proof/proof.ts";
import { askSearch, describeSearch, type SearchHere } from "../src/cli/proof/search-here.ts";
import { readSettings } from "../src/wire/bridge/settings.ts";
import { type Config, loadConfig } from "../src/config/config.ts";
import { composeCommand } from "../src/devbox/compose.ts";
import { brokerContainer, upStack } from "../src/devbox/up.ts";

type Stack = Readonly<{
  kind: "docker" | "native";
  writer: string[];
  reader: string[];
  /** Command that prints `palace status --json` of this palace. */
  status: string[];
  services?: readonly string[];
  host?: Joined;
}>;

const USAGE = `usage: ./scripts/up [--native | --docker] [--json]
  Builds, starts the shared memory, and proves that it works: writes, finds and erases one memory.
  --native  run the broker as your own process, even if a Docker engine answers
  --docker  the compose stack, or an error
  --json    one JSON document on stdout`;

const AGENT_ENTRY = [join(ROOT, "scripts", "palace"), "shim"];
const TICK_MS = 10_000;
const FAILURE_LINES = 60;

export async function run(options: RunOptions): Promise<number> {
  const { env, log, print } = options;
  const flags = readFlags(options.argv);
  if (flags.help) {
    print(USAGE);
    return 0;
  }
  const missing = flags.native ? "--native" : engineMissing(env);
  if (flags.docker && missing !== undefined)
    throw new PalaceError("CONFIG_USAGE", missing, "start Docker, or: ./scripts/up --native");

  const rebuilt = isStale();
  if (rebuilt) {
    log("building ...");
    const code = await build(options);
    if (code !== 0) return code;
  }
  options.signal.throwIfAborted();
  const stack = missing === undefined ? await startStack(options) : await startNative(options, missing, rebuilt);
  const proof = await provePalace({ ...options, writer: stack.writer, readers: [stack.reader] });
  const search = await askSearch(stack.status, env);
  const { kind, host } = stack;
  if (flags.json) print(JSON.stringify({ kind, ...proof, ...(search && { search }), ...(host && { host }) }));
  else for (const line of summary(stack, proof, search)) print(line);
  return 0;
}

function readFlags(argv: readonly string[]) {
  const boolean = { type: "boolean", default: false } as const;
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { native: boolean, docker: boolean, json: boolean, help: boolean },
    });
    if (values.native && values.docker) throw new Error("--native and --docker exclude each other");
    return values;
  } catch (error) {
    throw new PalaceError("CONFIG_USAGE", (error as Error).message, "./scripts/up --help");
  }
}

function isStale(): boolean {
  try {
    const builtAtMs = statSync(join(ROOT, "dist", "bin")).mtimeMs;
    const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).map((name) => `src/${name}`);
    return [...sources, "package-lock.json", "tsconfig.json", "tsconfig.build.json"].some(
      (name) => statSync(join(ROOT, name)).mtimeMs > builtAtMs,
    );
  } catch {
    return true;
  }
}

async function startStack(options: RunOptions): Promise<Stack> {
  const { env, log, signal, cwd } = options;
  const config = loadConfig(env);
  const opened = await upStack({ root: ROOT, env, log, signal, cwd, ...config.paths });
  const host = await joinStack(config, await brokerContainer(opened), env, opened.before);
  if (host?.state === "apart") log(`note: ${host.why}; ${host.hint}`);
  const inside = [...composeCommand({ root: ROOT, env }), "exec", "-T", "devbox"];
  const shim = [...inside, "mp-shim"];
  const reader = host?.state === "joined" ? AGENT_ENTRY : shim;
  const status = [...inside, "palace", "status", "--json"];
  return { kind: "docker", writer: shim, reader, status, services: opened.stack.services, ...(host && { host }) };
}

async function startNative(options: RunOptions, why: string, rebuilt: boolean): Promise<Stack> {
  options.log(`starting the broker on this machine (${why}) ...`);
  // Stops a broker that runs an earlier build. Without a broker this does no harm.
  if (rebuilt) await execute([...built("palace.js"), "stop"], options);
  const failure = await execute([...built("mempalace-broker.js"), "--ensure"], options);
  if (failure !== undefined) {
    options.log(failure);
    throw nativeFailed(loadConfig(options.env));
  }
  // The proof uses AGENT_ENTRY as agents do: its first run writes a file with which later runs start faster (`note_shim` in node.sh).
  const status = [...built("palace.js"), "status", "--json"];
  return { kind: "native", writer: AGENT_ENTRY, reader: AGENT_ENTRY, status };
}

/** Makes the error for a broker that did not start, on this machine or at the other end of this machine's bridge. */
export function nativeFailed(config: Config): PalaceError {
  const bridge = config.endpoint === undefined ? readSettings(config.paths) : undefined;
  if (bridge === undefined)
    return new PalaceError("BROKER_START_FAILED", "the broker did not start", "./scripts/palace logs");
  return new PalaceError(
    "BROKER_START_FAILED",
    `this machine has a bridge to ${bridge.target}, and the broker there did not start or cannot be reached`,
    "to run the broker on this machine: ./scripts/palace bridge remove, then ./scripts/up --native",
  );
}

function built(name: string): string[] {
  return [process.execPath, join(ROOT, "dist", "bin", name)];
}

/** Runs a command. Returns undefined, or the end of its output if it failed. Without a terminal, logs the elapsed seconds. */
async function execute(command: readonly string[], { env, log, signal }: RunOptions): Promise<string | undefined> {
  const live = process.stderr.isTTY;
  const startedAt = performance.now();
  const ticking = setInterval(() => log(`  ${Math.round((performance.now() - startedAt) / 1000)} s ...`), TICK_MS);
  if (live) clearInterval(ticking);
  try {
    const done = await $({
      env,
      signal,
      quiet: true,
      nothrow: true,
      ...(live && { stdio: ["ignore", "pipe", "inherit"] }),
    })`${command}`;
    signal.throwIfAborted();
    return done.exitCode === 0 ? undefined : done.stdall.split("\n").slice(-FAILURE_LINES).join("\n");
  } finally {
    clearInterval(ticking);
  }
}

function summary({ kind, services = [], host }: Stack, { ms }: Proof, search: SearchHere | undefined): string[] {
  const entry = AGENT_ENTRY.join(" ");
  const proved = [
    `One memory was written through one shim, found through another, and erased (${ms} ms).`,
    ...(search === undefined ? [] : [describeSearch(search).replace("`palace", "`./scripts/palace")]),
  ];
  if (kind === "docker")
    return [
      `The palace is up in Docker: ${services.join(", ")}.`,
      ...proved,
      "Next:",
      "  ./scripts/palace devbox shell                a shell with pi, opencode, claude and the palace commands",
      "  ./scripts/palace devbox status               the state of the stack and the size of its memory",
      "  every agent's MCP entry in the devbox:       mempalace-mcp (pi, opencode and claude have it)",
      ...(host?.state === "apart"
        ? []
        : ["  ./scripts/palace install all                 wire the agents of this machine to it"]),
      ...(host?.state === "joined" ? [`  and on this machine, the same memory:        ${entry}`] : []),
      "  ./scripts/palace devbox up --workspace DIR   your project in it",
      "Stop: ./scripts/palace devbox down.   Erase, memories included: ./scripts/palace devbox down --volumes",
    ];
  return [
    "The palace is up on this machine.",
    ...proved,
    "Next:",
    "  ./scripts/palace status                what is in it",
    "  ./scripts/palace mine docs DIR         file a project's documents",
    "  ./scripts/palace search WORDS          find them again",
    "  ./scripts/palace install all           wire Claude Code, opencode and pi",
    `  every agent's MCP entry:               ${entry}`,
    "Stop: ./scripts/palace stop",
  ];
}

if (import.meta.main) await runAsMain(run);
