/** Tests tunnels and hallways: the rules of the tools, and keeping the ledger and the JSON files equal. */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { followTunnels, listHallways, listTunnels } from "../../../../src/memory/graph/tunnels.ts";
import { tryFlock } from "../../../../src/base/libc.ts";
import { graphDifferences } from "../../../helpers/graph-differences.ts";
import { createGraphFixture, type GraphFixture } from "../../../helpers/graph-fixture.ts";

type Json = Record<string, unknown>;

const ENDS = { source_wing: "wing_a", source_room: "auth", target_wing: "wing_b", target_room: "users" };
const BACK = { source_wing: "wing_b", source_room: "users", target_wing: "wing_a", target_room: "auth" };
const AT = Date.parse("2026-01-02T03:04:05.678Z");

let graph: GraphFixture;
beforeEach(() => {
  graph = createGraphFixture();
});
afterEach(() => graph[Symbol.dispose]());

const tunnels = (wing?: string): Json[] => listTunnels(graph.reader.graph, { wing }) as Json[];
const file = (): Json[] => JSON.parse(readFileSync(graph.paths.tunnelsFile, "utf8")) as Json[];
const agree = (): void => expect(graphDifferences(graph.paths)).toEqual([]);
/** Writes a file as another program does: a new file with another time. */
const rewrite = (path: string, value: unknown): void => {
  rmSync(path, { force: true });
  writeFileSync(path, JSON.stringify(value, null, 2));
};

describe("create_tunnel", () => {
  it("create_tunnel makes one tunnel for both directions and keeps the tunnel's strength", () => {
    expect(graph.write("create_tunnel", { ...ENDS, label: "L", source_drawer_id: "d1" }, { atMs: AT })).toEqual({
      id: "4d938481a26b5a8b",
      source: { wing: "wing_a", room: "auth", drawer_id: "d1" },
      target: { wing: "wing_b", room: "users" },
      label: "L",
      kind: "explicit",
      created_at: "2026-01-02T03:04:05.678000+00:00",
      ...{ strength: 1, stability: 1, last_activated: "2026-01-02T03:04:05.678000+00:00", access_count: 0 },
    });
    graph.sync();
    rewrite(graph.paths.tunnelsFile, [{ ...file()[0], access_count: 4, strength: 1.2 }]);
    graph.sync();
    expect(graph.write("create_tunnel", BACK, { atMs: AT + 322 })).toMatchObject({
      ...{ id: "4d938481a26b5a8b", source: { wing: "wing_b", room: "users" }, label: "" },
      ...{ created_at: "2026-01-02T03:04:05.678000+00:00", updated_at: "2026-01-02T03:04:06+00:00" },
      ...{ access_count: 4, strength: 1.2 },
    });
    expect(tunnels()).toHaveLength(1);
  });

  it("create_tunnel needs rooms with a drawer, unless the palace is empty", () => {
    graph.write("add_drawer", { wing: "wing_a", room: "auth", content: "text" });
    expect(graph.write("create_tunnel", BACK)).toEqual({
      error: "Source room 'users' does not exist in wing 'wing_b'",
    });
    expect(graph.write("create_tunnel", ENDS)).toEqual({
      error: "Target room 'users' does not exist in wing 'wing_b'",
    });
    expect(graph.write("create_tunnel", { ...ENDS, source_wing: "" })).toEqual({
      error: "source_wing must be a non-empty string",
    });
    graph.write("add_drawer", { wing: "wing_b", room: "users", content: "text" });
    expect(graph.write("create_tunnel", ENDS)).toMatchObject({ id: "4d938481a26b5a8b" });
  });

  it("create_tunnel with a repeated key gives the same answer and changes nothing", () => {
    const first = graph.write("create_tunnel", ENDS, { key: "k" });
    expect(graph.write("create_tunnel", ENDS, { key: "k" })).toEqual(first);
    expect(tunnels()[0]).not.toHaveProperty("updated_at");
  });
});

it("list_tunnels and follow_tunnels accept either spelling of a wing, and either end of a tunnel", () => {
  const { drawer_id } = graph.write("add_drawer", { wing: "My-Wing", room: "r", content: "é".repeat(400) }) as Json;
  graph.write("add_drawer", { wing: "other", room: "s", content: "text" });
  const ends = { source_wing: "other", source_room: "s", target_wing: "My-Wing", target_room: "r" };
  graph.write("create_tunnel", { ...ends, label: "why", target_drawer_id: drawer_id });
  expect(tunnels("my_wing")).toHaveLength(1);
  expect(tunnels("elsewhere")).toEqual([]);
  const [{ id } = {}] = tunnels();
  expect(followTunnels(graph.reader, { wing: "other", room: "s" })).toEqual([
    {
      ...{
        direction: "outgoing",
        connected_wing: "My-Wing",
        connected_room: "r",
        label: "why",
        drawer_id,
        tunnel_id: id,
      },
      drawer_preview: "é".repeat(300),
    },
  ]);
  expect(followTunnels(graph.reader, { wing: "my wing", room: "r" })).toEqual([
    {
      direction: "incoming",
      connected_wing: "other",
      connected_room: "s",
      label: "why",
      drawer_id: null,
      tunnel_id: id,
    },
  ]);
  expect(followTunnels(graph.reader, { wing: "my wing", room: "s" })).toEqual([]);
  expect(graph.write("delete_tunnel", { tunnel_id: id })).toEqual({ deleted: id });
  expect(graph.write("delete_tunnel", { tunnel_id: "unknown" })).toEqual({ deleted: "unknown" });
  expect(graph.write("delete_tunnel", { tunnel_id: "" })).toEqual({ error: "tunnel_id is required" });
  expect(tunnels()).toEqual([]);
});

