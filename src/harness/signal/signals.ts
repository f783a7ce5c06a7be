/**
 * What a turn's tools tell of it, from what the host has recorded, never from the model's words. Pure. Used by the readers of the three
 * agents.
 */
import { isRecord } from "../../platform/is-record.ts";
import type { HostSignal } from "../../protocol/outcome.ts";
import { type Ended, readCommand } from "./command.ts";

/** One use of a tool that has ended, in the order of use: a command, or a change of a file. */
export type Step = ({ kind: "ran"; command: string } & Ended) | { kind: "edited" };

/** What was said in a turn, and what its tools tell. */
export type Exchange = Readonly<{ user: string; assistant: string; signals: readonly HostSignal[] }>;

const EDITORS: ReadonlySet<string> = new Set([
  ...["edit", "write", "multiedit", "notebookedit", "patch", "apply_patch"],
]);

/** `ended`: undefined where the host does not know it. Undefined for other tools, and for a command that has not ended by itself. */
export function stepOf(tool: unknown, input: unknown, ended: Ended | undefined): Step | undefined {
  const name = typeof tool === "string" ? tool.toLowerCase() : "";
  if (EDITORS.has(name)) return { kind: "edited" };
  const command = isRecord(input) ? input["command"] : undefined;
  if (name !== "bash" || typeof command !== "string" || ended === undefined) return undefined;
  return { kind: "ran", command, ...ended };
}

/** The last run of tests decides, even by being unclear. */
export function signalsOf(steps: readonly Step[]): HostSignal[] {
  const told = steps.map((step) => (step.kind === "ran" ? readCommand(step.command, step) : undefined));
  const tests = told.findLast((one) => one?.tests !== undefined)?.tests;
  const last = told.findLast((one) => one !== undefined);
  // What is taken back after a change of the same turn may be that change.
  const firstEdit = steps.findIndex(({ kind }) => kind === "edited");
  const hasReverted = told.slice(0, firstEdit === -1 ? undefined : firstEdit).some((one) => one?.hasReverted === true);
  return [
    ...(tests === "passed" ? (["tests-passed"] as const) : []),
    ...(tests === "failed" ? (["tests-failed"] as const) : []),
    ...(last?.hasFailed === true ? (["command-failed"] as const) : []),
    ...(hasReverted ? (["reverted"] as const) : []),
  ];
}
