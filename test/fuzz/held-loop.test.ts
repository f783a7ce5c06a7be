/**
 * A long hostile text in every parameter of every tool: whatever it is, the broker goes on answering everybody else. A long
 * wait counts only where a call of the same kind makes it every time, beyond what as many words to no tool at all take to be read.
 */
import { afterAll, beforeAll, expect } from "vitest";
import { type Client, connectClient } from "../../src/wire/client/client.ts";
import type { JsonObject } from "../../src/protocol/spec.ts";
import { toolsOf } from "../../src/protocol/tools/profile.ts";
import type { PropertySchema } from "../../src/protocol/tools/row.ts";
import { findTool, type Tool } from "../../src/protocol/tools/table.ts";
import { heldBy as heldLoop, heldMaxMs } from "../helpers/held-loop.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const WORDS = "some words and others ";
/** Work beside the suite comes in bursts of a second or two: what is slow of itself is so in every one of these tries. */
const REPEATS = 30;
/** Bytes on the wire: what every parameter must bear, and around the limits of parameters. */
const SIZE_MAX = 1_000_000;
const SIZES = [SIZE_MAX, 99_999, 9_999];
/** What regular expressions, tokenizers, parsers of dates and scanners of secrets stumble over when it is repeated. */
const PIECES = [
  ..."a1 -\"'([{<.,/\\#*_=|:;~`^$%&@!?\n\t\0\u0301\ud800é中",
  ...["\r\n", "\t x", "word ", "Abc Def ", '"a" ', "a:", "a@b.", "http://a.b/c?d=e&", "sk-", "eyJ.", "AKIA", "ghp_"],
  ...["-----BEGIN ", "password=", "0123456789abcdef", "QUJD+/=", "2024-01-01T", "last monday ", "> quote\n", "```\n"],
  ...["# ", "- [ ] ", "a|b|", "**a", "_a_", "a.b.", "../", "a/**/", "[[", "{{", "<a ", "&amp;", "NEAR(a ", "a OR "],
  ...["👩‍👩‍👧", "\u202e", "İ", "ß", "__proto__", "SELECT ", "%s", "${", "import x from 'y'\n", "def f(x):\n  "],
] as const;

/** Parameters whose text makes a write a new one, so that each of them is really done. */
const WRITTEN = /content|object|entry|goal|takeaway/;
/** Of half the text, where a parameter takes many. */
const SLICE = 100;
/** Whatever the profile, any peer may call any of them. */
const TOOLS = toolsOf("full+outcome");
const PARAMETERS = TOOLS.flatMap((tool) =>
  Object.keys(tool.inputSchema.properties).map((parameter) => ({ tool: tool.name, parameter })),
);
/** The first inputs are these; all further ones are drawn from them. */
const EVERY = SIZES.flatMap((size) => PARAMETERS.map((one) => ({ ...one, size })));

let palace: TestPalace;
let broker: number;
let client: Client;
let prober: Client;
/** What a call names so that it is found, by the parameter's name. */
let known: Record<string, unknown>;

beforeAll(async () => {
  palace = createTestPalace();
  broker = (await palace.startBroker()).pid as number;
  client = await palace.client();
  prober = await connectClient({ config: palace.config, agent: "prober", start: "never" });
  const place = { wing: "w", room: "r" };
  for (let number = 0; number < 30; number++) {
    const content = `note ${number}: alpha beta, Abc Def said "it works" on 2024-01-${number + 1}`;
    await client.callTool("mempalace_add_drawer", { ...place, source_file: `/p/${number}.md`, content });
  }
  const note = await client.callTool("mempalace_add_drawer", { ...place, content: "a note that is changed" });
  const event = { type: "t", stream: "s", room: "r", from_agent: "w" };
  const request = await client.callTool("mempalace_event_append", event);
  const fact = await client.callTool("add_to_memory_bank", { content: "a fact that is changed" });
  known = {
    ...{ room: "r", source_room: "r", target_room: "r", start_room: "r" },
    ...{ query: "note", base_commit: "0123abcd", kind: "note" },
    drawer_id: (note as { drawer_id: string }).drawer_id,
    event_id: (request as { event: { id: string } }).event.id,
    old_content: /memory_bank_\w+/.exec((fact as { text: string }).text)?.[0],
  };
});
afterAll(async () => {
  for (const open of [client, prober]) open.close();
  await palace[Symbol.asyncDispose]();
});

