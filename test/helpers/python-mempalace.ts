/** Runs the real MemPalace from the package index, with the tiny model. Each machine has one virtual environment per version. */
import { execFile, type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { freePort } from "./free-port.ts";
import { type Asked, askPython } from "./python-resident.ts";
import { SocketTransport } from "./socket-mcp.ts";
import { writeTinyModel } from "./tiny-model.ts";

export const MEMPALACE_VERSIONS = ["3.3.6", "3.11.0"] as const;
export type MempalaceVersion = (typeof MEMPALACE_VERSIONS)[number];

const INSTALL_TIMEOUT_MS = 600_000;
const CALL_TIMEOUT_MS = 120_000;
const COMMAND_MAX_MS = 600_000;
const SERVER_MAX_S = 3_600;
const READY_TIMEOUT_MS = 60_000;
const run = promisify(execFile);

/** Folder for everything that each machine makes once: virtual environments, palaces. */
export const CI_CACHE =
  process.env["DEVBOX_CI_HOME"] ??
  join(process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? homedir(), ".cache"), "devbox-ci");

/** Returns the path of a version's executable: `mempalace-mcp`, `mempalace`, `chroma`, `python`. */
export function mempalaceBin(version: MempalaceVersion, name: string): string {
  return join(CI_CACHE, `mempalace-${version}`, "bin", name);
}

/** Returns name and version of the Chroma that a MemPalace version depends on. */
export function chromaOf(version: MempalaceVersion): string | undefined {
  const lib = join(CI_CACHE, `mempalace-${version}`, "lib");
  return readdirSync(lib)
    .flatMap((python) => readdirSync(join(lib, python, "site-packages")))
    .find((name) => /^chromadb-.*\.dist-info$/.test(name));
}

/**
 * Installs one version. Links the 84 packages of an installed version first, because pip takes half a minute to write them. pip installs
 * MemPalace's command last, so the command exists only after a complete installation.
 */
const INSTALL = `
  [ ! -x "$1/bin/mempalace-mcp" ] || exit 0
  rm -rf "$1"
  python3 -m venv "$1"
  for other in "$(dirname "$1")"/mempalace-*; do
    [ "$other" != "$1" ] && [ -x "$other/bin/mempalace-mcp" ] || continue
    (cd "$other" && cp -rlf lib "$1/")
    for script in "$other"/bin/*; do
      new=$1/bin/\${script##*/}
      case $new in */bin/mempalace*) continue ;; esac
      [ -e "$new" ] || { sed "1s|^#!$other/|#!$1/|" "$script" > "$new" && chmod +x "$new"; }
    done
    break
  done
  "$1/bin/pip" install --quiet --disable-pip-version-check --no-compile "mempalace==$2"`;

