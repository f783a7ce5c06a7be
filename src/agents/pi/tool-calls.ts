/** Reads the tool calls of a pi run, and how each ended, from its messages (pi 1.5's bash tool). */
import { isRecord } from "../../base/parse-json.ts";
import type { Ended } from "../signal/command.ts";
import { type Step, stepOf } from "../signal/signals.ts";
import type { PiRunMessage } from "./host.ts";

/** Beginning of the line that pi's bash tool adds at the end of a failed command's output. */
const EXIT = "Command exited with code ";

export function stepsIn(messages: readonly PiRunMessage[]): Step[] {
  const ends = new Map(
    messages.flatMap((one) => (one.role === "toolResult" ? [[one.toolCallId, endOf(one)] as const] : [])),
  );
  const calls = messages.filter(({ role }) => role === "assistant").flatMap(({ content }) => listOf(content));
  return calls.flatMap((call) => {
    if (!isRecord(call) || call["type"] !== "toolCall") return [];
    return stepOf(call["name"], call["arguments"], ends.get(String(call["id"]))) ?? [];
  });
}

/** Returns how a tool ended. A tool that was refused, interrupted or too slow has no exit code. */
function endOf({ isError, content }: PiRunMessage): Ended | undefined {
  const last = listOf(content).findLast((part) => isRecord(part) && part["type"] === "text");
  const text = isRecord(last) ? String(last["text"]) : "";
  if (isError !== true) return { exit: 0, output: text };
  const at = text.lastIndexOf(EXIT);
  const code = text.slice(at + EXIT.length);
  return at !== -1 && /^\d{1,3}$/.test(code) ? { exit: Number(code), output: text.slice(0, at) } : undefined;
}

function listOf(content: unknown): unknown[] {
  return Array.isArray(content) ? (content as unknown[]) : [];
}
