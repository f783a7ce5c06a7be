/** Answers questions about the room graph, which links the rooms of a wing (palace.md 6.3). `general` is a room, as in MemPalace 3.11. */
import type { RoomCount } from "../port/graph.ts";
import { compareText } from "../text/text.ts";
import { asText, validFilter } from "../text/validate.ts";
import { wingSlug } from "./tunnels.ts";

type Arguments = Record<string, unknown>;
type Room = { wings: string[]; halls: string[]; count: number; lastDate: string };

const ROOMS_MAX = 50;
const TOP_MAX = 10;
const SUGGESTIONS_MAX = 5;
const HOPS_MAX = 10;
const HOPS_DEFAULT = 2;

/** Groups the counts by room, in the order in which the rooms first occur. */
function roomsOf(counts: readonly RoomCount[]): Map<string, Room> {
  const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort(compareText);
  const found = [...Map.groupBy(counts, ({ room }) => room)].map(([name, rows]): [string, Room] => {
    const wings = sorted(rows.map(({ wing }) => wing));
    const halls = sorted(rows.map(({ hall }) => hall).filter((hall) => hall !== ""));
    const count = rows.reduce((sum, { drawers }) => sum + drawers, 0);
    const lastDate = rows.reduce((last, one) => (one.lastDate > last ? one.lastDate : last), "");
    return [name, { wings, halls, count, lastDate }];
  });
  return new Map(found);
}

/** Walks the rooms breadth first. Two rooms are neighbours if a wing has both. */
export function traverse(counts: readonly RoomCount[], values: Arguments): unknown {
  const start = asText(values["start_room"]);
  const hopsMax = Math.max(1, Math.min(HOPS_MAX, Number(values["max_hops"] ?? HOPS_DEFAULT)));
  const rooms = roomsOf(counts);
  const first = rooms.get(start);
  if (first === undefined) return { error: `Room '${start}' not found`, suggestions: suggestions(start, rooms) };
  const walked = [{ room: start, wings: first.wings, halls: first.halls, count: first.count, hop: 0 }];
  const left = new Map(rooms);
  left.delete(start);
  // The loop also visits rooms that are appended while it runs.
  for (const { wings: here, hop } of walked) {
    if (hop >= hopsMax || left.size === 0) continue;
    for (const [room, { wings, halls, count }] of left) {
      const shared = wings.filter((wing) => here.includes(wing));
      if (shared.length === 0) continue;
      left.delete(room);
      const step = { room, wings, halls, count, hop: hop + 1, connected_via: shared };
      walked.push(step);
    }
  }
  return walked.toSorted((a, b) => a.hop - b.hop || b.count - a.count).slice(0, ROOMS_MAX);
}

/** Finds rooms that are in several wings. Compares slugs of wings; upstream makes a slug only of the filter, and so misses some wings. */
export function findTunnels(counts: readonly RoomCount[], values: Arguments): unknown {
  const asked = ["wing_a", "wing_b"].flatMap((key) => validFilter(values[key], key) ?? []).map(wingSlug);
  return [...roomsOf(counts)]
    .filter(([, { wings }]) => wings.length >= 2 && asked.every((wing) => wings.map(wingSlug).includes(wing)))
    .map(([room, { wings, halls, count, lastDate }]) => ({ room, wings, halls, count, recent: lastDate }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, ROOMS_MAX);
}

export function graphStats(counts: readonly RoomCount[], explicitTunnels: number): unknown {
  const rooms = [...roomsOf(counts)];
  const shared = rooms.filter(([, { wings }]) => wings.length >= 2);
  const edges = shared.reduce(
    (sum, [, { wings, halls }]) => sum + ((wings.length * (wings.length - 1)) / 2) * halls.length,
    0,
  );
  const perWing = new Map<string, number>();
  for (const [, { wings }] of rooms) for (const wing of wings) perWing.set(wing, (perWing.get(wing) ?? 0) + 1);
  return {
    total_rooms: rooms.length,
    total_room_instances: rooms.reduce((sum, [, { wings }]) => sum + wings.length, 0),
    tunnel_rooms: shared.length,
    passive_tunnel_rooms: shared.length,
    explicit_tunnels: explicitTunnels,
    total_edges: edges,
    total_connections: edges + explicitTunnels,
    rooms_per_wing: Object.fromEntries([...perWing].toSorted(([, a], [, b]) => b - a)),
    top_tunnels: shared
      .toSorted(([, a], [, b]) => b.wings.length - a.wings.length)
      .slice(0, TOP_MAX)
      .map(([room, { wings, count }]) => ({ room, wings, count })),
  };
}

/** Returns rooms whose name contains the whole query, then rooms whose name contains a part of the query between hyphens. */
function suggestions(asked: string, rooms: ReadonlyMap<string, Room>): string[] {
  const whole = asked.toLowerCase();
  const parts = whole.split("-");
  const names = [...rooms.keys()];
  const close = names.filter((room) => room.includes(whole));
  const far = names.filter((room) => !room.includes(whole) && parts.some((part) => room.includes(part)));
  return [...close, ...far].slice(0, SUGGESTIONS_MAX);
}
