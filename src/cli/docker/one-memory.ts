/** Connects this machine's agents over a bridge to the memory of the stack in Docker, unless they already have another memory. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { setUpDockerBridge } from "../../wire/bridge/docker-setup.ts";
import { readSettings } from "../../wire/bridge/settings.ts";
import type { Config } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { quoted } from "../../base/shell-word.ts";

const BROKER_LABEL = "org.opencontainers.image.title=palace-devbox broker";
const DOCKER_ANSWER_MAX_MS = 3_000;

/** `apart`: this machine's agents use another memory than the stack's. `why`: a sentence for people; `hint`: the remedy. */
export type Joined = { state: "joined" } | { state: "apart"; why: string; hint: string };

/** `container`: the stack's broker. `before`: former name of the stack's project. Its broker had the same memory. */
export async function joinStack(
  config: Config,
  container: string | undefined,
  env: Env,
  before?: string,
): Promise<Joined | undefined> {
  if (container === undefined) return undefined;
  const { endpoint, paths } = config;
  const found = readSettings(paths);
  if (found?.kind === "docker" && found.host === container && endpoint === undefined) return { state: "joined" };
  const bridge = found?.kind === "docker" && found.host === `${before}-broker-1` ? undefined : found;
  const hint = `to let them share the stack's memory: palace bridge setup docker:${container}`;
  const own = [paths.ledgerFile, join(paths.palaceDir, "chroma.sqlite3")].find((file) => existsSync(file));
  // The command switches to the stack's memory, so this machine's own memory must be imported afterwards.
  const merge = own === undefined ? "" : `; then, to merge this memory: palace import ${quoted(dirname(own))}`;
  const apart = (why: string): Joined => ({
    ...{ state: "apart", why: `agents on this machine ${why}`, hint: `${hint}${merge}` },
  });
  if (endpoint !== undefined) return apart(`use MEMPALACE_BROKER=${endpoint}, not the stack's memory`);
  if (bridge !== undefined) return apart(`use the memory of ${bridge.target}, not the stack's`);
  if (own !== undefined)
    return apart(`use the memory in ${paths.home}, but agents in the devbox use the stack's memory`);
  return setUpDockerBridge(paths, container, dockerOptions(env)).then(
    () => ({ state: "joined" }),
    (error: Error) => apart(`do not reach the stack's memory: ${error.message}`),
  );
}

/** Returns a stack's broker container that this machine's agents do not use; undefined if the user has set up another broker for them. */
export async function otherMemory({ endpoint, paths }: Config): Promise<string | undefined> {
  const bridge = readSettings(paths);
  if (endpoint !== undefined || (bridge !== undefined && bridge.kind !== "docker")) return undefined;
  const asked = ["ps", "--filter", `label=${BROKER_LABEL}`, "--format", "{{.Names}}"];
  const said = await promisify(execFile)("docker", asked, { timeout: DOCKER_ANSWER_MAX_MS }).catch(() => undefined);
  const names = said?.stdout.split("\n").filter((name) => name !== "") ?? [];
  return bridge !== undefined && names.includes(bridge.host) ? undefined : names[0];
}

/** Returns options that make `docker` use this environment's daemon, for a bridge that an agent starts without these variables. */
export function dockerOptions(env: Env): string[] {
  const { DOCKER_HOST: host = "", DOCKER_CONFIG: config, DOCKER_CONTEXT: context } = env;
  // If host and context are both set as variables, docker uses the host; as options, docker refuses both. So pass only one.
  const engine = { "--config": config, "--host": host, "--context": host === "" ? context : "" };
  return Object.entries(engine).flatMap(([option, value = ""]) => (value === "" ? [] : [option, value]));
}
