/**
 * Sends a long hostile text in every parameter of every tool, and checks that the broker still answers other peers. A wait is too long only
 * if it occurs on every repetition and exceeds the wait for an unknown tool with a text of the same size.
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
/** Number of repetitions. Other work on the machine comes in bursts of a second or two, but a slow call is slow every time. */
const REPEATS = 30;
/** Bytes on the wire: the size that every parameter must accept, and sizes around the limits of parameters. */
const SIZE_MAX = 1_000_000;
const SIZES = [SIZE_MAX, 99_999, 9_999];
/** Texts whose repetition is slow for regular expressions, tokenizers, date parsers or secret scanners. */
const PIECES = [
  ..."a1 -\"'([{<.,/\\#*_=|:;~`^$%&@!?\n\t\0\u0301\ud800é中",
  ...["\r\n", "\t x", "word ", "Abc Def ", '"a" ', "a:", "a@b.", "http://a.b/c?d=e&", "sk-", "eyJ.", "AKIA", "ghp_"],
  ...["-----BEGIN ", "password=", "0123456789abcdef", "QUJD+/=", "2024-01-01T", "last monday ", "> quote\n", "```\n"],
  ...["# ", "- [ ] ", "a|b|", "**a", "_a_", "a.b.", "../", "a/**/", "[[", "{{", "<a ", "&amp;", "NEAR(a ", "a OR "],
  ...["👩‍👩‍👧", "\u202e", "İ", "ß", "__proto__", "SELECT ", "%s", "${", "import x from 'y'\n", "def f(x):\n  "],
] as const;

/** Parameters whose text must change on each repetition, because an equal write would not be done again. */
const WRITTEN = /content|object|entry|goal|takeaway/;
/** Size of an element, if a parameter takes a list. The elements fill half of the size. */
const SLICE = 100;
/** Every tool, because a peer may call all of them whatever its profile is. */
const TOOLS = toolsOf("full+outcome");
const PARAMETERS = TOOLS.flatMap((tool) =>
  Object.keys(tool.inputSchema.properties).map((parameter) => ({ tool: tool.name, parameter })),
);
/** The first inputs. All further inputs are drawn from these. */
const EVERY = SIZES.flatMap((size) => PARAMETERS.map((one) => ({ ...one, size })));

let palace: TestPalace;
let broker: number;
let client: Client;
let prober: Client;
/** Existing ids and names, by parameter. */
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
/** Calls that were made with the longest text. */
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

function piece(chooser: Chooser): string {
  return chooser.chance(0.6)
    ? chooser.pick(PIECES)
    : [chooser.pick(PIECES), ...chooser.some(3, () => chooser.pick(PIECES))].join("");
}

function heldBy(tool: string, values: Record<string, unknown>): Promise<number> {
  return heldLoop(broker, prober, () => client.callTool(tool, values as JsonObject));
}

/** Returns the required parameters with valid values, so that the broker reads the hostile parameter. `nth` makes each text differ. */
function argumentsOf({ tool: name, parameter, piece: part, size }: Call, nth: string): Record<string, unknown> {
  const { properties, required, requiredEither = [], aliases = {} } = findTool(name) as Tool;
  const needs = [...required, ...requiredEither].filter((need) => aliases[parameter] !== need);
  // A search without a question would do nothing.
  if ("query" in properties) needs.push("query");
  const sane = needs.map((need): [string, unknown] => [need, saneValue(need, properties[need], nth)]);
  if ("timeout_ms" in properties) sane.push(["timeout_ms", 1]);
  return { ...Object.fromEntries(sane), [parameter]: hostileValue(ofSize(part, size), properties[parameter]) };
}

/** Repeats the part until it has `size` bytes on the wire, where some characters take six bytes. */
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
  // Numbers the keys, because a JSON object retains only one of several equal keys.
  return Object.fromEntries(parts.map((part, at) => [`${at} ${part}`, schema.additionalProperties?.enum?.[0] ?? part]));
}

function slicesOf(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / SLICE) }, (_, at) => text.slice(at * SLICE, (at + 1) * SLICE));
}
