/** Code shared by the coordination log's commands: defines a command of one tool, prints events like MemPalace 3.11, reads files. */
import { readFileSync } from "node:fs";
import type { ParseArgsOptionsConfig } from "node:util";
import { Refused } from "../../agents/coordination/refused.ts";
import type { Config } from "../../config/config.ts";
import { orElse } from "../../base/or-else.ts";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { newKey } from "../../base/ids.ts";
import { wrongUsage } from "../../base/errors.ts";
import type { EventText } from "../../protocol/event.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import { TOOL_PREFIX, type ToolName } from "../../protocol/tools/table.ts";
import { Output, shorten } from "../terminal/output.ts";
import { decodeUtf8, readUtf8 } from "../terminal/utf8.ts";
import { callOrSpool } from "../tool-call.ts";
import { type Call, defineVerb, hasFlag, type Verb, type VerbParts } from "../define-verb.ts";

/** An event in a tool's answer, with the fields that the commands show. */
export type Shown = EventText & { id: string; created_at: string; artifact_ids: string[] };

export const EXIT_REFUSED = 1;
export const EXIT_TIMED_OUT = 2;
const BODY_SHOWN = 80;

type Answer = Record<string, unknown>;

/** Parts of a command that calls one tool. Each option is the tool's argument of the same name: `--to-agent` is `to_agent`. */
type ToolVerbParts<T extends ParseArgsOptionsConfig> = Pick<VerbParts<T>, "usage" | "args" | "place"> & {
  options: T;
  tool: ToolName;
  required?: readonly (keyof T & string)[];
  /** Returns arguments that are added to the options. The value undefined removes an option that is not an argument of the tool. */
  asked?: (values: Call<T>["values"], args: readonly string[]) => Answer | Promise<Answer>;
  /** Prints the tool's answer and returns the exit code. */
  show: (answer: Answer, call: Call<T>) => number;
};

export function defineToolVerb<const T extends ParseArgsOptionsConfig>(parts: ToolVerbParts<T>): Verb {
  const { usage, options, args = [0, 0], place = "there", tool, required: needed = [], asked, show } = parts;
  return defineVerb<T>({
    ...{ usage, options, args, place },
    run: (call) =>
      orRefusal(call.out, async () => {
        const texts = call.values as Readonly<Record<string, string>>;
        required<string>(texts, needed);
        const given = Object.keys(options).map((name) => [name.replaceAll("-", "_"), texts[name]]);
        const more = await asked?.(call.values, call.args);
        const answer = await callLog(call.config, tool, { ...Object.fromEntries(given), ...more });
        if (answer["spooled"] === true) return call.out.answer(answer, String(answer["message"]));
        return show(answer, call);
      }),
  });
}

/** Returns the tool's answer. Leaves out undefined values. Errors: Refused, and TRANSPORT_*. */
export async function callLog(
  config: Config,
  tool: ToolName,
  given: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject;
  const agent = config.agentName ?? `palace ${tool}`;
  const answer = await callOrSpool({ config, agent, name: TOOL_PREFIX + tool, args, key: newKey() });
  if (!isRecord(answer)) throw new Refused("the answer is not an object");
  if (typeof answer["error"] === "string") throw new Refused(answer["error"]);
  return answer;
}

/** Prints a refusal of `work` and returns EXIT_REFUSED for it. */
export async function orRefusal(out: Output, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    out.answer({ error: error.message }, () => out.notice(`Error: ${error.message}`));
    return EXIT_REFUSED;
  }
}

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
  if (file === "-") return readUtf8(process.stdin);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new Refused(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  }
  const text = orElse(() => decodeUtf8(bytes), undefined);
  if (text === undefined) throw new Refused(`${file} is not UTF-8`);
  return text;
}

/** Errors: Refused unless the text is a JSON object. */
export function readMetadata(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  const value = parseJson(text);
  if (value === undefined) throw new Refused("--metadata is not valid JSON");
  if (isRecord(value)) return value;
  throw new Refused("--metadata must be a JSON object");
}

/** Reads a whole number as MemPalace's parser does. Errors: CONFIG_USAGE. */
export function wholeNumber(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (/^[+-]?\d{1,12}$/.test(value)) return Number(value);
  throw wrongUsage(`argument --${name}: invalid int value: '${value}'`, "write a whole number");
}

/** Returns the values of required options. Errors: CONFIG_USAGE if one is missing. */
export function required<T extends string>(
  values: Readonly<Partial<Record<T, string>>>,
  names: readonly T[],
): Record<T, string> {
  const missing = names.filter((name) => values[name] === undefined);
  if (missing.length === 0) return values as Record<T, string>;
  const named = missing.map((name) => `--${name}`).join(", ");
  throw wrongUsage(`the following arguments are required: ${named}`, "see --help");
}

/** Builds a verb from its actions. If the user names no action, the verb lists them, as MemPalace's commands do. */
export function verbOfActions(usage: string, actions: Readonly<Record<string, Verb>>): Verb {
  return {
    usage,
    subs: Object.fromEntries(
      Object.entries(actions).map(([name, verb]) => [name, (): Promise<{ verb: Verb }> => Promise.resolve({ verb })]),
    ),
    execute: async (argv, env) => {
      const at = argv.findIndex((one, index) => !one.startsWith("-") && argv[index - 1] !== "--palace");
      const name = argv[at];
      if (name === undefined) return new Output({ json: hasFlag(argv, "--json") }).answer({ help: usage }, usage);
      const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
      if (action !== undefined) return action.execute(argv.toSpliced(at, 1), env);
      throw wrongUsage(`invalid choice: '${name}'`, `one of: ${Object.keys(actions).join(", ")}`);
    },
  };
}
