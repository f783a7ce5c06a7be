/** Makes a mined wing's links from the names in its drawers: hallways, and tunnels to other wings (palace.md 3.7, 3.8, 5.2). */
import { isRecord } from "../../base/parse-json.ts";
import type { GraphTx, LinkRecord, NamedRows } from "../port/graph.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { LINKS_CHANGED_MAX } from "../../protocol/limits.ts";
import { compareText, sha256Hex, strip } from "../text/text.ts";
import { InvalidValue, validName } from "../text/validate.ts";
import { entityTunnels, topicTunnels, type Topics } from "./mined-tunnels.ts";
import { canonicalSpellings } from "./spellings.ts";
import { grownOf, putTunnel, utcTimestamp } from "./tunnels.ts";

/** Minimum number of drawers in which both names of a hallway occur. It is upstream's default. */
const DRAWERS_MIN = 2;
const TOPICS_MIN = 1;
const ROOMS_SHOWN = 3;

/** Two names, in code-point order, with the number and the rooms of the drawers in which both occur. */
type Pair = { a: string; b: string; drawers: number; rooms: Set<string> };

/** Rebuilds a wing's links. The caller must repeat the call until the result's `left` is 0. Errors: PROTOCOL_BAD_PARAMS. */
export function rebuildLinks({ graph }: LedgerTx, { params, atMs, findings }: WriteCall): unknown {
  const { wing, topics, hallwayMin, topicsMin } = readParams({ ...(findings as LinkRules | undefined), ...params });
  const rows = graph.namedRows(wing);
  const now = utcTimestamp(atMs);
  // A wing without drawers keeps its hallways, as in upstream.
  const { hallways, left } =
    rows === undefined ? { hallways: 0, left: 0 } : replaceHallways(graph, wing, rows, now, hallwayMin);
  if (left > 0) return { hallways, tunnels: 0, left };
  const tunnels = [...topicTunnels(wing, topics, topicsMin), ...entityTunnels(wing, graph.hallwayEnds())];
  for (const tunnel of tunnels) putTunnel(graph, tunnel, now);
  return { hallways, tunnels: tunnels.length, left: 0 };
}

/** Replaces the wing's hallways, up to the maximum number of changes in one write. */
function replaceHallways(
  graph: GraphTx,
  wing: string,
  rows: readonly NamedRows[],
  now: string,
  drawersMin: number,
): { hallways: number; left: number } {
  const named = rows.map(({ entities, ...row }) => ({ ...row, names: namesOf(entities) }));
  const canonical = canonicalSpellings(named.flatMap(({ names }) => names));
  const before = graph.hallwaysOf(wing);
  const byEnds = new Map(before.map((record) => [endsOf(record, canonical), record]));
  const changes: (() => void)[] = [];
  const kept = new Set<unknown>();
  const pairs = pairsOf(named, canonical, drawersMin);
  for (const pair of pairs) {
    const old = byEnds.get(`${pair.a}\n${pair.b}`);
    if (old?.["entity_a"] === pair.a && old["entity_b"] === pair.b) kept.add(old["id"]);
    if (old !== undefined && isSame(old, pair)) continue;
    changes.push(() => {
      const record = recordOf(wing, pair, now);
      graph.putLink("hallway", String(record["id"]), { ...record, ...grownOf(old) });
    });
  }
  for (const { id } of before) if (!kept.has(id)) changes.push(() => graph.deleteLink("hallway", String(id)));
  for (const change of changes.slice(0, LINKS_CHANGED_MAX)) change();
  return { hallways: pairs.length, left: Math.max(0, changes.length - LINKS_CHANGED_MAX) };
}

