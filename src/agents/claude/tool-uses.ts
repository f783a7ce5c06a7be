/** Reads from a transcript of Claude Code 2.1.330 which tools a turn used, and how they ended. */
import { isRecord } from "../../base/parse-json.ts";
import type { Ended } from "../signal/command.ts";
import { type Step, stepOf } from "../signal/signals.ts";

/** `ended` is undefined while the tool runs, or if the tool has no exit code. */
type Use = { tool: unknown; input: unknown; isAnswered: boolean; ended: Ended | undefined };

const EXIT = /^Exit code (\d{1,3})(?:\n|$)/;

export class ToolUses {
  readonly #uses = new Map<string, Use>();

  read({ message, toolUseResult }: Record<string, unknown>): void {
    const content = isRecord(message) ? message["content"] : undefined;
    for (const part of Array.isArray(content) ? (content as unknown[]) : []) {
      if (!isRecord(part)) continue;
      const { type, id, name: tool, input } = part;
      if (type === "tool_use" && typeof id === "string")
        this.#uses.set(id, { tool, input, isAnswered: false, ended: undefined });
      const use = type === "tool_result" ? this.#uses.get(String(part["tool_use_id"])) : undefined;
      if (use === undefined) continue;
      use.isAnswered = true;
      if (!isOpen(use.input, toolUseResult)) use.ended = endOf(part);
    }
  }

  /** Returns true if each tool has a result, or a notice that it runs in the background. */
  areAnswered(): boolean {
    return this.#uses.values().every(({ isAnswered }) => isAnswered);
  }

  steps(): Step[] {
    return [...this.#uses.values()].flatMap(({ tool, input, ended }) => stepOf(tool, input, ended) ?? []);
  }
}

function isOpen(input: unknown, result: unknown): boolean {
  if (isRecord(input) && input["run_in_background"] === true) return true;
  return isRecord(result) && (typeof result["backgroundTaskId"] === "string" || result["interrupted"] === true);
}

/** Returns undefined for a tool without an exit code, for example a tool that was refused or not found. */
function endOf({ is_error: isError, content }: Record<string, unknown>): Ended | undefined {
  const first: unknown = Array.isArray(content) ? (content as unknown[])[0] : { text: content };
  const text = isRecord(first) ? String(first["text"]) : "";
  if (isError !== true) return { exit: 0, output: text };
  const [head = "", code] = EXIT.exec(text) ?? [];
  return code === undefined ? undefined : { exit: Number(code), output: text.slice(head.length) };
}
