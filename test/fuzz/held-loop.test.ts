/**
 * A long hostile text in a parameter of a tool: whatever it is, the broker goes on answering everybody else. A prober asks
 * all the while; its longest wait is how long one call held the broker's loop. A machine can be slow for reasons of its
 * own, so a long wait counts only where the same call makes it again every time, against the prober's wait beside it.
 */
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { type Client, connectClient } from "../../src/client/client.ts";
import type { JsonObject } from "../../src/protocol/spec.ts";
import { type PropertySchema, type Tool, TOOLS } from "../../src/engine/tools/tool-table.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";

/** As an idle broker answers within half a millisecond, 200 times that is the tenth of a second that nobody may be held. */
const HELD_MAX_RATIO = 200;
const HELD_MAX_MS = 100;
const REPEATS = 6;
/** Around the limits of parameters, and the size that every parameter must bear. */
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
let client: Client;
let prober: Client;
let known: { drawer_id: string };

beforeAll(async () => {
  palace = createTestPalace();
  await palace.startBroker();
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
  count: 700,
  generate: (chooser): Call => {
    const tool = chooser.pick(TOOLS.filter((one) => Object.keys(one.inputSchema.properties).length > 0));
    return {
      tool: tool.name,
      parameter: chooser.pick(Object.keys(tool.inputSchema.properties)),
      piece: piece(chooser),
      size: chooser.pick(SIZES),
    };
  },
  check: async (call) => {
    let waits: Waits = { idle: 0, beside: Number.POSITIVE_INFINITY };
    for (let times = 0; times < REPEATS; times++) {
      const again = await waitsOf(call);
      if (again.beside < waits.beside) waits = again;
      if (waits.beside <= HELD_MAX_MS) return;
    }
    expect(waits.beside / waits.idle, `held for ${Math.round(waits.beside)} ms`).toBeLessThan(HELD_MAX_RATIO);
  },
  finish: async () => expect(await client.call("palace.status", {})).toMatchObject({ state: "ready" }),
});

/** One of the known pieces, or a few of them together. */
function piece(chooser: Chooser): string {
  return chooser.chance(0.6)
    ? chooser.pick(PIECES)
    : [chooser.pick(PIECES), ...chooser.some(3, () => chooser.pick(PIECES))].join("");
}

/** Milliseconds: the prober's median with nothing beside it, and its longest wait beside the call. */
type Waits = { idle: number; beside: number };

async function waitsOf(call: Call): Promise<Waits> {
  const idle = (await probes(5)).sort((a, b) => a - b)[2] as number;
  let answered = false;
  const beside = probesUntil(() => answered);
  await client.callTool(call.tool, argumentsOf(call) as JsonObject).catch(() => undefined);
  answered = true;
  return { idle, beside: Math.max(...(await beside)) };
}

async function probes(count: number): Promise<number[]> {
  let left = count;
  return probesUntil(() => --left <= 0);
}

/** One probe at least, and the one that is under way when `ended` comes true. */
async function probesUntil(ended: () => boolean): Promise<number[]> {
  const waits: number[] = [];
  do {
    const sent = performance.now();
    await prober.call("palace.status", {});
    waits.push(performance.now() - sent);
    await turn();
  } while (!ended());
  return waits;
}

/** What the tool requires as it should be, so that it comes to the hostile parameter. */
function argumentsOf({ tool: name, parameter, piece: part, size }: Call): Record<string, unknown> {
  const tool = TOOLS.find((one) => one.name === name) as Tool;
  const { properties, required = [] } = tool.inputSchema;
  const text = part.repeat(Math.ceil(size / part.length)).slice(0, size);
  const sane = required.map((need) => [need, saneValue(need, properties[need])] as const);
  return { ...Object.fromEntries(sane), [parameter]: hostileValue(text, properties[parameter]) };
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
