/** Runs `docker compose`, and reads the stack's settings from its output: only compose combines `.env`, environment and defaults. */
import { execFile, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { parseEnv, promisify } from "node:util";
import { isRecord, parseAs } from "../base/parse-json.ts";
import type { Env } from "../config/env.ts";
import { badValue, type PalaceError, wrongUsage } from "../base/errors.ts";
import { orElse } from "../base/or-else.ts";

export type Place = Readonly<{
  /** Folder of docker-compose.yml, `.env` and `.env.devbox`. */
  root: string;
  env: Env;
}>;

/** Progress and cancellation: `log` prints a line for the user, and Ctrl-C aborts `signal`. */
export type Watch = Readonly<{ log: (line: string) => void; signal?: AbortSignal | undefined }>;

export const SERVICES = ["chroma", "broker", "devbox"] as const;
export type Service = (typeof SERVICES)[number];

/** Stack of containers as `docker compose config` describes it. `workspace` is a path on the host. */
export type Stack = Readonly<{
  project: string;
  /** Services that this stack's settings enable. */
  services: readonly Service[];
  volumes: Readonly<Record<"palace" | "data" | "run" | "broker", string>>;
  workspace: string;
  /** File that EXTRA_CA_CERTS or NODE_EXTRA_CA_CERTS names; our own empty file if neither is set. */
  certificates: string;
  images: Readonly<Record<Service, string>>;
}>;

/** Time limit for repeating a failed build to read its error. npm in a build needs 11 s until it fails. */
const ASK_AGAIN_MAX_MS = 60_000;
const TICK_MS = 10_000;
const FAILURE_LINES = 60;
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** File names that compose looks for, in its order. It uses the first base file and the first override file that exist. */
const BASE_FILES = ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];
const OVERRIDE_FILES = [
  "compose.override.yml",
  "compose.override.yaml",
  "docker-compose.override.yml",
  "docker-compose.override.yaml",
];

/**
 * Returns the start of a compose command, with the path of each file: compose itself looks in the current folder for COMPOSE_FILE's files.
 */
export function composeCommand(place: Place): string[] {
  return [
    ...["docker", "compose", "--project-directory", place.root],
    ...composeFiles(place).flatMap((file) => ["--file", resolve(place.root, file)]),
  ];
}

/** Returns the files that a plain `docker compose` in `root` reads: the files of COMPOSE_FILE, or the default file and its override. */
function composeFiles({ root, env }: Place): string[] {
  const dotEnv = readDotEnv(root);
  const chosen = [env["COMPOSE_FILE"], dotEnv["COMPOSE_FILE"]].find((value = "") => value !== "");
  const separator = env["COMPOSE_PATH_SEPARATOR"] ?? dotEnv["COMPOSE_PATH_SEPARATOR"] ?? delimiter;
  if (chosen !== undefined) return chosen.split(separator).filter(Boolean);
  const first = (names: readonly string[]): string[] =>
    names.filter((name) => existsSync(join(root, name))).slice(0, 1);
  const base = first(BASE_FILES);
  return [...(base.length === 0 ? ["docker-compose.yml"] : base), ...first(OVERRIDE_FILES)];
}

function readDotEnv(root: string): NodeJS.Dict<string> {
  return orElse(() => parseEnv(readFileSync(join(root, ".env"), "utf8")), {});
}

type Settings = {
  name: string;
  services: Record<string, { image?: string; volumes?: { target: string; source: string }[] }>;
  volumes: Record<string, { name: string }>;
  secrets?: Record<string, { file?: string }>;
};

function isSettings(value: unknown): value is Settings {
  return isRecord(value) && typeof value["name"] === "string" && [value["services"], value["volumes"]].every(isRecord);
}

/** Reads the stack of a folder. Errors: CONFIG_USAGE if compose is missing, CONFIG_BAD_VALUE for settings that compose refuses. */
export async function readStack({ root, env }: Place): Promise<Stack> {
  const text = await output({ root, env }, "config", "--format", "json");
  const said = parseAs(text, isSettings);
  if (said === undefined)
    throw wrongUsage("docker compose config gave no settings", "install docker compose, 2.24 or newer");
  const volume = (name: string): string => said.volumes[name]?.name ?? `${said.name}_${name}`;
  const image = (service: Service): string => said.services[service]?.image ?? `${said.name}-${service}`;
  const workspace = said.services["devbox"]?.volumes?.find(({ target }) => target === "/workspace")?.source ?? "";
  return {
    project: said.name,
    services: SERVICES.filter((name) => name in said.services),
    volumes: {
      palace: volume("devbox-palace"),
      data: volume("devbox-data"),
      run: volume("devbox-run"),
      broker: volume("devbox-broker"),
    },
    workspace,
    certificates: said.secrets?.["ca"]?.file ?? "",
    images: { chroma: image("chroma"), broker: image("broker"), devbox: image("devbox") },
  };
}

