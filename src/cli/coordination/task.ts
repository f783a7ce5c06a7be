/** `palace events task create|launch` makes a task for another agent, or starts an agent on a task, like MemPalace 3.11. */
import { readFileSync } from "node:fs";
import { asTask, isRunner, launchTask, type Task } from "../../agents/coordination/launch-task.ts";
import { Refused } from "../../agents/coordination/refused.ts";
import type { Config } from "../../config/config.ts";
import { wrongUsage } from "../../base/errors.ts";
import { defineVerb, options } from "../define-verb.ts";
import { callLog, defineToolVerb, orRefusal, readText, required, type Shown, verbOfActions } from "./log-call.ts";

const create = defineToolVerb({
  usage: `palace events task create --project P --from-agent A --to-agent A (--goal TEXT | --goal-file F) --branch B --base-commit C
    (--done TEXT | --done-file F)

Gives an agent a task, and prints the line that wakes the agent.`,
  options: options("project= from-agent= to-agent= goal= goal-file= branch= base-commit= done= done-file="),
  place: "anew",
  tool: "task_create",
  required: ["project", "from-agent", "to-agent", "branch", "base-commit"],
  asked: async (values) => {
    const goal = await readText(values.goal, values["goal-file"]);
    const done = await readText(values.done, values["done-file"]);
    if (goal === undefined || done === undefined)
      throw wrongUsage("a goal and a definition of done are required", "see --help");
    return { goal, done, goal_file: undefined, done_file: undefined };
  },
  show: (answer, { out }) => {
    const { task, handoff } = answer as { task: Shown; handoff: string };
    const { id, correlation_id: name, to_agent: to } = task;
    return out.answer(
      { task, handoff },
      `Task created: ${name ?? ""}\nEvent: ${id}\nTo: ${to ?? ""}\n\nReady to paste:\n${handoff}`,
    );
  },
});

const launch = defineVerb({
  usage: `palace events task launch (TASK | --task-file F) --runner codex|claude --workspace DIR [--agent A]

Starts a coding agent on a task, in a checkout that is clean and at the task's branch and commit.`,
  options: options("task-file= runner= workspace= agent="),
  args: [0, 1],
  run: ({ values, args: [id], config, out }) =>
    orRefusal(out, async () => {
      const { runner, workspace } = required(values, ["runner", "workspace"]);
      if (!isRunner(runner)) throw wrongUsage(`argument --runner: invalid choice: '${runner}'`, "codex or claude");
      const file = values["task-file"];
      if ((id === undefined) === (file === undefined))
        throw wrongUsage("give either TASK or --task-file", "see --help");
      const task = file === undefined ? await findTask(config, id ?? "") : readTask(file);
      return launchTask(task, { runner, workspace, agent: values.agent, notice: (line) => out.notice(line) });
    }),
});

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

export const verb = verbOfActions(
  `palace events task create | launch [options]

Creates a task for another agent, in one event with everything that the agent needs. \`palace events task create --help\` has the options of one.`,
  { create, launch },
);
