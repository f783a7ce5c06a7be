/**
 * A long hostile text in a parameter of a tool: whatever it is, the broker goes on answering everybody else. A prober asks
 * all the while; its longest wait is how long one call held the broker's loop. A machine can be slow for reasons of its
 * own: what the broker's main thread waited for a processor is taken off, and a long wait counts only where the same call
 * makes it every time, and as many words to no tool at all do not.
 */
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { type Client, connectClient } from "../../src/client/client.ts";
import type { JsonObject } from "../../src/protocol/spec.ts";
import { type ListedTool, toolsOf } from "../../src/protocol/tools/profile.ts";
import type { PropertySchema } from "../../src/protocol/tools/row.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";

/** Nobody is held longer: below it nothing is looked at more closely. */
const HELD_MAX_MS = 100;
/** Of what reading the message takes, when nothing is done with it; a pattern that backtracks takes hundreds of times that. */
const READ_MAX_RATIO = 8;
const WORDS = "some words and others ";
/** Work beside the suite comes in bursts of a second or two: what is slow of itself is so in every one of these tries. */
const REPEATS = 30;
/** Bytes on the wire: around the limits of parameters, and what every parameter must bear. */
const SIZES = [9_999, 99_999, 1_000_000];
/** What regular expressions, tokenizers, parsers of dates and scanners of secrets stumble over when it is repeated. */
const PIECES = [
  ..."a1 -\"'([{<.,/\\#*_=|:;~`^$%&@!?\n\t\0\u0301\ud800é中",
  ...["\r\n", "\t x", "word ", "Abc Def ", '"a" ', "a:", "a@b.", "http://a.b/c?d=e&", "sk-", "eyJ.", "AKIA", "ghp_"],
  ...["-----BEGIN ", "password=", "0123456789abcdef", "QUJD+/=", "2024-01-01T", "last monday ", "> quote\n", "```\n"],
  ...["# ", "- [ ] ", "a|b|", "**a", "_a_", "a.b.", "../", "a/**/", "[[", "{{", "<a ", "&amp;", "NEAR(a ", "a OR "],
  ...["👩‍👩‍👧", "\u202e", "İ", "ß", "__proto__", "SELECT ", "%s", "${", "import x from 'y'\n", "def f(x):\n  "],
] as const;

let palace: TestPalace;
let broker: number;
let client: Client;
let prober: Client;
let known: { drawer_id: string };

beforeAll(async () => {
  palace = createTestPalace();
  broker = (await palace.startBroker()).pid as number;
  client = await palace.client();
  prober = await connectClient({ config: palace.config, agent: "prober", start: "never" });
  for (let number = 0; number < 30; number++) {
    const content = `note ${number}: alpha beta, Abc Def said "it works" on 2024-01-${number + 1}`;
    const place = { wing: "w", room: "r", source_file: `/p/${number}.md` };
    known = (await client.callTool("mempalace_add_drawer", { ...place, content })) as typeof known;
  }
});
afterAll(async () => {
  for (const open of [client, prober]) open.close();
  await palace[Symbol.asyncDispose]();
});

type Call = { tool: string; parameter: string; piece: string; size: number };

fuzz("held-loop", {
  count: 3_000,
  generate: (chooser): Call => {
    const tool = chooser.pick(toolsOf("full").filter((one) => Object.keys(one.inputSchema.properties).length > 0));
    return {
      tool: tool.name,
      parameter: chooser.pick(Object.keys(tool.inputSchema.properties)),
      piece: piece(chooser),
      size: chooser.pick(SIZES),
    };
  },
  check: async (call) => {
    let held = Number.POSITIVE_INFINITY;
    let read = Number.POSITIVE_INFINITY;
    for (let times = 0; times < REPEATS; times++) {
      held = Math.min(held, await heldBy(call.tool, argumentsOf(call)));
      if (held <= HELD_MAX_MS) return;
      read = Math.min(read, await heldBy("mempalace_nothing", { text: ofSize(WORDS, call.size) }));
    }
    expect(held / read, `held for ${Math.round(held)} ms, by no tool ${Math.round(read)} ms`).toBeLessThan(
      READ_MAX_RATIO,
    );
  },
  finish: async () => expect(await client.call("palace.status", {})).toMatchObject({ state: "ready" }),
});

/** One of the known pieces, or a few of them together. */
function piece(chooser: Chooser): string {
  return chooser.chance(0.6)
    ? chooser.pick(PIECES)
    : [chooser.pick(PIECES), ...chooser.some(3, () => chooser.pick(PIECES))].join("");
}

/** The prober's longest wait beside the call, ms; other processes do not count. */
async function heldBy(tool: string, values: Record<string, unknown>): Promise<number> {
  let answered = false;
  const waits = probesUntil(() => answered);
  await client.callTool(tool, values as JsonObject).catch(() => undefined);
  answered = true;
  return Math.max(...(await waits));
}

/** One probe at least, and the one that is under way when `ended` comes true. */
async function probesUntil(ended: () => boolean): Promise<number[]> {
  const waits: number[] = [];
  do {
    const [sent, queued] = [performance.now(), queuedMs()];
    await prober.call("palace.status", {});
    waits.push(performance.now() - sent - (queuedMs() - queued));
    await turn();
  } while (!ended());
  return waits;
}

/** How long the broker's main thread was ready to run and had no processor, in all. Linux counts it in nanoseconds. */
function queuedMs(): number {
  const [, queued] = readFileSync(`/proc/${broker}/task/${broker}/schedstat`, "utf8").split(" ");
  return Number(queued) / 1e6;
}

/** What the tool requires as it should be, so that it comes to the hostile parameter. */
function argumentsOf({ tool: name, parameter, piece: part, size }: Call): Record<string, unknown> {
  const tool = toolsOf("full").find((one) => one.name === name) as ListedTool;
  const { properties, required = [] } = tool.inputSchema;
  const text = ofSize(part, size);
  const sane: (readonly [string, unknown])[] = required.map((need) => [need, saneValue(need, properties[need])]);
  // What waits is not asked to.
  if ("timeout_ms" in properties) sane.push(["timeout_ms", 1]);
  return { ...Object.fromEntries(sane), [parameter]: hostileValue(text, properties[parameter]) };
}

/** So long on the wire, where some characters are six. */
function ofSize(part: string, size: number): string {
  const length = Math.floor((size * part.length) / Buffer.byteLength(JSON.stringify(part)));
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

function saneValue(name: string, schema: PropertySchema | undefined): unknown {
  if (name === "drawer_id") return known.drawer_id;
  if (schema?.type === "array") return [];
  return schema?.type === "integer" || schema?.type === "number" ? 1 : "w";
}

function hostileValue(text: string, schema: PropertySchema | undefined): unknown {
  if (schema?.type === "object") return { agent_name: "w", topic: text, entry: text };
  if (schema?.type !== "array") return text;
  const halves = [text.slice(0, text.length / 2), text.slice(text.length / 2)];
  return schema.items?.type === "object"
    ? halves.map((half) => ({ wing: "w", room: "r", content: half, source_file: half }))
    : halves;
}
