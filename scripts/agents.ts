/** Installs the agents of scripts/agents.json. Imports only Node's modules, because the image is built with these two files alone. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { RunOptions } from "./main.ts";

export const AGENTS = ["pi", "opencode", "claude"] as const;
export type Agent = (typeof AGENTS)[number];

/** `program`: path of the executable in the packages' folder. `packages`: digest of each archive, by `NAME@VERSION`. */
type Build = Readonly<{ program: string; packages: Readonly<Record<string, string>> }>;
type Pinned = Readonly<{ version: string; any?: Build; x64?: Build; arm64?: Build }>;

export type InstallOptions = Readonly<{
  folder: string;
  env: RunOptions["env"];
  log: (line: string) => void;
  signal?: AbortSignal;
  agents?: readonly Agent[];
}>;

const USAGE = `usage: node scripts/agents.ts [--without NAME ...] [--json] [FOLDER]
  Installs pi, opencode and Claude Code, at the versions of scripts/agents.json, as FOLDER/bin/pi, opencode and claude.
  FOLDER          default: a folder of the cache, named by a digest of the pins
  --without NAME  leave one out`;

const PINS = readFileSync(new URL("agents.json", import.meta.url), "utf8");
const PINNED = JSON.parse(PINS) as Readonly<Record<Agent, Pinned>>;
/** Number of retries if a folder cannot be removed. Each retry waits 100 ms longer than the one before: 5.5 s in all. */
const RETRIES_MAX = 10;
/** File in an installed folder. It has the pins from which the folder was made. */
const MADE_FROM = "made-from";

/** Returns the folder of the agents that this machine's tests run. Different pins give different folders. */
export function agentsFolder(env: RunOptions["env"]): string {
  const cache = env["XDG_CACHE_HOME"] ?? join(env["HOME"] ?? homedir(), ".cache");
  return join(
    env["DEVBOX_CI_HOME"] ?? join(cache, "devbox-ci"),
    `agents-${digest("sha256", PINS, "hex").slice(0, 12)}`,
  );
}

