/** Tests profiles on a real ledger. Each profile has its own ids, lessons, conversations, ageing, undo and forgetting. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Profile, profileKey, profilesIn, readerOf } from "../../../src/learning/memory/profiles.ts";
import { effectivenessIn, lessonsOf } from "../../../src/learning/search/lessons.ts";
import { listMemories } from "../../../src/learning/memory/list-memories.ts";
import type { Collection } from "../../../src/learning/memory/memory.ts";
import { dueMemories } from "../../../src/learning/scoring/retention.ts";
import { plainTime } from "../../../src/learning/scoring/true-time.ts";
import { memoryStats, why } from "../../../src/learning/scoring/why.ts";
import { DRAWER_SIZE_MAX } from "../../../src/protocol/limits.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { SqliteLedgerReader } from "../../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";

const HOUR_MS = 3_600_000;
const ASKED = "Why does the zeppelin pipeline time out?";
const PROFILES: readonly Profile[] = [undefined, "work", "home"];

let folder: string;
let writer: LedgerWriter;
let reader: SqliteLedgerReader;
let clock: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ledger-"));
  writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
  reader = new SqliteLedgerReader(join(folder, "ledger.sqlite3"));
  clock = Date.parse("2026-01-01T00:00:00Z");
});
afterEach(() => {
  reader.close();
  writer.close();
  rmSync(folder, { recursive: true, force: true });
});

type Written = { id: string; memories: number; moved: number; gone: number; missing: unknown };

function write(
  method: string,
  params: Record<string, unknown>,
  { agent = "ada", profile, ...more }: { agent?: string; profile?: Profile; findings?: unknown; key?: string } = {},
): Written {
  clock += 1000;
  const peer = { agent, door: "unix", uid: 0, pid: 1 };
  const named = profile === undefined ? params : { ...params, profile };
  const call = { key: `k${clock}`, isRepeatable: true, method, params: named, peer, requestId: "r", atMs: clock };
  const [done] = writer.commit([{ ...call, ...more }]).outcomes;
  if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
  return done.outcome.value as Written;
}

/** Shows a memory in a turn of the conversation, and scores it as worked. */
function praised(profile: Profile, id: string, conversation: string): void {
  write("turn.begin", { conversation }, { profile, findings: { drawers: [id], mark: undefined } });
  write("turn.end", { conversation, user: ASKED, assistant: "It is locked." }, { profile });
  write("turn.begin", { conversation }, { profile });
  expect(
    write("outcome.score", { outcome: "worked", memory_scores: { [id]: "worked" }, conversation }, { profile }),
  ).toMatchObject({
    memories: 1,
  });
}

const takeaway = (profile: Profile, text: string): string =>
  write("outcome.record", { key_takeaway: text }, { profile }).id;
const textsOf = async (profile: Profile): Promise<string[]> =>
  (await listMemories({ reader: readerOf(reader, profile) }, {})).map(({ text }) => text);
const pastOf = (profile: Profile, id: string): number | undefined => {
  const told = why(readerOf(reader, profile), id, clock);
  return told.found ? told.uses : undefined;
};

test("profiles whose names have the same slug get different keys", () => {
  expect(["work", "Work", "work!", "my-home", "My home", "öl", "!", ""].map(profileKey)).toEqual([
    "work",
    expect.stringMatching(/^work-[0-9a-f]{12}$/),
    expect.stringMatching(/^work-[0-9a-f]{12}$/),
    expect.stringMatching(/^my_home-[0-9a-f]{12}$/),
    expect.stringMatching(/^my_home-[0-9a-f]{12}$/),
    expect.stringMatching(/^l-[0-9a-f]{12}$/),
    undefined,
    undefined,
  ]);
  expect(new Set(["work", "Work", "work!", "my-home", "My home"].map(profileKey)).size).toBe(5);
  for (const profile of ["", "Work", "a/b", "work-1", 7, null])
    expect(() => write("outcome.record", { key_takeaway: "Nobody's", profile })).toThrow("PROTOCOL_BAD_PARAMS");
});

test("the same text in two profiles makes two memories", async () => {
  const summary = { outcome: "worked", exchange_summary: "The hangar was locked", facts: ["It is locked on Sundays"] };
  for (const profile of [...PROFILES, ...PROFILES]) write("outcome.score", summary, { profile });
  for (const profile of PROFILES)
    expect(await textsOf(profile)).toEqual(["The hangar was locked", "It is locked on Sundays"]);
  expect(profilesIn(reader.places())).toEqual(new Set(PROFILES));
});