/** Refuses a missing certificate file. Unlike compose, names the variable that points to the file. Errors: CONFIG_BAD_VALUE. */
export function assertCertificates({ certificates }: Pick<Stack, "certificates">, { root, env }: Place): void {
  if (certificates === "" || statSync(certificates, { throwIfNoEntry: false })?.isFile() === true) return;
  const dotEnv = readDotEnv(root);
  const isSet = (name: string): boolean => (env[name] ?? dotEnv[name] ?? "") !== "";
  const name = ["EXTRA_CA_CERTS", "NODE_EXTRA_CA_CERTS"].find(isSet) ?? "docker-compose.yml";
  throw badValue(
    `${name} names ${certificates}, which is not a file; nothing was changed`,
    `EXTRA_CA_CERTS=/path/to/certificates.pem palace devbox up; without a proxy: unset ${name} (also in ${join(root, ".env")})`,
  );
}

async function output({ root, env }: Place, ...args: string[]): Promise<string> {
  const [docker = "", ...compose] = composeCommand({ root, env });
  try {
    const options = { env, maxBuffer: OUTPUT_MAX_BYTES };
    return (await promisify(execFile)(docker, [...compose, ...args], options)).stdout;
  } catch (error) {
    const { code, stderr = "" } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === "ENOENT") throw noDocker(error);
    if (/not a docker command|unknown (flag|shorthand)/.test(stderr))
      throw wrongUsage("this docker has no compose plugin", "install docker compose, 2.24 or newer");
    throw refusedSettings(stderr.trim() === "" ? String(error) : stderr, root, error);
  }
}

/** Makes the error for settings that compose refuses; its hint has the unreadable file and line if compose printed them. */
export function refusedSettings(said: string, root: string, cause?: unknown): PalaceError {
  const [line = ""] = said.trim().split("\n").slice(-1);
  const [, file = join(root, ".env"), number] = /failed to read (.+?): (?:line (\d+))?/.exec(line) ?? [];
  return badValue(
    `compose refuses the stack's settings: ${line}`,
    `look into ${file}${number === undefined ? "" : `, line ${number}`}`,
    cause,
  );
}

export function noDocker(cause: unknown): PalaceError {
  return wrongUsage(
    "no Docker engine answers",
    "start Docker (docker info says what is wrong); without one: palace up",
    cause,
  );
}

/** Returns undefined on success, else the last lines of the output ("" on a terminal, which shows them). Throws an abort's reason. */
export async function runCompose(
  place: Place,
  args: readonly string[],
  watch: Watch,
  isLive = process.stderr.isTTY,
): Promise<string | undefined> {
  const { log, signal } = watch;
  const [docker = "", ...compose] = composeCommand(place);
  const child = spawn(docker, [...compose, ...args], {
    env: { ...place.env },
    stdio: isLive ? ["ignore", 2, "inherit"] : ["ignore", "pipe", "pipe"],
    ...(signal && { signal, killSignal: "SIGINT" as const }),
  });
  let said = "";
  const startedAt = performance.now();
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-FAILURE_LINES * 400)));
  const tick = (): void => log(`  ${Math.round((performance.now() - startedAt) / 1000)} s: ${atWhat(said)}`);
  const ticking = isLive ? undefined : setInterval(tick, TICK_MS);
  try {
    const code = await new Promise<number | null>((done, failed) => {
      child.once("close", done);
      child.once("error", (error) => (signal?.aborted === true ? undefined : failed(error)));
    });
    signal?.throwIfAborted();
    return code === 0 ? undefined : said.trimEnd().split("\n").slice(-FAILURE_LINES).join("\n");
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ENOENT" ? noDocker(error) : error;
  } finally {
    clearInterval(ticking);
  }
}

/** Repeats a command that failed on a terminal, to read its error. Returns undefined if it succeeds this time, "" at the time limit. */
export async function askAgain(place: Place, args: readonly string[], watch: Watch): Promise<string | undefined> {
  const limit = AbortSignal.timeout(ASK_AGAIN_MAX_MS);
  const signal = AbortSignal.any([limit, ...(watch.signal ? [watch.signal] : [])]);
  return runCompose(place, args, { log: () => {}, signal }, false).catch((error: unknown) => {
    watch.signal?.throwIfAborted();
    if (limit.aborted) return "";
    throw error;
  });
}

/** Returns the build step or container that the output mentions last, as progress for the user. */
export function atWhat(said: string): string {
  const steps = said.match(/^#\d+ \[.+$|^ ?(?:Container|Network|Volume) \S+ +\S+/gm);
  return (steps?.at(-1) ?? "working")
    .trim()
    .replace(/^#\d+ /, "")
    .replace(/^(.{100}).+/, "$1…");
}
