/** Tools that read the palace, by name. Domain errors are results with `error`, as in MemPalace (palace.md 2.4, 2.10). */
import type { GraphReader, RoomCount } from "../port/graph.ts";
import type { LedgerReader } from "../port/ledger.ts";
import type { SourceFiles } from "../port/source.ts";
import { AAAK_TEXT, PROTOCOL_TEXT } from "../../protocol/teaching.ts";
import { getDrawers } from "../drawer/batch.ts";
import { readDiary } from "../drawer/diary.ts";
import { drawerPayload, findLogical, shownId, listDrawers, listedDrawer } from "../drawer/logical.ts";
import { factStats, factTimeline, queryFacts } from "../graph/facts.ts";
import { findTunnels, graphStats, traverse } from "../graph/rooms.ts";
import { followTunnels, listHallways, listTunnels } from "../graph/tunnels.ts";
import { checkDuplicate, type CompareDependencies, compareItems } from "../search/duplicate.ts";
import { resolvePlace } from "../search/filter-names.ts";
import { hintOf, placeFilter, searchTool } from "../search/search-tool.ts";
import { reportSync } from "../source/sync.ts";
import { asText, clampLimit, validFilter, validName } from "../text/validate.ts";
import { validWindow } from "../text/window.ts";
import { Looked, NOTHING } from "./nothing.ts";

/** The parts of an open palace that the tools for reading use. */
export type MemoryContext = CompareDependencies & {
  reader: LedgerReader & { drawerCount(): number };
  /** Returns false if no palace exists: nobody has filed a drawer, and Chroma has made no files in this folder. */
  isFounded: () => boolean;
  files: SourceFiles;
  /** Returns the reason why the palace is not adopted completely yet; undefined once it is. */
  adopting?: () => string | undefined;
  graph: {
    /** Resolves when other programs' changes to upstream's graph files are adopted, or after a short time. */
    fresh: () => Promise<void>;
    /** Resolves when committed rows are in upstream's graph files, or after a short time. */
    sent: () => Promise<void>;
    /** Counts the drawers of each room. Reads every drawer's metadata, on another thread. */
    rooms: () => Promise<RoomCount[]>;
  };
};

type Arguments = Record<string, unknown>;
type MemoryRead = (context: MemoryContext, values: Arguments) => unknown;

const NO_PALACE = { error: "No palace found", hint: "Run: mempalace init <dir> && mempalace mine <dir>" };

export const MEMORY_READS = {
  status: founded(({ reader }) => {
    const places = reader.places();
    return {
      total_drawers: places.reduce((total, { drawers }) => total + drawers, 0),
      wings: countBy(places, "wing"),
      rooms: countBy(places, "room"),
      protocol: PROTOCOL_TEXT,
      aaak_dialect: AAAK_TEXT,
    };
  }),
  list_wings: founded(({ reader }) => ({ wings: countBy(reader.places(), "wing") })),
  list_rooms: founded(({ reader }, { wing }) => {
    const asked = validFilter(wing, "wing");
    const { filter, hints } = resolvePlace(reader, asked === undefined ? {} : { wing: asked });
    const places = reader.places().filter((place) => asked === undefined || place.wing === filter.wing);
    return { wing: filter.wing ?? "all", rooms: countBy(places, "room"), ...hintOf(hints) };
  }),
  get_taxonomy: founded(({ reader }) => {
    const taxonomy = Object.create(null) as Record<string, Record<string, number>>;
    for (const { wing, room, drawers } of reader.places())
      (taxonomy[wing] ??= Object.create(null) as Record<string, number>)[room] = drawers;
    return { taxonomy };
  }),
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
    const [asked, window] = [placeFilter(values), validWindow(values)];
    const limit = clampLimit(values["limit"], 20);
    // An offset beyond SQLite's largest integer is reduced to an offset that is still beyond the end of the list.
    const offset = Math.min(Math.max(0, Number(values["offset"] ?? 0)), Number.MAX_SAFE_INTEGER);
    const { filter, hints } = resolvePlace(reader, asked);
    const { drawers, total } = listDrawers(reader, { ...filter, ...window }, limit, offset);
    const shown = drawers.map(listedDrawer);
    return { drawers: shown, total, count: shown.length, offset, limit, ...hintOf(hints) };
  }),
  diary_read: founded(({ reader }, values) => readDiary(reader, values)),
  reconnect: founded(({ reader, embedder, embedderDetail }) => ({
    success: true,
    message: "Reconnected to palace",
    drawers: reader.drawerCount(),
    vector_disabled: embedder() === undefined,
    vector_disabled_reason: embedder() === undefined ? embedderDetail() : "",
  })),
} satisfies Record<string, MemoryRead>;

/** Functions that compute, on the main thread, the data (`findings`) that a write needs. */
export const MEMORY_FINDINGS = {
  checkpoint: compareItems,
  sync: ({ reader, files }, values) => reportSync(reader, files, values),
  delete_by_source: ({ files }, { source_file: given }) => (typeof given === "string" ? files.stagedAs(given) : []),
} satisfies Record<string, MemoryRead>;

/** Adds a notice to the answer while the palace is still being adopted. */
export function withAdoption({ adopting }: Pick<MemoryContext, "adopting">, value: unknown): unknown {
  const detail = adopting?.();
  if (detail === undefined || typeof value !== "object" || value === null) return value;
  const { notice, ...said } = value as Record<string, unknown>;
  if (said["error"] === NO_PALACE.error) return { ...said, error: `No palace yet: ${detail}`, hint: "palace doctor" };
  return { ...said, notice: [notice, detail].filter(Boolean).join(" ") };
}

/** Wraps a read so that it answers as upstream does if no palace exists. */
function founded(read: MemoryRead, absent: object = NO_PALACE): MemoryRead {
  return (context, values) => (context.isFounded() ? read(context, values) : withoutPalace(read, values, absent));
}

/** Answers a read if no palace exists. The read runs on `NOTHING`, so that it still refuses invalid arguments, as upstream does. */
async function withoutPalace(read: MemoryRead, values: Arguments, absent: object): Promise<unknown> {
  try {
    return await read(NOTHING as MemoryContext, values);
  } catch (error) {
    if (error instanceof Looked) return absent;
    throw error;
  }
}

/** Wraps a read of the graph, which works without a palace, too. It first waits until other programs' writes are adopted. */
function graph(read: (reader: GraphReader, values: Arguments) => unknown): MemoryRead {
  return async ({ reader, graph }, values) => {
    await graph.fresh();
    return read(reader.graph, values);
  };
}

function countBy(
  places: readonly { wing: string; room: string; drawers: number }[],
  key: "wing" | "room",
): Record<string, number> {
  const counts = Object.create(null) as Record<string, number>;
  for (const place of places) counts[place[key]] = (counts[place[key]] ?? 0) + place.drawers;
  return counts;
}
