/** `palace events task create|launch` makes a task for another agent or starts an agent on one, like MemPalace 3.11. */
import { readFileSync } from "node:fs";
import { asTask, isRunner, launchTask, type Task } from "../../agents/coordination/launch-task.ts";
import { Refused } from "../../agents/coordination/refused.ts";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import { defineVerb } from "../define-verb.ts";
import { verbOfActions } from "./actions.ts";
import { callLog, isSpooled, orRefusal, readText, required, type Shown } from "./log-call.ts";

const text = { type: "string" } as const;

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
      const { runner, workspace } = required(values, ["runner", "workspace"]);
      if (!isRunner(runner))
        throw new PalaceError("CONFIG_USAGE", `argument --runner: invalid choice: '${runner}'`, "codex or claude");
      const file = values["task-file"];
      if ((id === undefined) === (file === undefined))
        throw new PalaceError("CONFIG_USAGE", "one of TASK and --task-file is required", "see --help");
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

Makes work for another agent, in one event with everything needed to begin. \`palace events task create --help\` has the options of one.`,
  { create, launch },
);
