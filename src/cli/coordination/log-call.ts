/** Code shared by the coordination log's commands: calls a tool, prints its answer like MemPalace 3.11, reads files. */
import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { Refused } from "../../agents/coordination/refused.ts";
import type { Config } from "../../config/config.ts";
import { isRecord } from "../../base/is-record.ts";
import { newKey } from "../../base/ids.ts";
import { PalaceError } from "../../base/errors.ts";
import type { EventText } from "../../protocol/event.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import { type ToolName, TOOL_PREFIX } from "../../protocol/tools/table.ts";
import { shorten, type Output } from "../terminal/output.ts";
import { callOrSpool } from "../tool-call.ts";

/** Event of a tool's answer, with the fields that the commands show. */
export type Shown = EventText & { id: string; created_at: string; artifact_ids: string[] };

/** Exit code if the tool refused, or if no event came in time. */
export const EXIT_REFUSED = 1;
export const EXIT_TIMED_OUT = 2;
const BODY_SHOWN = 80;

/** Returns the tool's answer. Leaves out undefined values. Errors: Refused, and the transport's. */
export async function callLog(
  config: Config,
  tool: ToolName,
  given: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject;
  const agent = config.agentName ?? `palace ${tool}`;
  const answer = await callOrSpool({ config, agent, name: TOOL_PREFIX + tool, args, key: newKey() });
  if (!isRecord(answer)) throw new Refused("the answer is no object");
  if (typeof answer["error"] === "string") throw new Refused(answer["error"]);
  return answer;
}

/** Runs a command's work, and prints a refusal. */
export async function orRefusal(out: Output, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (out.isJson) out.document({ error: error.message });
    else out.notice(`Error: ${error.message}`);
    return EXIT_REFUSED;
  }
}

/** Returns true, and prints so, if the write is spooled. */
export function isSpooled(answer: Record<string, unknown>, out: Output): boolean {
  if (answer["spooled"] !== true) return false;
  if (out.isJson) out.document(answer);
  else out.text(String(answer["message"]));
  return true;
}

/** Formats one event as one line. */
export function eventLine(event: Shown): string {
  const { id, created_at: at, type, stream, room, from_agent: from, to_agent: to } = event;
  const more = [
    event.status === null ? "" : ` [${event.status}]`,
    event.topic === null ? "" : ` topic=${event.topic}`,
    event.correlation_id === null ? "" : ` corr=${event.correlation_id}`,
    event.artifact_ids.length === 0 ? "" : ` artifacts=${event.artifact_ids.length}`,
    event.body === "" ? "" : ` :: ${shorten(event.body, BODY_SHOWN)}`,
  ];
  return `  ${id}  ${at}  ${type}  ${stream}/${room}  ${from}->${to ?? "*"}${more.join("")}`;
}

export function printEvents(events: readonly Shown[], out: Output): void {
  out.text([`${events.length} event(s):`, ...events.map(eventLine)].join("\n"));
}

/** Returns the inline text or a file's exact bytes; `-` means stdin. Errors: Refused. */
export async function readText(inline: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (inline !== undefined && file !== undefined) throw new Refused("pass inline text or a file, not both");
  if (file === undefined) return inline;
  let bytes: Buffer;
  try {
    bytes = file === "-" ? await buffer(process.stdin) : readFileSync(file);
  } catch (error) {
    throw new Refused(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused(`${file} is not UTF-8`);
  }
}

/** Reads metadata from JSON. Errors: Refused. */
export function readMetadata(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused("--metadata is not valid JSON");
  }
  if (isRecord(value)) return value;
  throw new Refused("--metadata must be a JSON object");
}

/** Returns the value of an option. Errors: CONFIG_USAGE without it. */
export function required<T extends string>(
  values: Readonly<Partial<Record<T, string>>>,
  names: readonly T[],
): Record<T, string> {
  const missing = names.filter((name) => values[name] === undefined);
  if (missing.length === 0) return values as Record<T, string>;
  const named = missing.map((name) => `--${name}`).join(", ");
  throw new PalaceError("CONFIG_USAGE", `the following arguments are required: ${named}`, "see --help");
}