type Call = { tool: string; parameter: string; size: number; piece: string };
/** The longest calls that were made. */
const met = new Set<string>();

fuzz("held-loop", {
  count: 1_000,
  generate: (chooser, number): Call => ({ ...(EVERY[number] ?? chooser.pick(EVERY)), piece: piece(chooser) }),
  check: async (call, { number }) => {
    let [held, read] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let times = 0; times < REPEATS; times++) {
      held = Math.min(held, await heldBy(call.tool, argumentsOf(call, `${number}.${times}`)));
      if (call.size === SIZE_MAX) met.add(`${call.tool} ${call.parameter}`);
      if (held <= heldMaxMs(0)) return;
      read = Math.min(read, await heldBy("mempalace_nothing", { text: ofSize(WORDS, call.size) }));
      if (held - read <= heldMaxMs(read)) return;
    }
    expect.fail(`held for ${Math.round(held)} ms, by no tool ${Math.round(read)} ms`);
  },
  finish: async ({ isWhole }) => {
    if (isWhole)
      expect([...met].toSorted()).toEqual(PARAMETERS.map(({ tool, parameter }) => `${tool} ${parameter}`).toSorted());
    expect(await client.call("palace.status", {})).toMatchObject({ state: "ready" });
  },
});

/** One of the known pieces, or a few of them together. */
function piece(chooser: Chooser): string {
  return chooser.chance(0.6)
    ? chooser.pick(PIECES)
    : [chooser.pick(PIECES), ...chooser.some(3, () => chooser.pick(PIECES))].join("");
}

function heldBy(tool: string, values: Record<string, unknown>): Promise<number> {
  return heldLoop(broker, prober, () => client.callTool(tool, values as JsonObject));
}

/** What the tool requires as it should be, so that it comes to the hostile parameter; `nth` makes what is written new. */
function argumentsOf({ tool: name, parameter, piece: part, size }: Call, nth: string): Record<string, unknown> {
  const { properties, required, requiredEither = [], aliases = {} } = findTool(name) as Tool;
  const needs = [...required, ...requiredEither].filter((need) => aliases[parameter] !== need);
  // Without a question nothing is looked for.
  if ("query" in properties) needs.push("query");
  const sane = needs.map((need): [string, unknown] => [need, saneValue(need, properties[need], nth)]);
  // What waits is not asked to.
  if ("timeout_ms" in properties) sane.push(["timeout_ms", 1]);
  return { ...Object.fromEntries(sane), [parameter]: hostileValue(ofSize(part, size), properties[parameter]) };
}

/** So long on the wire, where some characters are six. */
function ofSize(part: string, size: number): string {
  const length = Math.floor((size * part.length) / Buffer.byteLength(JSON.stringify(part)));
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

function saneValue(name: string, schema: PropertySchema | undefined, nth: string): unknown {
  if (name in known) return known[name];
  if (schema?.enum !== undefined) return schema.enum[0];
  if (schema?.type === "array") return [];
  if (schema?.type === "object") return {};
  if (schema?.type === "integer" || schema?.type === "number") return 1;
  return WRITTEN.test(name) ? `w ${nth}` : "w";
}

function hostileValue(text: string, schema: PropertySchema | undefined): unknown {
  if (schema?.type !== "object" && schema?.type !== "array") return text;
  const [long, rest] = [text.slice(0, text.length / 2), text.slice(text.length / 2)];
  if (schema.items?.type === "object")
    return [
      { wing: "w", room: "r", content: long, source_file: rest },
      { wing: long, room: "r", content: "w" },
    ];
  if (schema.properties !== undefined) return { agent_name: "w", topic: long, entry: rest };
  const parts = [long, ...slicesOf(rest)];
  if (schema.type === "array") return parts;
  // A key of its own each: what repeats would be one key.
  return Object.fromEntries(parts.map((part, at) => [`${at} ${part}`, schema.additionalProperties?.enum?.[0] ?? part]));
}

function slicesOf(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / SLICE) }, (_, at) => text.slice(at * SLICE, (at + 1) * SLICE));
}