describe("tunnels.json", () => {
  it("tunnels.json is written in Python's format and is readable only by the user", () => {
    graph.write("create_tunnel", { ...ENDS, label: "Zoë 😀" }, { atMs: AT });
    expect(graph.sync()).toMatchObject({ sent: 1 });
    const text = readFileSync(graph.paths.tunnelsFile, "utf8");
    expect(text.split("\n").slice(0, 12)).toEqual([
      ...[
        "[",
        "  {",
        '    "id": "4d938481a26b5a8b",',
        '    "source": {',
        '      "wing": "wing_a",',
        '      "room": "auth"',
      ],
      ...["    },", '    "target": {', '      "wing": "wing_b",', '      "room": "users"', "    },"],
      '    "label": "Zo\\u00eb \\ud83d\\ude00",',
    ]);
    expect(text).toContain('"strength": 1.0,\n    "stability": 1.0,');
    expect(text.endsWith('"access_count": 0\n  }\n]')).toBe(true);
    expect(statSync(graph.paths.tunnelsFile).mode & 0o777).toBe(0o600);
    expect(graph.sync()).toMatchObject({ sent: 0, taken: 0 });
    agree();
  });

  it("tunnels.json is not overwritten after a foreign change or during a foreign lock", () => {
    graph.write("create_tunnel", ENDS);
    expect(graphDifferences(graph.paths)).toEqual(["tunnel 4d938481a26b5a8b: not sent yet"]);
    graph.sync();
    graph.write("create_tunnel", { ...ENDS, label: "ours" });
    graph.side.look();
    graph.side.accept();
    rewrite(graph.paths.tunnelsFile, [{ id: "theirs" }]);
    expect(graph.side.send()).toMatchObject({ rows: [], others: true });
    expect(file()).toEqual([{ id: "theirs" }]);

    const key = createHash("sha256").update(graph.paths.tunnelsFile).digest("hex").slice(0, 16);
    const lock = openSync(join(graph.paths.upstreamLocksDir, `${key}.lock`), "r+");
    expect(tryFlock(lock)).toBe(true);
    graph.writer.graph.adopt(graph.side.look().finding);
    graph.side.accept();
    expect(graph.side.send()).toMatchObject({ rows: [], others: true });
    closeSync(lock);
    expect(graph.sync()).toMatchObject({ sent: 1 });
    expect(file()).toMatchObject([{ id: "theirs" }, { label: "ours" }]);
  });

  it("tunnels.json stays a symbolic link, and its target gets the tunnels", () => {
    const { tunnelsFile } = graph.paths;
    const target = `${tunnelsFile}.elsewhere`;
    writeFileSync(target, "[]");
    symlinkSync(target, tunnelsFile);
    graph.write("create_tunnel", ENDS);
    expect(graph.sync()).toMatchObject({ sent: 1 });
    expect(lstatSync(tunnelsFile).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, "utf8"))).toHaveLength(1);
    agree();
  });

  it("the ledger adopts new, changed and deleted tunnels of other programs from tunnels.json", () => {
    graph.write("create_tunnel", ENDS);
    graph.write("create_tunnel", { ...ENDS, target_room: "gone" });
    graph.sync();
    const [kept] = file();
    const strange = { note: "by hand" };
    rewrite(graph.paths.tunnelsFile, [strange, { ...kept, label: "theirs" }, { id: "new", source: null, target: {} }]);
    expect(graph.sync()).toMatchObject({ taken: 2, removed: 1, sent: 0 });
    expect(tunnels().map(({ id }) => id)).toEqual(["4d938481a26b5a8b", "new"]);
    expect(tunnels()[0]).toMatchObject({ label: "theirs" });
    expect(tunnels("wing_a")).toHaveLength(1);
    graph.write("delete_tunnel", { tunnel_id: "new" });
    graph.write("create_tunnel", { ...ENDS, target_room: "more" });
    graph.sync();
    expect(file().map(({ id }) => id)).toEqual([undefined, "4d938481a26b5a8b", tunnels()[1]?.["id"]]);
    agree();
  });

  it("after a foreign change, tunnels.json has our new tunnel and lacks our deleted tunnel", () => {
    graph.write("create_tunnel", ENDS);
    graph.sync();
    graph.write("create_tunnel", { ...ENDS, target_room: "more" });
    graph.write("delete_tunnel", { tunnel_id: "4d938481a26b5a8b" });
    rewrite(graph.paths.tunnelsFile, [...file(), { id: "theirs" }]);
    graph.sync();
    expect(file().map(({ id }) => id)).toEqual(["theirs", tunnels().find(({ id }) => id !== "theirs")?.["id"]]);
    agree();
  });

  it("tunnels.json keeps a tunnel that another program changed after our deletion", () => {
    graph.write("create_tunnel", ENDS);
    graph.sync();
    graph.write("delete_tunnel", { tunnel_id: "4d938481a26b5a8b" });
    rewrite(graph.paths.tunnelsFile, [{ ...file()[0], label: "still wanted" }]);
    graph.sync();
    expect(tunnels()).toMatchObject([{ label: "still wanted" }]);
    agree();
  });

  it("tunnels.json is written again after its deletion, and is reported if unreadable", () => {
    graph.write("create_tunnel", ENDS);
    graph.sync();
    rmSync(graph.paths.tunnelsFile);
    expect(graph.sync()).toMatchObject({ relisted: 1, sent: 1 });
    for (const text of ['[{"id": "cut', '{"tunnels": []}']) {
      writeFileSync(graph.paths.tunnelsFile, text);
      graph.write("create_tunnel", { ...ENDS, label: text });
      expect(graph.sync()).toMatchObject({ sent: 0, problem: expect.stringContaining("left as it is") as string });
      expect(readFileSync(graph.paths.tunnelsFile, "utf8")).toBe(text);
      expect(tunnels()).toHaveLength(1);
    }
    rmSync(graph.paths.tunnelsFile);
    expect(graph.sync()).toMatchObject({ sent: 1, problem: "" });
    agree();
  });
});

