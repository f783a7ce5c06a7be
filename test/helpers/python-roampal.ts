/** Runs the real Roampal from the package index, without its models, in MemPalace's Python, which has Chroma. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { CI_CACHE, mempalaceBin, mempalaceMissing } from "./python-mempalace.ts";

/** Version that the specification describes, and the newest version. */
export const ROAMPAL_VERSIONS = ["0.3.6.1", "0.6.0"] as const;
export type RoampalVersion = (typeof ROAMPAL_VERSIONS)[number];

/** Packages that Roampal's HTTP and MCP servers need and MemPalace's Python lacks. */
const SERVERS = [
  ...["fastapi==0.165.0", "starlette==1.10.0", "mcp==1.30.0"],
  ...["httpx-sse==0.4.3", "python-multipart==0.0.34", "sse-starlette==3.7.0"],
];
const INSTALL_TIMEOUT_MS = 300_000;
const PYTHON = "3.11.0";
const run = promisify(execFile);

const folderOf = (version: RoampalVersion): string => join(CI_CACHE, `roampal-${version}`);
/** Folder of the servers' packages, for both versions. Older checkouts share the cache but do not install these packages. */
const SERVERS_FOLDER = join(CI_CACHE, "roampal-servers-1");

/** Installs the version if needed. Returns why it cannot be used here, or undefined if it can. With CI=true it throws instead. */
export async function roampalMissing(version: RoampalVersion): Promise<string | undefined> {
  const missing = await mempalaceMissing(PYTHON);
  if (missing !== undefined) return missing;
  try {
    mkdirSync(CI_CACHE, { recursive: true });
    await install(folderOf(version), [`roampal==${version}`]);
    await install(SERVERS_FOLDER, SERVERS);
    return undefined;
  } catch (error) {
    const reason = `roampal ${version} cannot be installed with pip: ${(error as Error).message.split("\n")[0]}`;
    if (process.env["CI"] === "true") throw new Error(reason, { cause: error });
    return reason;
  }
}

async function install(folder: string, packages: readonly string[]): Promise<void> {
  const script = `
    dir=$1 pip=$2; shift 2
    [ -e "$dir/done" ] && exit 0
    rm -rf "$dir"
    "$pip" install --quiet --disable-pip-version-check --no-compile --no-deps --target "$dir" "$@" && touch "$dir/done"`;
  const args = ["sh", folder, mempalaceBin(PYTHON, "pip"), ...packages];
  await run("flock", [`${folder}.lock`, "sh", "-c", script, ...args], { timeout: INSTALL_TIMEOUT_MS });
}

export const roampalPlugin = (version: RoampalVersion): string =>
  join(folderOf(version), "roampal/plugins/opencode/roampal.ts");

export type ClientRun = { home: string; port: number; stdin?: string; env?: Record<string, string> };

/** Returns how to start one of Roampal's clients, `python -m MODULE`, for the server at a port. */
export function roampalClient(
  version: RoampalVersion,
  module: string,
  { home, port, env = {} }: Omit<ClientRun, "stdin">,
): { command: string; args: string[]; env: Record<string, string> } {
  const client = join(import.meta.dirname, "../differential/outcome/client");
  return {
    command: mempalaceBin(PYTHON, "python"),
    args: ["-m", module],
    env: {
      PATH: `${client}:${process.env["PATH"] ?? ""}`,
      HOME: home,
      PYTHONPATH: `${client}:${folderOf(version)}:${SERVERS_FOLDER}`,
      PYTHONDONTWRITEBYTECODE: "1",
      ROAMPAL_TEST_PORT: `${port}`,
      // An unreachable proxy. Without it, Roampal would ask the package index for a newer version.
      HTTPS_PROXY: "http://127.0.0.1:9",
      ...env,
    },
  };
}

export type ClientEnd = { code: number | null; stdout: string; stderr: string };

export async function runRoampal(version: RoampalVersion, module: string, run: ClientRun): Promise<ClientEnd> {
  const { command, args, env } = roampalClient(version, module, run);
  const child = spawn(command, args, { env, cwd: run.home, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  child.stdin.end(run.stdin ?? "");
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** Runs one of our scripts that imports Roampal: JSON in, JSON out. Throws the script's stderr if it fails. */
export async function askRoampal(version: RoampalVersion, script: string, asked: unknown): Promise<unknown> {
  // With a fixed hash seed, sets have the same order in every run.
  const python = {
    PYTHONPATH: `${folderOf(version)}:${SERVERS_FOLDER}`,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONHASHSEED: "1",
  };
  const env = { PATH: process.env["PATH"] ?? "", ...python };
  const child = spawn(mempalaceBin(PYTHON, "python"), [script], { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(JSON.stringify(asked));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`roampal ${version}: ${stderr}`);
  return JSON.parse(stdout);
}
