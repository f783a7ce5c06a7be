/** Tests the links that a mine makes from the names on its drawers. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { listHallways } from "../../../src/memory/graph/tunnels.ts";
import { LINKS_CHANGED_MAX } from "../../../src/protocol/limits.ts";
import { createGraphFixture, type GraphFixture } from "../../helpers/graph-fixture.ts";

type Link = Record<string, unknown>;

let graph: GraphFixture;
beforeEach(() => {
  graph = createGraphFixture();
});
afterEach(() => graph[Symbol.dispose]());

const file = (name: string, names: readonly string[], wing = "w"): unknown =>
  graph.write("source.replace", {
    ...{ wing, room: "r", sourceFile: `/p/${wing}/${name}`, mtime: 1, sha256: name, addedBy: "test" },
    content: `${[...names, ...names].join(" ")}${" -".repeat(50)}`,
  });
const rebuild = (wing = "w"): { hallways: number; tunnels: number; left: number } =>
  graph.write("link.rebuild", { wing }) as { hallways: number; tunnels: number; left: number };
const hallways = (wing = "w"): Link[] =>
  (listHallways(graph.reader.graph, { wing, limit: 500 }) as { hallways: Link[] }).hallways;
const labels = (wing = "w"): unknown[] => hallways(wing).map(({ label }) => label);

test("names that share two drawers get a hallway, and lose the hallway when they no longer share two drawers", () => {
  file("a.md", ["Alice", "Bob", "Carla"]);
  file("b.md", ["Bob", "Alice"]);
  expect(rebuild()).toEqual({ hallways: 1, tunnels: 0, left: 0 });
  expect(labels()).toEqual(["Alice ↔ Bob (co-occur in 2 drawers across 1 room: r)"]);
  file("b.md", ["Bob", "Carla"]);
  expect(rebuild()).toEqual({ hallways: 1, tunnels: 0, left: 0 });
  expect(labels()).toEqual(["Bob ↔ Carla (co-occur in 2 drawers across 1 room: r)"]);
});

test("an unchanged hallway is not written again, and a changed hallway keeps its strength", () => {
  for (const name of ["a.md", "b.md"]) file(name, ["Alice", "Bob"]);
  rebuild();
  const [first] = hallways();
  graph.sync();
  rebuild();
  expect(graph.sync().sent).toBe(0);
  expect(hallways()).toEqual([first]);
  graph.writer.graph.adopt({
    rows: [{ kind: "hallway", id: String(first?.["id"]), body: JSON.stringify({ ...first, strength: 1.5 }) }],
    ...{ missing: [], deleted: [] },
  });
  file("c.md", ["Alice", "Bob"]);
  rebuild();
  expect(hallways()).toMatchObject([{ co_occurrence_count: 3, strength: 1.5 }]);
});

test("rebuilding a wing's links keeps another wing's hallways, and makes a tunnel between both wings for each shared name", () => {
  for (const wing of ["w", "v"]) for (const name of ["a.md", "b.md", "c.md"]) file(name, ["Alice", "Bob"], wing);
  expect(rebuild("w")).toEqual({ hallways: 1, tunnels: 0, left: 0 });
  expect(rebuild("v")).toEqual({ hallways: 1, tunnels: 2, left: 0 });
  expect(labels("w")).toHaveLength(1);
  expect(graph.reader.graph.links("tunnel").map(({ label }) => label)).toEqual([
    "shared entity: Alice",
    "shared entity: Bob",
  ]);
});

test("changes of hallways beyond the limit of one write are made in the next write", () => {
  const letters = "abcdefghijklmnopqrstuvwxy";
  for (let group = 0; group < 8; group++) {
    const names = Array.from(letters, (letter) => `Q${letters.charAt(group)}${letter}q`);
    for (const name of ["one", "two"]) file(`${name}${group}.md`, names);
  }
  const all = (8 * 25 * 24) / 2;
  for (let left = all - LINKS_CHANGED_MAX; left > 0; left -= LINKS_CHANGED_MAX)
    expect(rebuild()).toEqual({ hallways: all, tunnels: 0, left });
  expect(rebuild()).toEqual({ hallways: all, tunnels: 0, left: 0 });
});
