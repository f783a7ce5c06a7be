/**
 * The tools that do not write the ledger: tool name → answer. Runs on the broker's main thread. Domain errors are
 * ordinary results, an object with `error`, as in upstream (palace.md 2.4, 2.10).
 */
import type { GraphReader, RoomCount } from "../../memory/port/graph.ts";
import type { LedgerReader } from "../../memory/port/ledger.ts";
import type { SourceFiles } from "../../memory/port/source.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";
import { getDrawers } from "../../memory/drawer/batch.ts";
import { readDiary } from "../../memory/drawer/diary.ts";
import { drawerPayload, findLogical, shownId, listDrawers, listedDrawer } from "../../memory/drawer/logical.ts";
import { factStats, factTimeline, queryFacts } from "../../memory/graph/facts.ts";
import { findTunnels, graphStats, traverse } from "../../memory/graph/rooms.ts";
import { followTunnels, listHallways, listTunnels } from "../../memory/graph/tunnels.ts";
import { answeringLater } from "../../learning/answer.ts";
import { apart, type Profile, profileIn, readerOf } from "../../learning/apart.ts";
import { contextInsights, searchMemory } from "../../learning/recall.ts";
import { findFact } from "../../learning/near-facts.ts";
import { searchedFor } from "../../learning/score.ts";
import type { OwnSearches, Searches } from "../../learning/searched.ts";
import { checkDuplicate, compareItems } from "../../memory/search/duplicate.ts";
import { placeFilter, searchTool } from "../../memory/search/search-tool.ts";
import type { SearchDependencies } from "../../memory/search/search.ts";
import { reportSync } from "../../memory/source/sync.ts";
import { asText, clampLimit, InvalidValue, validFilter, validName } from "../../memory/text/validate.ts";
import { validWindow } from "../../memory/text/window.ts";
import { Looked, NOTHING } from "./nothing.ts";
import { AAAK_TEXT, PROTOCOL_TEXT } from "./teaching.ts";

/** Settings and notices that live in upstream's JSON files, not in the ledger. */
export interface SettingsStore {
  hooks(): { silent_save: boolean; desktop_toast: boolean };
  /** Rewrites config.json as a whole; unknown keys survive. */
  setHooks(change: { silent_save?: boolean; desktop_toast?: boolean }): void;
  /** Reads and removes the notice of the last checkpoint. */
  takeCheckpoint():
    | { found: false }
    | { found: true; messages: number; timestamp: string | null }
    | { found: "unreadable" };
}

export type ReadContext = SearchDependencies & {
  reader: LedgerReader & { drawerCount(): number };
  /** False without a palace: no drawer was ever filed, and Chroma has made no files here. */
  isFounded: () => boolean;
  settings: SettingsStore;
  files: SourceFiles;
  /** Characters of a row, for what an agent files. */
  drawerSize: number;
  /** The reason why adoption of the palace is not complete; undefined: it is complete. */
  adopting?: () => string | undefined;
  /** Recent searches of agents. */
  searches: Searches;
  /** Resolves when the drawers filed so far have their vectors, or after the given time, ms. */
  settled: (timeoutMs: number) => Promise<void>;
  graph: {
    /** Resolves when what others wrote into upstream's graph files so far is adopted, or after a moment. */
    fresh: () => Promise<void>;
    /** Resolves when what was committed is in the files, or after a moment. */
    sent: () => Promise<void>;
    /** Reads every drawer's metadata, on another thread. */
    rooms: () => Promise<RoomCount[]>;
  };
};

/** The context of one call, with the searches of the agent that makes it. */
export type AgentContext = ReadContext & { own: OwnSearches };

type Arguments = Record<string, unknown>;
type ReadTool = (context: AgentContext, values: Arguments) => unknown;
type PalaceRead = ToolsWith<{ kind: "read"; keeper: "palace" }>;

const NO_PALACE = { error: "No palace found", hint: "Run: mempalace init <dir> && mempalace mine <dir>" };

