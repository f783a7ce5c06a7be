/** `palace up`: starts everything and proves it. From a clone, scripts/up does this and the build before it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { clearStop, ensureBroker } from "../../client/start.ts";
import type { Env } from "../../config/env.ts";
import type { Paths } from "../../config/paths.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { executable, PACKAGE_ROOT } from "../executable.ts";
import { joinStack } from "../docker/one-memory.ts";
import { brokerContainer, composeCommand } from "../docker/stack.ts";
import { provePalace } from "../proof/proof.ts";
import { alignRows } from "../terminal/output.ts";
import { mcpEntry } from "../terminal/spelling.ts";
import { hasRuntime, RUNTIME_HINT, RUNTIME_MISSING } from "../report/runtime.ts";
import { defineVerb } from "../verb.ts";

const WAIT_MAX_SECONDS = 300;

export const verb = defineVerb({
  usage: `palace up [--docker]

Starts the broker on this machine and proves it: one memory is written through one shim, found through another, erased.
Running it again is quick and harmless.

  --docker   the compose stack of this package (chroma, broker, devbox) instead; where this machine has no memories of its own,
             its agents share the stack's (palace bridge remove ends that)`,
  options: { docker: { type: "boolean" }, native: { type: "boolean" } },
  args: [0, 0],
  place: "anew",
  run: async ({ values, config, env, out }) => {
    const isDocker = values.docker === true;
    if (isDocker && values.native === true)
      throw new PalaceError("CONFIG_USAGE", "--native and --docker exclude each other", "give one of them");
    const shim = isDocker ? await startStack(env) : nativeShim(namedHome(config.paths), executable("mp-shim"));
    if (!isDocker) {
      clearStop(config);
      await ensureBroker(config);
    }
    const own = nativeShim(namedHome(config.paths), executable("mp-shim"));
    const joined = isDocker ? await joinStack(config, await brokerContainer(PACKAGE_ROOT, env), env) : undefined;
    const proof = await provePalace({ writer: shim, readers: [joined?.state === "joined" ? own : shim], env });
    if (out.isJson) {
      out.document({ kind: isDocker ? "docker" : "native", ...proof, ...(joined && { host: joined }) });
      return 0;
    }
    const next = [
      ["palace status", "what is in it"],
      ["palace mine docs DIR", "file a project's documents"],
      ["palace search WORDS", "find them again"],
      ["every agent's MCP entry:", mcpEntry(namedHome(config.paths))],
      ...(isDocker ? [["in the devbox:", "mempalace-mcp"]] : []),
    ];
    out.text(`The palace is up${isDocker ? " in Docker" : " on this machine"}.
One memory was written through one shim, found through another, and erased (${proof.ms} ms).
Next:
${alignRows(next.map(([command = "", does = ""]) => [`  ${out.spelled(command)}`, does])).join("\n")}
Stop: ${isDocker ? "docker compose stop" : out.spelled("palace stop")}`);
    if (joined?.state === "apart") out.notice(`${joined.why}; ${joined.hint}`);
    if (!isDocker && !(await hasRuntime())) out.notice(`${RUNTIME_MISSING}; ${RUNTIME_HINT}`);
    return 0;
  },
});

/** A palace that was named is named to the shims too. */
function namedHome({ home, palaceDir }: Paths): string | undefined {
  return home === palaceDir ? home : undefined;
}

function nativeShim(home: string | undefined, shim: string[]): string[] {
  return home === undefined ? shim : [...shim, "--palace", home];
}

/** Errors: CONFIG_USAGE without Docker, BROKER_START_FAILED when the stack does not become healthy. */
async function startStack(env: Env): Promise<string[]> {
  const file = join(PACKAGE_ROOT, "docker-compose.yml");
  if (!existsSync(file))
    throw new PalaceError("CONFIG_USAGE", "this install has no docker-compose.yml", "palace up --native");
  const [docker = "", ...compose] = composeCommand(PACKAGE_ROOT, env);
  const up = [...compose, "up", "-d", "--build", "--wait", "--wait-timeout", `${WAIT_MAX_SECONDS}`, "devbox"];
  // Everything it says goes to stderr, live: stdout is for the result.
  const child = spawn(docker, up, { env, stdio: ["ignore", 2, "inherit"] });
  const code = await once(child, "close").then(
    ([exitCode]) => exitCode as number | null,
    (error: unknown) => {
      throw new PalaceError("CONFIG_USAGE", "docker cannot be started", "install Docker, or: palace up --native", {
        cause: error,
      });
    },
  );
  if (code !== 0)
    throw new PalaceError(
      "BROKER_START_FAILED",
      "the compose stack did not become healthy",
      `docker compose --file ${file} logs`,
    );
  return [docker, ...compose, "exec", "-T", "devbox", "mp-shim"];
}