/** Installs the version if needed. Returns why it cannot be used here, or undefined if it can. With CI=true it throws instead. */
export async function mempalaceMissing(version: MempalaceVersion): Promise<string | undefined> {
  const folder = join(CI_CACHE, `mempalace-${version}`);
  try {
    mkdirSync(CI_CACHE, { recursive: true });
    // Allows one installation at a time, so that a second test finds the version installed.
    const args = [join(CI_CACHE, "mempalace.lock"), "sh", "-euc", INSTALL, "sh", folder, version];
    await run("flock", args, { timeout: INSTALL_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    const words = (stderr.trim() === "" ? message : stderr).trim().split("\n").at(-1);
    const reason = `mempalace ${version} cannot be installed with python3 -m venv and pip: ${words}`;
    if (process.env["CI"] === "true") throw new Error(reason, { cause: error });
    return reason;
  }
}

/** Returns an environment with HOME, the tiny model and `more`, but none of the test's own variables. */
export function mempalaceEnv(home: string, more: Record<string, string> = {}): Record<string, string> {
  const model = join(home, ".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx");
  if (!existsSync(model)) {
    const tiny = writeTinyModel(join(home, "tiny-model"));
    mkdirSync(model, { recursive: true });
    for (const name of [
      "config.json",
      "special_tokens_map.json",
      "tokenizer_config.json",
      "tokenizer.json",
      "vocab.txt",
    ])
      symlinkSync(join(tiny, name), join(model, name));
    symlinkSync(join(tiny, "onnx/model.onnx"), join(model, "model.onnx"));
  }
  return { HOME: home, PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8", ...more };
}

export type Mempalace = AsyncDisposable & {
  pid: number;
  /** Calls a tool and returns its text, parsed if it is JSON. Throws the server's error with `code` and `data`. */
  call(tool: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>;
};

export type MempalaceOptions = {
  home: string;
  palace?: string;
  env?: Record<string, string>;
  /** Words before the command, for example to start it in another namespace. */
  wrapper?: readonly string[];
  /** Limits an answer or a whole command: two Chromas on one palace could otherwise wait for each other for ever. */
  timeoutMs?: number;
};

/** Starts MemPalace's MCP server over stdio, with the official client. */
export async function openMempalace(version: MempalaceVersion, options: MempalaceOptions): Promise<Mempalace> {
  const { home, palace, env, wrapper = [], timeoutMs = CALL_TIMEOUT_MS } = options;
  const argv = [mempalaceBin(version, "mempalace-mcp"), ...(palace === undefined ? [] : ["--palace", palace])];
  const { transport, pid } =
    wrapper.length > 0
      ? spawnedServer([...wrapper, ...argv], mempalaceEnv(home, env))
      : forkedServer(version, argv, mempalaceEnv(home, env));
  const client = new Client({ name: "stray", version: "1" });
  await client.connect(transport, { timeout: CALL_TIMEOUT_MS });
  return {
    pid: await pid(),
    async call(tool, values = {}) {
      const result = await client.callTool({ name: `mempalace_${tool}`, arguments: values }, { timeout: timeoutMs });
      const [content] = result.content as { text?: string }[];
      return JSON.parse(content?.text ?? "{}") as Record<string, unknown>;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Launched = { transport: Transport; pid(): Promise<number> };

function spawnedServer([command = "", ...args]: readonly string[], env: Record<string, string>): Launched {
  const transport = new StdioClientTransport({ command, args, env, stderr: "ignore" });
  return { transport, pid: () => Promise.resolve(transport.pid ?? 0) };
}

function forkedServer(version: MempalaceVersion, argv: readonly string[], env: Record<string, string>): Launched {
  let asked: Asked | undefined;
  const module = version === "3.3.6" ? "mempalace.mcp_server" : "mempalace.mcp_proxy";
  const transport = new SocketTransport((socket) => {
    asked = askPython(mempalaceBin(version, "python"), { ...{ env, argv, module, socket }, seconds: SERVER_MAX_S });
    return asked;
  });
  return { transport, pid: async () => (await asked?.pid) ?? 0 };
}

/** Runs a command of MemPalace to its end. With a wrapper it starts a new process, otherwise it forks one from a resident Python. */
export async function runMempalace(
  version: MempalaceVersion,
  args: readonly string[],
  options: Pick<MempalaceOptions, "home" | "env" | "wrapper" | "timeoutMs">,
): Promise<{ code: number | null; output: string }> {
  const { home, env, wrapper = [], timeoutMs = COMMAND_MAX_MS } = options;
  if (wrapper.length > 0) return runWrapped(wrapper, [mempalaceBin(version, "mempalace"), ...args], options);
  const { status, stdout, stderr } = await askPython(mempalaceBin(version, "python"), {
    ...{ env: mempalaceEnv(home, env), argv: [mempalaceBin(version, "mempalace"), ...args] },
    ...{ module: "mempalace.cli", seconds: Math.ceil(timeoutMs / 1000) },
  }).ended;
  return { code: status < 0 ? null : status, output: stdout + stderr };
}

async function runWrapped(
  wrapper: readonly string[],
  argv: readonly string[],
  { home, env, timeoutMs }: Pick<MempalaceOptions, "home" | "env" | "timeoutMs">,
): Promise<{ code: number | null; output: string }> {
  const [command = "", ...rest] = [...wrapper, ...argv];
  const child = spawn(command, rest, {
    env: mempalaceEnv(home, env),
    stdio: ["ignore", "pipe", "pipe"],
    ...(timeoutMs !== undefined && { timeout: timeoutMs, killSignal: "SIGKILL" as const }),
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** Runs the code in a version's Python and returns its stdout. If Python fails or is killed, throws Python's stderr. */
export async function python(
  version: MempalaceVersion,
  home: string,
  code: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const { status, stdout, stderr } = await askPython(mempalaceBin(version, "python"), {
    ...{ env: mempalaceEnv(home, env), argv: ["-c", ...args], code, seconds: COMMAND_MAX_MS / 1000 },
  }).ended;
  if (status !== 0) throw new Error(`python of mempalace ${version} ended with ${status}:\n${stderr}`);
  return stdout;
}

/** Starts a process that takes the palace's lock through upstream's own function, as a long mine does. Disposing of it ends the process. */
export async function holdMempalaceLock(
  version: MempalaceVersion,
  home: string,
  palace: string,
): Promise<AsyncDisposable & { pid: number }> {
  const code = `
import sys
from mempalace.palace import mine_palace_lock
with mine_palace_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()`;
  const child = spawn(mempalaceBin(version, "python"), ["-c", code, palace], {
    env: mempalaceEnv(home),
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return {
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      child.stdin.end();
      await once(child, "exit");
    },
  };
}

export type PythonChroma = AsyncDisposable & {
  readonly url: string;
  /** Sends SIGKILL and starts the server again at the same address. */
  restart(): Promise<void>;
};

/** Starts the Chroma server that MemPalace depends on, over a palace folder. */
export async function startPythonChroma(
  version: MempalaceVersion,
  home: string,
  palace: string,
): Promise<PythonChroma> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  mkdirSync(palace, { recursive: true });
  const args = ["run", "--path", palace, "--host", "127.0.0.1", "--port", String(port)];
  const kill = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(mempalaceBin(version, "chroma"), args, { env: mempalaceEnv(home), stdio: "ignore" });
    try {
      await ready(url);
    } catch (error) {
      await kill(child);
      throw error;
    }
    return child;
  };
  let server = await start();
  return {
    url,
    async restart() {
      await kill(server);
      server = await start();
    },
    [Symbol.asyncDispose]: () => kill(server),
  };
}

async function ready(url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(`${url}/api/v2/heartbeat`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    if (response?.ok === true) return;
    if (Date.now() > deadline) throw new Error(`no Chroma answers at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