test("a profile learns no lessons from another profile", () => {
  const [ours, theirs] = [takeaway(undefined, "Unlock the hangar"), takeaway("work", "Unlock the work hangar")];
  for (let turn = 0; turn < 3; turn++) praised(undefined, ours, "c1");
  // Stores more outcomes than a search reads for one concept.
  for (let turn = 0; turn < 45; turn++) praised("work", theirs, "c1");
  const lessons = (profile: Profile): Set<string> => new Set(lessonsOf(readerOf(reader, profile), ASKED).solved.keys());
  expect(lessons(undefined)).toContain(ours);
  expect(lessons(undefined)).not.toContain(theirs);
  expect(lessons("work")).toContain(theirs);
  expect(lessons("work")).not.toContain(ours);
  expect(lessons("home")).toEqual(new Set());
  const effective = (room: Collection): unknown[] =>
    PROFILES.map((profile) => effectivenessIn(readerOf(reader, profile), ASKED)(room));
  expect(effective("working")).toEqual([1, 1, undefined]);
  expect(effective("patterns")).toEqual([undefined, 1, undefined]);
  expect(pastOf(undefined, ours)).toBe(3);
  expect([pastOf(undefined, theirs), pastOf("home", theirs), pastOf("work", ours)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("a conversation is scored and counted only in its own profile", async () => {
  const theirs = takeaway("work", "Unlock the work hangar");
  write("turn.begin", { conversation: "c1" }, { profile: "work", findings: { drawers: [theirs], mark: undefined } });
  write("turn.end", { conversation: "c1", user: ASKED, assistant: "It is locked." }, { profile: "work" });
  write("turn.begin", { conversation: "c1" }, { profile: "work" });
  // The only conversation that waits for a score belongs to another profile.
  for (const conversation of ["c1", "default", "mcp_x", "work\u001fc1"])
    for (const profile of [undefined, "home"]) {
      const score = { outcome: "failed", memory_scores: { [theirs]: "failed" }, conversation };
      expect(write("outcome.score", score, { profile })).toMatchObject({ memories: 0 });
    }
  for (const profile of [undefined, "home"]) write("outcome.score", { outcome: "failed" }, { profile });
  expect(write("score_memories", { memory_scores: { [theirs]: "failed" }, profile: "work" })).toMatchObject({
    text: expect.stringContaining("0 memories"),
  });
  expect(pastOf("work", theirs)).toBe(0);
  write("turn.begin", { conversation: "work\u001fc1" });
  const kept = async (profile: Profile): Promise<number> =>
    (await memoryStats(readerOf(reader, profile))).conversations;
  expect(await Promise.all([kept(undefined), kept("work"), kept("home")])).toEqual([1, 1, 0]);
  expect(readerOf(reader, undefined).shownIn("work\u001fc1")).toEqual(new Set());
  expect(readerOf(reader, "work").conversation("c1")).toMatchObject({
    id: "c1",
    turn: 2,
    isAsked: true,
    isScored: false,
  });
});

test("ageing is separate for each profile, and undo and forget reach every profile", async () => {
  const ids = PROFILES.map((profile) => takeaway(profile, `The zeppelin of ${profile ?? "all"} is grey`));
  const proven = takeaway("work", "Unlock the work hangar");
  for (let turn = 0; turn < 4; turn++) praised("work", proven, `c${turn}`);
  const moved = why(readerOf(reader, "work"), proven, clock);
  expect(moved).toMatchObject({ room: "history", drawer: proven, wing: "roampal" });

  clock += 25 * HOUR_MS;
  const now = plainTime(clock);
  expect(await dueMemories({ reader: readerOf(reader, undefined) }, now, false)).toEqual([ids[0]]);
  const due = await dueMemories({ reader: readerOf(reader, "work") }, now, false);
  expect(due).toContain(ids[1]);
  // A request of one profile does not age another profile's memories.
  const age = { ids: [...due, ...ids], time: now, isStart: false };
  write("memory.age", age, { profile: "work", agent: "palace ageing" });
  expect(reader.findDrawer(String(ids[1]))).toBeUndefined();
  expect(reader.findDrawer(String(ids[0]))).toBeDefined();
  expect(reader.findDrawer(String(ids[2]))).toBeDefined();

  const undo = { agent: "palace ageing", sinceMs: clock - HOUR_MS, untilMs: clock + HOUR_MS };
  write("memory.undo", undo, { agent: "palace undo" });
  expect(await textsOf("work")).toContain("Key takeaway: The zeppelin of work is grey");

  // The shown id differs from the id of the memory's drawer.
  const shown = moved.found ? moved.id : "";
  expect(shown).not.toBe(proven);
  write("memory.forget", {}, { findings: { ids: [shown] } });
  expect(reader.findDrawer(proven)).toBeUndefined();
  write("memory.forget", {}, { findings: { match: "zeppelin" } });
  for (const profile of PROFILES)
    expect((await textsOf(profile)).filter((text) => text.includes("zeppelin"))).toEqual([]);
});

test("no chunk of a book is longer than a drawer may be, even if a sentence has no end", () => {
  const rest = "雨が降る。".repeat(50_000);
  const { chunks } = write("book.ingest", {
    title: "Rain",
    source: "rain.txt",
    content: `One. ${rest}`,
  }) as unknown as {
    chunks: number;
  };
  const texts = reader.newestDrawers(undefined, chunks).map(({ text }) => text);
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(DRAWER_SIZE_MAX);
  expect(texts.reduce((sum, { length }) => sum + length, 0)).toBeGreaterThanOrEqual(rest.length);
});

test("the chunks of a book do not split a character of two UTF-16 units", () => {
  const book = { title: "Signs", source: "signs.txt", content: `a${"🙂".repeat(1_500)}`, overlap: 0 };
  const { chunks } = write("book.ingest", book) as unknown as { chunks: number };
  const ordered = reader
    .newestDrawers(undefined, chunks)
    .toSorted((one, other) => Number(one.metadata["chunk_index"]) - Number(other.metadata["chunk_index"]));
  expect(ordered.map(({ text }) => text).join("") === book.content).toBe(true);
});
