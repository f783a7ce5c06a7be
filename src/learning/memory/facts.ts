/** Adds, changes and archives an agent's facts and takeaways (outcome-memory.md 2.11, 5.3–5.5, 5.7). */
import type { Drawer, Metadata } from "../../memory/port/drawer.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import { InvalidValue, validContent } from "../../memory/text/validate.ts";
import { CAPACITY, weightOf } from "./fact-rules.ts";
import { ARCHIVE_ROOM, isoTime, MEMORY_WING, storeMemory } from "./as-drawer.ts";

const TAGS_MAX = 20;
const TAG_MAX = 100;
const STARTING_SCORES: ReadonlyMap<unknown, number> = new Map([
  ["worked", 0.7],
  ["failed", 0.2],
  ["partial", 0.55],
]);

export function addToBank(tx: MemoryTx, call: WriteCall): { id: string } {
  const { params } = call;
  const text = validContent(params["content"]);
  const tags = readTags(params["tags"]);
  const held = tx.drawersIn(MEMORY_WING, "memory_bank");
  if (held >= CAPACITY)
    throw new InvalidValue(`the memory bank is full: ${held}/${CAPACITY} facts; delete_memory removes one`);
  const fields: Metadata = {
    ...{ tags: JSON.stringify(tags), ...weightOf(params), status: "active", mentioned_count: 1 },
    ...{ last_mentioned: isoTime(call.atMs), always_inject: params["always_inject"] === true },
  };
  return { id: storeMemory(tx, call, { collection: "memory_bank", text, fields }) };
}

/** Returns null if the text refers to no stored fact. */
export function updateFact(tx: MemoryTx, call: WriteCall): { id: string | null } {
  const text = validContent(call.params["new_content"], "new_content");
  const fact = meant(tx, call);
  if (fact === undefined) return { id: null };
  const metadata = { ...fact.metadata, updated_at: isoTime(call.atMs), update_reason: "update_memory" };
  tx.updateDrawer(fact.id, { text, metadata });
  return { id: fact.id };
}

/** Archives a fact: tools of the profile `outcome` do not find it any more, but `undo` can restore it. */
export function archiveFact(tx: MemoryTx, call: WriteCall): { id: string | null } {
  const fact = meant(tx, call);
  if (fact === undefined) return { id: null };
  const archived = { status: "archived", archived_at: isoTime(call.atMs), archive_reason: "delete_memory" };
  tx.updateDrawer(fact.id, { metadata: { ...fact.metadata, room: ARCHIVE_ROOM, ...archived } });
  return { id: fact.id };
}

export function recordTakeaway(tx: MemoryTx, call: WriteCall): { id: string; text: string } {
  const { key_takeaway: given, initial_score: outcome } = call.params;
  if (given === undefined || given === "") throw new InvalidValue("'key_takeaway' is required");
  const text = validContent(given, "key_takeaway");
  const score = STARTING_SCORES.get(outcome);
  if (outcome !== undefined && outcome !== null && score === undefined)
    throw new InvalidValue(`initial_score must be one of ${[...STARTING_SCORES.keys()].join(", ")}`);
  const fields: Metadata = {
    ...{ type: "key_takeaway", timestamp: isoTime(call.atMs), query: text },
    ...(typeof outcome === "string" && { initial_outcome: outcome }),
  };
  const id = storeMemory(tx, call, {
    ...{ collection: "working", text: `Key takeaway: ${text}`, fields },
    ...(score !== undefined && { score }),
  });
  return { id, text };
}

function meant(tx: MemoryTx, { findings }: WriteCall): Drawer | undefined {
  const fact = typeof findings === "string" ? tx.findDrawer(findings) : undefined;
  return fact?.wing === MEMORY_WING && fact.room === "memory_bank" ? fact : undefined;
}

function readTags(given: unknown): string[] {
  if (given === undefined || given === null) return [];
  const isTag = (tag: unknown): tag is string => typeof tag === "string" && tag.length <= TAG_MAX;
  if (!Array.isArray(given) || given.length > TAGS_MAX || !given.every(isTag))
    throw new InvalidValue(`tags must be a list of at most ${TAGS_MAX} texts, each of ${TAG_MAX} characters at most`);
  return given;
}