const TOOLS: Readonly<Record<PalaceRead, ReadTool>> = {
  status: founded(({ reader }) => {
    const places = reader.places();
    return {
      total_drawers: sum(places),
      wings: countBy(places, "wing"),
      rooms: countBy(places, "room"),
      protocol: PROTOCOL_TEXT,
      aaak_dialect: AAAK_TEXT,
    };
  }),
  list_wings: founded(({ reader }) => ({ wings: countBy(reader.places(), "wing") })),
  list_rooms: founded(({ reader }, { wing }) => {
    const filter = validFilter(wing, "wing");
    const places = reader.places().filter((place) => filter === undefined || place.wing === filter);
    return { wing: filter ?? "all", rooms: countBy(places, "room") };
  }),
  get_taxonomy: founded(({ reader }) => {
    const taxonomy = Object.create(null) as Record<string, Record<string, number>>;
    for (const { wing, room, drawers } of reader.places())
      (taxonomy[wing] ??= Object.create(null) as Record<string, number>)[room] = drawers;
    return { taxonomy };
  }),
  get_aaak_spec: () => ({ aaak_spec: AAAK_TEXT }),
  kg_query: graph((reader, values) => queryFacts(reader, values, Date.now())),
  kg_timeline: graph(factTimeline),
  kg_stats: graph(factStats),
  traverse: founded(async ({ graph }, values) => traverse(await graph.rooms(), values)),
  find_tunnels: founded(async ({ graph }, values) => {
    for (const key of ["wing_a", "wing_b"]) validFilter(values[key], key);
    return findTunnels(await graph.rooms(), values);
  }),
  graph_stats: founded(async ({ reader, graph }) => {
    await graph.fresh();
    return graphStats(await graph.rooms(), reader.graph.links("tunnel").length);
  }),
  list_tunnels: graph(listTunnels),
  list_hallways: graph(listHallways),
  follow_tunnels: founded(async ({ reader, graph }, values) => {
    for (const key of ["wing", "room"]) validName(values[key], key);
    await graph.fresh();
    return followTunnels(reader, values);
  }),
  search: founded((context, values) => searchTool(context, values, "auto"), { ...NO_PALACE, results: [] }),
  check_duplicate: founded((context, values) =>
    checkDuplicate(context, values).catch((error: unknown) => {
      if (error instanceof Looked) throw error;
      return { error: "Duplicate check failed" };
    }),
  ),
  get_drawer: founded(({ reader }, values) => {
    const id = asText(values["drawer_id"]);
    const drawer = findLogical(reader, id);
    return drawer === undefined ? { error: `Drawer not found: ${shownId(id)}` } : drawerPayload(drawer);
  }),
  get_drawers: founded(({ reader }, values) => getDrawers(reader, values)),
  list_drawers: founded(({ reader }, values) => {
    const filter = { ...placeFilter(values), ...validWindow(values) };
    const limit = clampLimit(values["limit"], 20);
    // A number beyond SQLite's range means the end.
    const offset = Math.min(Math.max(0, Number(values["offset"] ?? 0)), Number.MAX_SAFE_INTEGER);
    const { drawers, total } = listDrawers(reader, filter, limit, offset);
    const shown = drawers.map(listedDrawer);
    return { drawers: shown, total, count: shown.length, offset, limit };
  }),
  diary_read: founded(({ reader }, values) => readDiary(reader, values)),
  hook_settings: ({ settings }, values) => {
    const change: { silent_save?: boolean; desktop_toast?: boolean } = {};
    for (const key of ["silent_save", "desktop_toast"] as const)
      if (typeof values[key] === "boolean") change[key] = values[key];
    const changed = Object.entries(change);
    if (changed.length > 0) settings.setHooks(change);
    const updated = changed.map(([key, value]) => `${key} → ${value ? "True" : "False"}`);
    return { success: true, settings: settings.hooks(), ...(updated.length > 0 && { updated }) };
  },
  memories_filed_away: ({ settings }) => {
    const checkpoint = settings.takeCheckpoint();
    if (checkpoint.found === false)
      return { status: "quiet", message: "No recent journal entry", count: 0, timestamp: null };
    if (checkpoint.found === "unreadable")
      return { status: "error", message: "✦ Journal entry filed in the palace", count: 0, timestamp: null };
    const { messages, timestamp } = checkpoint;
    return { status: "ok", message: `✦ ${messages} messages tucked into drawers`, count: messages, timestamp };
  },
  search_memory: answeringLater((context, values) => searchMemory(apart(context, undefined), values, Date.now())),
  get_context_insights: answeringLater((context, values) =>
    contextInsights(apart(context, undefined), values, Date.now()),
  ),
  reconnect: founded(({ reader, embedder, embedderDetail }) => ({
    success: true,
    message: "Reconnected to palace",
    drawers: reader.drawerCount(),
    vector_disabled: embedder() === undefined,
    vector_disabled_reason: embedder() === undefined ? embedderDetail() : "",
  })),
};

