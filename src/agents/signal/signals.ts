/** Derives a turn's signals from the tool uses that the host has recorded, never from the model's words. */
import { isRecord } from "../../base/parse-json.ts";
import type { HostSignal } from "../../protocol/outcome.ts";
import { type Ended, readCommand } from "./command.ts";

/** Finished use of a tool: a command with its end, or a change of a file. */
export type Step = ({ kind: "ran"; command: string } & Ended) | { kind: "edited" };

export type Exchange = Readonly<{ user: string; assistant: string; signals: readonly HostSignal[] }>;

const EDITORS: ReadonlySet<string> = new Set("edit write multiedit notebookedit patch apply_patch".split(" "));

/** Returns a tool use as a step; undefined for other tools, and for a command that did not end by itself. */
export function stepOf(tool: unknown, input: unknown, ended: Ended | undefined): Step | undefined {
  const name = typeof tool === "string" ? tool.toLowerCase() : "";
  if (EDITORS.has(name)) return { kind: "edited" };
  const command = isRecord(input) ? input["command"] : undefined;
  if (name !== "bash" || typeof command !== "string" || ended === undefined) return undefined;
  return { kind: "ran", command, ...ended };
}

/** Returns the steps' signals. The last run of tests decides, even if unclear. `testCommands`: beginnings of the user's test commands. */
export function signalsOf(steps: readonly Step[], testCommands: readonly string[]): HostSignal[] {
  const told = steps.map((step) => (step.kind === "ran" ? readCommand(step.command, step, testCommands) : undefined));
  const tests = told.findLast((one) => one?.tests !== undefined)?.tests;
  const last = told.findLast((one) => one !== undefined);
  // A revert after a change in the same turn may undo only that change, so it does not count.
  const firstEdit = steps.findIndex(({ kind }) => kind === "edited");
  const hasReverted = told.slice(0, firstEdit === -1 ? undefined : firstEdit).some((one) => one?.hasReverted === true);
  return [
    ...(tests === "passed" ? (["tests-passed"] as const) : []),
    ...(tests === "failed" ? (["tests-failed"] as const) : []),
    ...(last?.hasFailed === true ? (["command-failed"] as const) : []),
    ...(hasReverted ? (["reverted"] as const) : []),
  ];
}