describe("hallways.json", () => {
  const hallway = (wing: string, name: string, count: number): Json => ({
    ...{ id: `hallway_${wing}_${name}`, wing, entity_a: "A", entity_b: name, co_occurrence_count: count, rooms: ["r"] },
  });

  it("the hallways of hallways.json are adopted in both formats and listed with the highest count first", () => {
    const all = [hallway("w", "x", 2), hallway("w", "y", 5), hallway("v", "z", 3)];
    rewrite(graph.paths.hallwaysFile, { schema_version: 1, hallways: all });
    graph.sync();
    const page = (values: Json): Json => listHallways(graph.reader.graph, values) as Json;
    expect(page({})).toEqual({ hallways: [all[1], all[2], all[0]], total: 3, count: 3, offset: 0, limit: 100 });
    expect(page({ wing: "w", limit: 1, offset: 1 })).toEqual({
      ...{ hallways: [all[0]], total: 2, count: 1, offset: 1, limit: 1 },
    });
    expect(page({ limit: 9999 })).toMatchObject({ limit: 500 });
    rewrite(graph.paths.hallwaysFile, all.slice(1));
    graph.sync();
    expect(page({})).toMatchObject({ total: 2 });
    expect(existsSync(graph.paths.tunnelsFile)).toBe(false);
  });

  it("hallways.json without a list stays unchanged and is reported", () => {
    rewrite(graph.paths.hallwaysFile, { schema_version: 1, hallways: [hallway("w", "x", 2)] });
    graph.sync();
    for (const value of [null, {}, 7]) {
      rewrite(graph.paths.hallwaysFile, value);
      expect(graph.sync()).toMatchObject({ removed: 0, problem: expect.stringContaining("left as it is") as string });
    }
    expect(listHallways(graph.reader.graph, {})).toMatchObject({ total: 1 });
  });

  it("hallways.json loses a hallway that we delete", () => {
    rewrite(graph.paths.hallwaysFile, { schema_version: 1, hallways: [hallway("w", "é", 2), hallway("w", "y", 5)] });
    graph.sync();
    expect(graph.write("delete_hallway", { hallway_id: "hallway_w_y" }, { key: "k" })).toEqual({ deleted: true });
    expect(graph.write("delete_hallway", { hallway_id: "hallway_w_y" }, { key: "k" })).toEqual({ deleted: true });
    expect(graph.write("delete_hallway", { hallway_id: "hallway_w_y" })).toEqual({ deleted: false });
    expect(graph.write("delete_hallway", {})).toEqual({ error: "hallway_id is required" });
    graph.sync();
    const text = readFileSync(graph.paths.hallwaysFile, "utf8");
    expect(JSON.parse(text)).toEqual({ schema_version: 1, hallways: [hallway("w", "é", 2)] });
    expect(text).toContain("é");
    agree();
  });
});