function pairsOf(
  rows: readonly { room: string; names: readonly string[]; drawers: number }[],
  canonical: ReadonlyMap<string, string>,
  drawersMin: number,
): Pair[] {
  const sorted = [...new Set(canonical.values())].sort(compareText);
  const numbers = new Map(sorted.map((name, number) => [name, number]));
  const pairs = new Map<number, { drawers: number; rooms: Set<string> }>();
  for (const { room, names, drawers } of rows) {
    const known = names.flatMap((name) => numbers.get(canonical.get(name) ?? "\n") ?? []);
    const here = [...new Set(known)].sort((a, b) => a - b);
    here.forEach((a, at) => {
      for (const b of here.slice(at + 1)) {
        const key = a * sorted.length + b;
        const pair = pairs.get(key) ?? { drawers: 0, rooms: new Set() };
        pair.drawers += drawers;
        if (strip(room) !== "") pair.rooms.add(room);
        pairs.set(key, pair);
      }
    });
  }
  return [...pairs]
    .filter(([, { drawers }]) => drawers >= drawersMin)
    .sort(([a], [b]) => a - b)
    .map(([key, pair]) => {
      const [a = "", b = ""] = [sorted[Math.floor(key / sorted.length)], sorted[key % sorted.length]];
      return { a, b, ...pair };
    });
}

function recordOf(wing: string, { a, b, drawers, rooms }: Pair, now: string): LinkRecord {
  const list = [...rooms].sort(compareText);
  const more = list.length > ROOMS_SHOWN ? `, +${list.length - ROOMS_SHOWN} more` : "";
  const shown = list.length === 0 ? "(no room tags)" : list.slice(0, ROOMS_SHOWN).join(", ") + more;
  const across = `${list.length === 0 ? "no" : list.length} room${list.length === 1 ? "" : "s"}`;
  return {
    id: `hallway_${wing}_${a}_${b}_${sha256Hex(`${wing}::${a}::${b}`).slice(0, 8)}`,
    ...{ wing, entity_a: a, entity_b: b, co_occurrence_count: drawers, rooms: list },
    label: `${a} ↔ ${b} (co-occur in ${drawers} drawers across ${across}: ${shown})`,
    ...{ created_at: now, created_by: "auto" },
    ...{ strength: 1, stability: 1, last_activated: now, access_count: 0 },
  };
}

/** Returns a key of the link's two names in their canonical spelling, the same for either order. */
function endsOf(record: LinkRecord, canonical: ReadonlyMap<string, string>): string {
  const nameOf = (name: unknown): string => canonical.get(String(name)) ?? String(name);
  const [a, b] = [nameOf(record["entity_a"]), nameOf(record["entity_b"])];
  return a === b || compareText(a, b) < 0 ? `${a}\n${b}` : `${b}\n${a}`;
}

/** Returns true if a hallway needs no new record: the values from which its id and its label are made are the same. */
function isSame(old: LinkRecord, { a, b, drawers, rooms }: Pair): boolean {
  const list: unknown = old["rooms"];
  const hasRooms = Array.isArray(list) && list.length === rooms.size && list.every((room) => rooms.has(room as string));
  return old["entity_a"] === a && old["entity_b"] === b && old["co_occurrence_count"] === drawers && hasRooms;
}

function namesOf(entities: string): string[] {
  return [...new Set(entities.split(";").map(strip))].filter((name) => name !== "");
}

type LinkRules = { wing: string; topics: Topics; hallwayMin: number; topicsMin: number };

function readParams({ wing, topics = {}, hallwayMin, topicsMin }: Record<string, unknown>): LinkRules {
  const isList = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "string");
  if (!isRecord(topics) || !Object.values(topics).every(isList))
    throw new InvalidValue("topics must be lists of strings by wing");
  return {
    wing: validName(wing, "wing"),
    topics: topics as Topics,
    hallwayMin: least(hallwayMin, "hallwayMin", DRAWERS_MIN),
    topicsMin: least(topicsMin, "topicsMin", TOPICS_MIN),
  };
}

function least(value: unknown, name: string, usual: number): number {
  if (value === undefined) return usual;
  if (typeof value === "number" && value >= 1) return value;
  throw new InvalidValue(`${name} must be a number of at least 1`);
}
