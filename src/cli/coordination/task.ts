/** `palace events task create|launch`: makes a task for another agent, and starts an agent on one, as MemPalace 3.11 does. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { promisify } from "node:util";
import { execFile } from "node:child_process";
import type { Config } from "../../config/config.ts";
import { isRecord } from "../../base/is-record.ts";
import { PalaceError } from "../../base/errors.ts";
import { handoff } from "../../protocol/handoff.ts";
import { defineVerb } from "../define-verb.ts";
import { verbOfActions } from "./actions.ts";
import { callLog, isSpooled, orRefusal, readText, Refused, required, type Shown } from "./log-call.ts";

const text = { type: "string" } as const;
const run = promisify(execFile);

/** Runner → the suffix of the agent names that it runs, and its command line. */
const RUNNERS: Readonly<Record<string, { suffix: string; command: (folder: string, prompt: string) => string[] }>> = {
  codex: { suffix: "-codex", command: (folder, prompt) => ["codex", "exec", "--cd", folder, prompt] },
  claude: { suffix: "-claude", command: (_folder, prompt) => ["claude", "--print", prompt] },
};

const create = defineVerb({
  usage: `palace events task create --project P --from-agent A --to-agent A (--goal TEXT | --goal-file F) --branch B --base-commit C
    (--done TEXT | --done-file F)

Gives an agent a task, and prints the line to wake it with.`,
  options: {
    ...{ project: text, "from-agent": text, "to-agent": text, goal: text, "goal-file": text, branch: text },
    ...{ "base-commit": text, done: text, "done-file": text },
  },
  args: [0, 0],
  place: "anew",
  run: ({ values, config, out }) =>
    orRefusal(out, async () => {
      const needed = required(values, ["project", "from-agent", "to-agent", "branch", "base-commit"]);
      const goal = await readText(values.goal, values["goal-file"]);
      const done = await readText(values.done, values["done-file"]);
      if (goal === undefined || done === undefined)
        throw new PalaceError("CONFIG_USAGE", "a goal and a definition of done are required", "see --help");
      const answer = await callLog(config, "task_create", {
        ...{ project: needed.project, from_agent: needed["from-agent"], to_agent: needed["to-agent"], goal, done },
        ...{ branch: needed.branch, base_commit: needed["base-commit"] },
      });
      if (isSpooled(answer, out)) return 0;
      const { task, handoff: line } = answer as { task: Shown; handoff: string };
      if (out.isJson) out.document({ task, handoff: line });
      else
        out.text(
          `Task created: ${task.correlation_id ?? ""}\nEvent: ${task.id}\nTo: ${task.to_agent ?? ""}\n\nReady to paste:\n${line}`,
        );
      return 0;
    }),
});

const launch = defineVerb({
  usage: `palace events task launch (TASK | --task-file F) --runner codex|claude --workspace DIR [--agent A]

Starts a coding agent on a task, in a checkout that is clean and at the task's branch and commit.`,
  options: { "task-file": text, runner: text, workspace: text, agent: text },
  args: [0, 1],
  run: ({ values, args: [id], config, out }) =>
    orRefusal(out, async () => {
      const { runner: name, workspace } = required(values, ["runner", "workspace"]);
      const runner = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
      if (runner === undefined)
        throw new PalaceError("CONFIG_USAGE", `argument --runner: invalid choice: '${name}'`, "codex or claude");
      const file = values["task-file"];
      if ((id === undefined) === (file === undefined))
        throw new PalaceError("CONFIG_USAGE", "one of TASK and --task-file is required", "see --help");
      const task = file === undefined ? await findTask(config, id ?? "") : readTask(file);
      const agent = agentFor(task, values.agent);
      const other = Object.values(RUNNERS).find(({ suffix }) => agent.endsWith(suffix));
      if (other !== undefined && other !== runner)
        throw new Refused(`runner ${name} does not match addressed identity '${agent}'`);
      const folder = folderOf(workspace);
      await assertCheckout(folder, task);
      out.notice(`Launching ${task.correlation_id} with ${name} as ${agent}`);
      const [command = "", ...args] = runner.command(folder, handoff(task.correlation_id, agent));
      return start(command, args, folder);
    }),
});

type Task = { correlation_id: string; to_agent: string | null; branch: string; base_commit: string };

async function findTask(config: Config, id: string): Promise<Task> {
  const asked = { type: "task.request", correlation_id: id, limit: 2 };
  const events = (await callLog(config, "event_list", asked))["events"] as unknown[];
  if (events.length === 0) throw new Refused(`task '${id}' not found`);
  if (events.length > 1) throw new Refused(`task '${id}' has multiple requests; refusing to guess`);
  return asTask(events[0], `task '${id}'`);
}

function readTask(file: string): Task {
  try {
    return asTask(JSON.parse(readFileSync(file, "utf8")), "--task-file");
  } catch (error) {
    throw error instanceof Refused ? error : new Refused(`${file} cannot be read as JSON`);
  }
}

function asTask(value: unknown, source: string): Task {
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

/** Checks that the agent would begin on the task's branch and commit, and that no uncommitted work is in its way. */
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

/** Returns the exit code. */
async function start(command: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(command, args, { cwd, stdio: "inherit" });
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } catch (error) {
    throw new Refused(`could not start ${command}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
}

export const verb = verbOfActions(
  `palace events task create | launch [options]

Work for another agent, in one event with all that it needs to begin. \`palace events task create --help\` has the options of one.`,
  { create, launch },
);
