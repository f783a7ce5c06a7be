/** Rows of the graph's tools (facts, rooms, tunnels, hallways), a part of ROWS (tool-rows.ts). */
import { sha256Hex } from "../../src/memory/text/text.ts";
import type { ToolRow, World } from "./calls.ts";
import * as value from "./values.ts";

const { maybe } = value;

const ENTITIES = [
  ...["Alice", "alice", "Bob Smith", "bob smith", "Zoë O'Brien", "ΣΑΣ", "İx", "Smith", "a", " padded "],
  ...["Dr. Chen (MD), 5%", "a_b", "😀".repeat(128)],
] as const;
const BAD_ENTITIES = ["", "  ", "x".repeat(129), "nul\0", "tab\tin", "lone \ud800", 5, null, true, ["a"]] as const;
const RELATIONS = ["works at", "Works_At", "likes"] as const;
const TIMES = [
  ...["2025-01-01", "2025-06-01", " 2025-03-01 ", "9999-12-31", "2025-06-01T12:00:00Z", "2025-06-01T12:00:00+00:00"],
  ...["2025-06-01T23:59:59Z", "2025-06-01T12:00:00+24:00", "2025", "2025-02-30", "0000-01-01", 5],
  ...[`it's "x"\n`, "é\u200b"],
] as const;
const IDS = ["", "x", 5, null] as const;

const entity = (world: World): unknown =>
  world.choose.pick<unknown>(world.choose.chance(0.85) ? ENTITIES : BAD_ENTITIES);
const time = (world: World): unknown => world.choose.pick(TIMES);
const wing = (world: World): unknown => value.name(world, value.WINGS);
const room = (world: World): unknown => value.name(world, value.ROOMS);
const ends = (world: World): Record<string, unknown> => ({
  subject: entity(world),
  predicate: value.name(world, RELATIONS),
  object: entity(world),
});

function tunnelEnds(world: World): Record<string, unknown> {
  const ends = {
    source_wing: wing(world),
    source_room: room(world),
    target_wing: wing(world),
    target_room: room(world),
  };
  const places = [
    `${String(ends.source_wing)}/${String(ends.source_room)}`,
    `${String(ends.target_wing)}/${String(ends.target_room)}`,
  ];
  world.tunnels.push(sha256Hex(places.toSorted().join("\u2194")).slice(0, 16));
  return ends;
}

export const GRAPH_ROWS: Readonly<Record<string, ToolRow>> = {
  kg_query: {
    weight: 14,
    make: (world) => ({
      entity: entity(world),
      ...maybe(world, 0.5, "as_of", () => world.choose.pick<unknown>([null, ...TIMES])),
      ...maybe(world, 0.4, "direction", () => world.choose.pick(["both", "incoming", "outgoing", "up", null])),
    }),
  },
  kg_add: {
    weight: 18,
    make: (world) => ({
      ...ends(world),
      ...maybe(world, 0.4, "valid_from", () => time(world)),
      ...maybe(world, 0.3, "valid_to", () => time(world)),
      ...maybe(world, 0.2, "source_file", () => world.choose.pick(["/f", 5, true])),
      ...maybe(world, 0.2, "source_closet", () => world.choose.pick(["c", ""])),
    }),
  },
  kg_invalidate: { weight: 6, make: (world) => ({ ...ends(world), ...maybe(world, 0.7, "ended", () => time(world)) }) },
  kg_supersede: {
    weight: 5,
    since: "3.11.0",
    make: (world) => {
      const { subject, predicate, object } = ends(world);
      return { subject, predicate, old_object: object, new_object: entity(world), at: time(world) };
    },
  },
  kg_timeline: {
    weight: 5,
    make: (world) => ({
      ...maybe(world, 0.5, "entity", () => entity(world)),
      ...(world.isNew && maybe(world, 0.5, "limit", () => world.choose.pick(value.LIMITS))),
      ...(world.isNew && maybe(world, 0.5, "offset", () => world.choose.pick(value.OFFSETS))),
    }),
  },
  kg_stats: { weight: 3, make: () => ({}) },
  // Upstream may answer these three tools from a cache of up to a minute. Only `graphCalls` uses them, with upstream's cache still empty.
  traverse: { weight: 0, make: () => ({}) },
  find_tunnels: { weight: 0, make: () => ({}) },
  graph_stats: { weight: 0, make: () => ({}) },
  create_tunnel: {
    weight: 8,
    make: (world) => ({
      ...tunnelEnds(world),
      ...maybe(world, 0.6, "label", () => world.choose.pick(["why", "Zoë → é", null])),
      ...maybe(world, 0.3, "target_drawer_id", () => value.drawerId(world, { whole: false })),
    }),
  },
  list_tunnels: { weight: 4, make: (world) => maybe(world, 0.6, "wing", () => wing(world)) },
  delete_tunnel: { weight: 3, make: (world) => ({ tunnel_id: world.choose.pick([...IDS, ...world.tunnels]) }) },
  follow_tunnels: { weight: 5, make: (world) => ({ wing: wing(world), room: room(world) }) },
  list_hallways: {
    weight: 2,
    since: "3.11.0",
    make: (world) => ({
      ...maybe(world, 0.5, "wing", () => wing(world)),
      ...maybe(world, 0.3, "limit", () => world.choose.pick([...value.LIMITS, 500, 501])),
      ...maybe(world, 0.3, "offset", () => world.choose.pick(value.OFFSETS)),
    }),
  },
  delete_hallway: { weight: 2, since: "3.11.0", make: (world) => ({ hallway_id: world.choose.pick(IDS) }) },
};
