/** Starts a coding agent on a task of the coordination log, as MemPalace 3.11 does. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { realpathSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { isRecord } from "../../base/parse-json.ts";
import { handoff } from "../../protocol/handoff.ts";
import { Refused } from "./refused.ts";

const run = promisify(execFile);

/** Runners by name. An agent whose name ends with `suffix` belongs to that runner. */
const RUNNERS: Readonly<Record<string, { suffix: string; command: (folder: string, prompt: string) => string[] }>> = {
  codex: { suffix: "-codex", command: (folder, prompt) => ["codex", "exec", "--cd", folder, prompt] },
  claude: { suffix: "-claude", command: (_folder, prompt) => ["claude", "--print", prompt] },
};

export type Task = { correlation_id: string; to_agent: string | null; branch: string; base_commit: string };

export function isRunner(name: string): boolean {
  return Object.hasOwn(RUNNERS, name);
}

/** `agent`: name that the user gave; if undefined, the task's addressee is used. */
type Launch = { runner: string; workspace: string; agent: string | undefined; notice: (line: string) => void };

/** Runs the agent and returns its exit code. Errors: Refused if the task is for another agent, or the checkout is unsuitable. */
export async function launchTask(
  task: Task,
  { runner: name, workspace, agent: given, notice }: Launch,
): Promise<number> {
  const runner = RUNNERS[name];
  const agent = agentFor(task, given);
  const other = Object.values(RUNNERS).find(({ suffix }) => agent.endsWith(suffix));
  if (runner === undefined || (other !== undefined && other !== runner))
    throw new Refused(`runner ${name} does not match addressed identity '${agent}'`);
  const folder = folderOf(workspace);
  await assertCheckout(folder, task);
  notice(`Launching ${task.correlation_id} with ${name} as ${agent}`);
  const [command = "", ...args] = runner.command(folder, handoff(task.correlation_id, agent));
  return start(command, args, folder);
}

/** Errors: Refused unless `value` is a complete task.request event. */
export function asTask(value: unknown, source: string): Task {
  if (!isRecord(value) || value["type"] !== "task.request")
    throw new Refused(`${source} must contain one task.request event object`);
  const { correlation_id, branch, base_commit, to_agent } = value;
  const given = { correlation_id, branch, base_commit };
  const missing = Object.entries(given).find(([, one]) => typeof one !== "string" || one.trim() === "");
  if (missing !== undefined) throw new Refused(`${source} has no ${missing[0]}`);
  if (!/^[0-9a-f]{7,64}$/i.test(String(base_commit))) throw new Refused(`${source} names no commit to start from`);
  return { ...(given as Omit<Task, "to_agent">), to_agent: typeof to_agent === "string" ? to_agent : null };
}

function agentFor({ to_agent: addressed }: Task, given: string | undefined): string {
  if (given !== undefined && addressed !== null && addressed !== "*" && addressed !== given)
    throw new Refused(`task is addressed to '${addressed}', not '${given}'`);
  const agent = given ?? addressed;
  if (agent === null || agent === "*" || agent === "")
    throw new Refused("broadcast tasks require --agent for a concrete worker identity");
  return agent;
}

function folderOf(workspace: string): string {
  if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new Refused(`workspace is not a directory: ${workspace}`);
  return realpathSync(workspace);
}

async function assertCheckout(folder: string, { branch, base_commit: base }: Task): Promise<void> {
  const git = async (...args: string[]): Promise<string> => {
    try {
      return (await run("git", ["-C", folder, ...args])).stdout.trim();
    } catch (error) {
      const { stderr = "", message } = error as Error & { stderr?: string };
      throw new Refused(`workspace Git validation failed: ${stderr.trim() || message}`);
    }
  };
  const current = await git("branch", "--show-current");
  if (current !== branch)
    throw new Refused(`workspace branch is '${current || "(detached)"}'; task requires '${branch}'`);
  const wanted = await git("rev-parse", "--verify", `${base}^{commit}`);
  const head = await git("rev-parse", "HEAD");
  if (head !== wanted) throw new Refused(`workspace base commit is ${head}; task requires ${wanted}`);
  if ((await git("status", "--porcelain")) !== "")
    throw new Refused("workspace has uncommitted changes; controlled launch requires a clean checkout");
}

async function start(command: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(command, args, { cwd, stdio: "inherit" });
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } catch (error) {
    throw new Refused(`could not start ${command}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}
