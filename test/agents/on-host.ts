/** Makes a home on this machine with the real agents, wired as a devbox wires them or not at all, and its own palace. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { execa, type ResultPromise } from "execa";
import { type Agent, agentsFolder, installAgents } from "../../scripts/agents.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { PI_MODELS, piModels, type Run } from "./real-agents.ts";

export type AgentsHome = AsyncDisposable & {
  palace: TestPalace;
  start: (agent: Agent, run: Run) => ResultPromise;
  programs: string;
  /** Returns the working folder and the environment of an agent that runs with the given variables. */
  within: (env: Run["env"]) => { cwd: string; env: NodeJS.ProcessEnv };
};

const RUN_MAX_MS = 300_000;

/** Opens a home with the real agents. `url`: the model's address. */
export async function openAgentsHome(
  url: string,
  { isWired = true, built }: { isWired?: boolean; built?: boolean } = {},
): Promise<AgentsHome> {
  const agents = agentsFolder(process.env);
  await installAgents({ folder: agents, env: process.env, log: () => {} });
  const palace = createTestPalace(built === undefined ? {} : { built });
  // Makes the commands that npm would link.
  const bin = join(palace.home, "bin");
  mkdirSync(bin);
  for (const [name, file] of Object.entries({ "mempalace-mcp": "mp-shim", palace: "palace" })) {
    const command = `exec '${process.execPath}' '${palace.executable(file)}' "$@"`;
    writeFileSync(join(bin, name), `#!/bin/sh\n${command}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const path = [bin, join(agents, "bin"), dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":");
  if (isWired) {
    const wired = await palace.run("palace", ["install", "all"], { env: { PATH: path } });
    if (wired.code !== 0) throw new Error(wired.stderr);
  }
  mkdirSync(dirname(join(palace.home, PI_MODELS)), { recursive: true });
  writeFileSync(join(palace.home, PI_MODELS), piModels(url));
  const project = join(palace.home, "project");
  mkdirSync(project);
  const within: AgentsHome["within"] = (env) => ({ cwd: project, env: { ...palace.env, ...env, PATH: path } });
  return {
    palace,
    programs: join(agents, "bin"),
    within,
    start: (agent, { args, env, input }) =>
      execa(agent, args, {
        ...within(env),
        ...{ input, extendEnv: false, timeout: RUN_MAX_MS, preferLocal: false },
      }),
    [Symbol.asyncDispose]: () => palace[Symbol.asyncDispose](),
  };
}