/** Installs all agents into `folder`, or leaves it unchanged after an error. Returns false if `folder` already had these agents. */
export async function installAgents(options: InstallOptions): Promise<boolean> {
  const { agents = AGENTS, log } = options;
  const folder = resolve(options.folder);
  const wanted = JSON.stringify({ arch: process.arch, pins: agents.map((name) => [name, buildOf(name)]) });
  if (isMadeFrom(folder, wanted)) return false;
  mkdirSync(dirname(folder), { recursive: true });
  removeLeftovers(folder);
  const draft = `${folder}.new-${process.pid}`;
  const startedAt = performance.now();
  try {
    mkdirSync(join(draft, "bin"), { recursive: true });
    for (const name of agents) {
      log(`installing ${name} ${PINNED[name].version} ...`);
      await installOne(name, draft, options);
    }
    writeFileSync(join(draft, MADE_FROM), wanted);
    replace(folder, draft, wanted);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  log(`${agents.join(", ")} in ${folder} (${Math.round((performance.now() - startedAt) / 1000)} s)`);
  return true;
}

function buildOf(name: Agent): Build {
  const { any, x64, arm64 } = PINNED[name];
  const build = any ?? { x64, arm64 }[process.arch as string];
  if (build === undefined)
    throw new Error(`no ${name} is pinned for ${process.arch}: leave it out (--without ${name})`);
  return build;
}

async function installOne(name: Agent, draft: string, { env, signal }: InstallOptions): Promise<void> {
  const { program, packages } = buildOf(name);
  const archives = join(draft, "archives");
  mkdirSync(archives);
  // In the folder `archives` and without --prefix, npm reads no project's settings. `npm pack` runs none of an archive's scripts.
  const pack = ["pack", "--json", "--ignore-scripts", "--prefer-offline", "--loglevel=error"];
  const said = await execute("npm", [...pack, ...Object.keys(packages)], archives, env, signal);
  const modules = join(draft, name, "node_modules");
  for (const { id, name: module, filename } of JSON.parse(said) as { id: string; name: string; filename: string }[]) {
    const archive = join(archives, filename);
    const found = `sha512-${digest("sha512", readFileSync(archive), "base64")}`;
    if (found !== packages[id]) throw new Error(`${id} is not the archive that is pinned: ${found}`);
    const target = join(modules, module);
    mkdirSync(target, { recursive: true });
    const unpack = ["-xzf", archive, "--strip-components=1", "--no-same-owner", "-C", target];
    await execute("tar", unpack, draft, env, signal);
  }
  rmSync(archives, { recursive: true });
  symlinkSync(relative(join(draft, "bin"), join(modules, program)), join(draft, "bin", name));
}

function isMadeFrom(folder: string, wanted: string): boolean {
  const file = join(folder, MADE_FROM);
  return existsSync(file) && readFileSync(file, "utf8") === wanted;
}

/** Moves `draft` to `folder`, in place of the old folder. For a moment `folder` does not exist, but it is never incomplete. */
function replace(folder: string, draft: string, wanted: string): void {
  const old = `${draft}.old`;
  try {
    if (existsSync(folder)) renameSync(folder, old);
    renameSync(draft, folder);
  } catch (error) {
    // Another process may have installed the same pins meanwhile.
    if (!isMadeFrom(folder, wanted)) throw error;
  } finally {
    rmSync(old, { recursive: true, force: true });
  }
}

function removeLeftovers(folder: string): void {
  for (const name of readdirSync(dirname(folder))) {
    const [, pid] = new RegExp(`^\\.new-(\\d+)(\\.old)?$`).exec(name.slice(basename(folder).length)) ?? [];
    if (!name.startsWith(basename(folder)) || pid === undefined || isAlive(Number(pid))) continue;
    // The tar of a killed install may still be writing to the folder, so the removal is retried.
    rmSync(join(dirname(folder), name), { recursive: true, force: true, maxRetries: RETRIES_MAX });
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function digest(algorithm: string, data: string | Buffer, encoding: "hex" | "base64"): string {
  return createHash(algorithm).update(data).digest(encoding);
}

async function execute(
  command: string,
  args: readonly string[],
  cwd: string,
  env: RunOptions["env"],
  signal: AbortSignal | undefined,
): Promise<string> {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], ...(signal && { signal }) });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const code = await new Promise<number | null>((done, failed) => child.once("error", failed).once("close", done));
  if (code !== 0)
    throw new Error(`${command} ${args[0]} failed: ${output.stderr.trim().split("\n").slice(-6).join("\n")}`);
  return output.stdout;
}

export async function run({ argv, env, log, print, signal }: RunOptions): Promise<number> {
  // Imported here, because the image's build has no `src` folder and does not call `run`.
  const { PalaceError } = await import("../src/base/errors.ts");
  try {
    const options = {
      without: { type: "string", multiple: true },
      json: { type: "boolean" },
      help: { type: "boolean" },
    } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const unknown = values.without?.find((name) => !AGENTS.some((agent) => agent === name));
    if (unknown !== undefined) throw new Error(`there is no agent ${unknown}`);
    if (values.help === true) {
      print(USAGE);
      return 0;
    }
    const agents = AGENTS.filter((name) => values.without?.includes(name) !== true);
    const folder = resolve(positionals[0] ?? agentsFolder(env));
    const installed = await installAgents({ folder, env, log, signal, agents });
    print(values.json === true ? JSON.stringify({ folder, agents, installed }) : join(folder, "bin"));
    return 0;
  } catch (error) {
    signal.throwIfAborted();
    throw new PalaceError("CONFIG_USAGE", (error as Error).message, "node scripts/agents.ts --help", { cause: error });
  }
}

if (import.meta.main) await (await import("./main.ts")).runAsMain(run);
