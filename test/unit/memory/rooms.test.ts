/** Tests the graph of rooms: neighbouring rooms, rooms that several wings have, and statistics. */
import { describe, expect, it } from "vitest";
import { findTunnels, graphStats, traverse } from "../../../src/memory/graph/rooms.ts";
import type { RoomCount } from "../../../src/memory/port/graph.ts";

const count = (wing: string, room: string, drawers = 1, hall = "", lastDate = ""): RoomCount => ({
  ...{ wing, room, drawers, hall, lastDate },
});

const PALACE = [
  count("code", "auth", 3, "hall_facts", "2025-01-01"),
  count("team", "auth", 2, "hall_events", "2025-02-02"),
  count("team", "auth", 1, "hall_facts"),
  count("team", "rituals", 4),
  count("home", "rituals", 1),
  count("home", "garden", 9),
  count("moon", "crater", 1),
];

const rooms = (list: unknown): unknown[] => (list as { room: string }[]).map(({ room }) => room);

describe("traverse", () => {
  it("traverse lists rooms that are connected by shared wings, the nearest first, and the largest first among equally near rooms", () => {
    expect(traverse(PALACE, { start_room: "auth", max_hops: 1 })).toEqual([
      { room: "auth", wings: ["code", "team"], halls: ["hall_events", "hall_facts"], count: 6, hop: 0 },
      { room: "rituals", wings: ["home", "team"], halls: [], count: 5, hop: 1, connected_via: ["team"] },
    ]);
    expect(rooms(traverse(PALACE, { start_room: "auth" }))).toEqual(["auth", "rituals", "garden"]);
    expect(rooms(traverse(PALACE, { start_room: "garden", max_hops: 99 }))).toEqual(["garden", "rituals", "auth"]);
    expect(rooms(traverse(PALACE, { start_room: "crater", max_hops: 0 }))).toEqual(["crater"]);
  });

  it("traverse shows at most fifty rooms", () => {
    const many = Array.from({ length: 80 }, (_, index) => count("w", `room ${index}`, index));
    expect(traverse(many, { start_room: "room 0" })).toHaveLength(50);
  });

  it("traverse suggests similar rooms if the room does not exist", () => {
    expect(traverse(PALACE, { start_room: "AUT" })).toEqual({ error: "Room 'AUT' not found", suggestions: ["auth"] });
    expect(traverse(PALACE, { start_room: "my-garden" })).toMatchObject({ suggestions: ["garden"] });
    expect(traverse(PALACE, { start_room: "nope" })).toMatchObject({ suggestions: [] });
  });
});

describe("find_tunnels", () => {
  it("find_tunnels finds the rooms of several wings, and compares wing names as slugs", () => {
    expect(findTunnels(PALACE, {})).toEqual([
      { room: "auth", wings: ["code", "team"], halls: ["hall_events", "hall_facts"], count: 6, recent: "2025-02-02" },
      { room: "rituals", wings: ["home", "team"], halls: [], count: 5, recent: "" },
    ]);
    expect(rooms(findTunnels(PALACE, { wing_a: "home", wing_b: "team" }))).toEqual(["rituals"]);
    const hyphened = [count("My-Wing", "r"), count("other", "r")];
    for (const wing_a of ["my_wing", "My Wing", "MY-WING"])
      expect(rooms(findTunnels(hyphened, { wing_a }))).toEqual(["r"]);
    expect(() => findTunnels(PALACE, { wing_a: "a/b" })).toThrow("wing_a contains invalid path characters");
  });
});

it("graph_stats counts one edge for each pair of wings in each hall of a shared room", () => {
  expect(graphStats(PALACE, 2)).toEqual({
    total_rooms: 4,
    total_room_instances: 6,
    tunnel_rooms: 2,
    passive_tunnel_rooms: 2,
    explicit_tunnels: 2,
    total_edges: 2,
    total_connections: 4,
    rooms_per_wing: { team: 2, home: 2, code: 1, moon: 1 },
    top_tunnels: [
      { room: "auth", wings: ["code", "team"], count: 6 },
      { room: "rituals", wings: ["home", "team"], count: 5 },
    ],
  });
});