/** Errors: any; the caller answers with -32000. */
export async function runReadTool(context: AgentContext, name: PalaceRead, values: Arguments): Promise<unknown> {
  try {
    return withAdoption(context, await TOOLS[name](context, values));
  } catch (error) {
    if (error instanceof InvalidValue) return { error: error.message };
    throw error;
  }
}

/** Adds a notice to the answer while the palace is still being adopted, above all if it looks empty. */
export function withAdoption({ adopting }: Pick<ReadContext, "adopting">, value: unknown): unknown {
  const detail = adopting?.();
  if (detail === undefined || typeof value !== "object" || value === null) return value;
  const { notice, ...said } = value as Record<string, unknown>;
  if (said["error"] === NO_PALACE.error) return { ...said, error: `No palace yet: ${detail}`, hint: "palace doctor" };
  return { ...said, notice: [notice, detail].filter(Boolean).join(" ") };
}

/** Findings of this thread that a write needs before the other thread applies it; most writes need none. */
const PREPARATIONS: Readonly<
  Record<
    ToolsWith<{ isPrepared: true }> | Extract<MethodName, "fact.update" | "fact.archive" | "outcome.score">,
    ReadTool
  >
> = {
  checkpoint: compareItems,
  sync: ({ reader, files }, values) => reportSync(reader, files, values),
  update_memory: (context, values) => factToUpdate(context, values, undefined),
  "fact.update": (context, values) => factToUpdate(context, values, profileIn(values)),
  delete_memory: (context, values) => factToArchive(context, values, undefined),
  "fact.archive": (context, values) => factToArchive(context, values, profileIn(values)),
  score_memories: ({ reader, own }, values) => searchedFor({ reader: readerOf(reader, undefined), own }, values),
  "outcome.score": ({ reader, own }, values) =>
    searchedFor({ reader: readerOf(reader, profileIn(values)), own }, values),
  delete_by_source: ({ files }, { source_file: given }) => (typeof given === "string" ? files.stagedAs(given) : []),
};

function factToUpdate(
  context: ReadContext,
  { old_content: given }: Arguments,
  profile: Profile,
): Promise<string | undefined> {
  return findFact(apart(context, profile), given, "update");
}

function factToArchive(
  context: ReadContext,
  { content: given }: Arguments,
  profile: Profile,
): Promise<string | undefined> {
  return findFact(apart(context, profile), given, "archive");
}

export function needsFindings(method: string): method is keyof typeof PREPARATIONS {
  return Object.hasOwn(PREPARATIONS, method);
}

export async function prepareWrite(
  context: AgentContext,
  method: keyof typeof PREPARATIONS,
  values: Arguments,
): Promise<unknown> {
  return PREPARATIONS[method](context, values);
}

/** Answers as upstream does without a palace. A palace without drawers is still a palace. */
function founded(read: ReadTool, absent: object = NO_PALACE): ReadTool {
  return (context, values) => (context.isFounded() ? read(context, values) : withoutPalace(read, values, absent));
}

/** Refuses arguments that no palace could answer first, as upstream does: the code of the read itself decides. */
async function withoutPalace(read: ReadTool, values: Arguments, absent: object): Promise<unknown> {
  try {
    return await read(NOTHING as AgentContext, values);
  } catch (error) {
    if (error instanceof Looked) return absent;
    throw error;
  }
}

/** The graph is read after others' writes are adopted; it needs no palace. */
function graph(read: (reader: GraphReader, values: Arguments) => unknown): ReadTool {
  return async ({ reader, graph }, values) => {
    await graph.fresh();
    return read(reader.graph, values);
  };
}

function sum(places: readonly { drawers: number }[]): number {
  return places.reduce((total, { drawers }) => total + drawers, 0);
}

function countBy(
  places: readonly { wing: string; room: string; drawers: number }[],
  key: "wing" | "room",
): Record<string, number> {
  const counts = Object.create(null) as Record<string, number>;
  for (const place of places) counts[place[key]] = (counts[place[key]] ?? 0) + place.drawers;
  return counts;
}
