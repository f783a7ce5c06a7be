/** Table of the tools that the seeded calls use: how often each tool is called, and with which arguments. */
import type { ToolRow, World } from "./calls.ts";
import { GRAPH_ROWS } from "./graph-rows.ts";
import { LOG_ROWS } from "./log-rows.ts";
import * as value from "./values.ts";

const { maybe } = value;

export const ROWS: Readonly<Record<string, ToolRow>> = {
  status: { weight: 2, make: () => ({}) },
  list_wings: { weight: 2, make: () => ({}) },
  list_rooms: { weight: 3, make: (world) => maybe(world, 0.7, "wing", () => value.name(world, value.WINGS)) },
  get_taxonomy: { weight: 2, make: () => ({}) },
  get_aaak_spec: { weight: 1, make: () => ({}) },
  search: { weight: 22, make: search, own: ownOfSearch },
  check_duplicate: {
    weight: 8,
    make: (world) => ({
      content: world.choose.chance(0.6) ? value.content(world) : world.choose.pick(world.contents),
      ...maybe(world, 0.4, "threshold", () => world.choose.pick(value.NUMBERS)),
    }),
  },
  add_drawer: { weight: 30, make: addDrawer },
  checkpoint: { weight: 6, since: "3.11.0", make: checkpoint },
  delete_drawer: { weight: 5, make: (world) => ({ drawer_id: value.drawerId(world, { whole: world.isNew }) }) },
  delete_drawers: { weight: 3, since: "3.11.0", make: (world) => ({ drawer_ids: idList(world) }) },
  delete_by_source: {
    weight: 3,
    since: "3.11.0",
    make: (world) => ({
      source_file: world.choose.chance(0.8)
        ? world.choose.pick(value.SOURCES)
        : world.choose.pick(["", " ", "/none", 5, null]),
      ...maybe(world, 0.5, "dry_run", () => world.choose.pick([true, false, false])),
    }),
  },
  mine: { weight: 2, since: "3.11.0", make: mine },
  get_drawer: { weight: 10, make: (world) => ({ drawer_id: value.drawerId(world, { whole: world.isNew }) }) },
  get_drawers: { weight: 5, since: "3.11.0", make: (world) => ({ drawer_ids: idList(world) }) },
  list_drawers: {
    weight: 10,
    make: (world) => ({
      ...maybe(world, 0.6, "wing", () => value.name(world, value.WINGS)),
      ...maybe(world, 0.3, "room", () => value.name(world, value.ROOMS)),
      ...maybe(world, 0.6, "limit", () => world.choose.pick(value.LIMITS)),
      ...maybe(world, 0.4, "offset", () => world.choose.pick(value.OFFSETS)),
      ...(world.isNew && value.dates(world)),
    }),
  },
  sync: {
    weight: 4,
    make: (world) => ({
      ...maybe(world, 0.5, "project_dir", () =>
        world.choose.pick([value.PROJECT, `${value.PROJECT}/sub`, "/none", ""]),
      ),
      ...maybe(world, 0.5, "wing", () => world.choose.pick([...value.WINGS, "nowhere", ""])),
      // With `apply`, 3.3.6 would also delete drawers that we call `unresolved` (docs/lab/differences.md).
      ...maybe(world, 0.3, "apply", () => world.isNew),
    }),
  },
  update_drawer: { weight: 8, make: updateDrawer },
  diary_write: { weight: 8, make: diaryWrite },
  diary_read: {
    weight: 6,
    make: (world) => ({
      agent_name: value.name(world, [...value.AGENTS, "nobody"]),
      ...maybe(world, 0.5, "last_n", () => world.choose.pick(value.LIMITS)),
      ...maybe(world, 0.3, "wing", () => value.name(world, ["wing_tester", "proj", "é"])),
    }),
  },
  hook_settings: {
    weight: 3,
    make: (world) => ({
      ...maybe(world, 0.5, "silent_save", () => world.choose.pick([true, false])),
      ...maybe(world, 0.5, "desktop_toast", () => world.choose.pick([true, false])),
    }),
  },
  memories_filed_away: { weight: 2, make: () => ({}) },
  reconnect: { weight: 1, make: () => ({}) },
  ...GRAPH_ROWS,
  ...LOG_ROWS,
};

function addDrawer(world: World): Record<string, unknown> {
  const wing = value.name(world, value.WINGS);
  const room = value.name(world, value.ROOMS);
  const content = value.content(world);
  const isTaken =
    (value.WINGS as readonly unknown[]).includes(wing) &&
    (value.ROOMS as readonly unknown[]).includes(room) &&
    typeof content === "string" &&
    content.trim() !== "" &&
    !content.includes("\0");
  if (isTaken) {
    const slices = Math.ceil(Array.from(content).length / 800);
    world.filed.push({ ref: `@${world.step}@`, isSplit: slices > 1, slices });
  }
  return {
    wing,
    room,
    content,
    ...maybe(world, 0.4, "source_file", () =>
      world.choose.pick([...value.SOURCES, ...value.PROJECT_SOURCES, "", null]),
    ),
    ...maybe(world, 0.2, "added_by", () => world.choose.pick(["me", "", "ag\ud800ent"])),
  };
}

function updateDrawer(world: World): Record<string, unknown> {
  const { choose } = world;
  // 3.3.6 gets only short texts here, because it does not cut a long text into slices. The closing calls (fixed-calls.ts) have a long text.
  const content = (): unknown =>
    world.isNew ? value.content(world) : choose.pick([`${value.sentence(world)} ${world.step}`, "", "a\0b"]);
  return {
    drawer_id: value.drawerId(world, { whole: world.isNew }),
    ...maybe(world, 0.5, "content", content),
    ...maybe(world, 0.4, "wing", () => value.name(world, value.WINGS)),
    ...maybe(world, 0.4, "room", () => value.name(world, value.ROOMS)),
  };
}

function diaryWrite(world: World): Record<string, unknown> {
  const entry = value.content(world);
  return {
    agent_name: value.name(world, value.AGENTS),
    ...(world.isNew && world.choose.chance(0.3) ? { content: entry } : { entry }),
    ...maybe(world, 0.5, "topic", () => value.name(world, ["general", "t", "two words"])),
    ...maybe(world, 0.3, "wing", () => value.name(world, ["proj", "é", "", "wing_tester"])),
  };
}

/** Makes only dry runs: after a real one, upstream answers about the graph from a cache. The closing calls have a real run. */
function mine(world: World): Record<string, unknown> {
  const { choose } = world;
  return {
    source: choose.pick([value.PROJECT, `${value.PROJECT}/sub`, `${value.PROJECT}/kept.md`, "/none", "", "it's", null]),
    ...maybe(world, 0.5, "mode", () => choose.pick(["projects", "convos", "all", ""])),
    dry_run: true,
    ...maybe(world, 0.2, "limit", () => choose.pick([0, 1, "3", -1])),
    ...maybe(world, 0.2, "agent", () => choose.pick(["me", "mempalace"])),
    ...maybe(world, 0.2, "extract", () => choose.pick(["exchange", "general"])),
    ...maybe(world, 0.2, "include_ignored", () => choose.pick([[], ["x.log"], [""], "x", [5]])),
    ...maybe(world, 0.2, "include_subagents", () => choose.pick([true, false, "false", 1])),
  };
}

function checkpoint(world: World): Record<string, unknown> {
  const { choose } = world;
  const item = (): unknown =>
    choose.chance(0.08)
      ? choose.pick([5, null, "text", {}, { wing: "proj", room: "notes" }, { wing: "proj", room: "", content: "x" }])
      : { wing: value.name(world, value.WINGS), room: value.name(world, value.ROOMS), content: value.content(world) };
  return {
    items: choose.chance(0.05) ? choose.pick(["x", {}, null, 3]) : choose.some(4, item),
    ...maybe(world, 0.5, "diary", () =>
      choose.chance(0.15)
        ? choose.pick(["x", {}, null, { agent_name: "tester", entry: "" }, { agent_name: null, entry: "e" }])
        : {
            ...maybe(world, 0.8, "agent_name", () => value.name(world, value.AGENTS)),
            entry: `${value.sentence(world)} ${world.step}`,
            ...maybe(world, 0.3, "topic", () => "t"),
          },
    ),
    ...maybe(world, 0.3, "dedup_threshold", () => choose.pick([0.5, 0.99, 1, 2, "0.9", "x"])),
    ...maybe(world, 0.2, "added_by", () => choose.pick(["me", "", " "])),
  };
}

function search(world: World): Record<string, unknown> {
  const { choose } = world;
  const query = choose.chance(0.85)
    ? value.sentence(world, 4)
    : choose.pick([
        ...[
          "",
          "  ",
          "a",
          "\ud800",
          "Where is the postgres index?",
          `${"You are a helpful assistant. ".repeat(20)}\nWhich river?`,
        ],
        ...["alpha beta gamma ".repeat(20), "x".repeat(260), "zzzqqq", "*", '"quoted words"', "a AND b OR NOT c"],
      ]);
  return {
    query,
    ...maybe(world, 0.6, "wing", () => value.name(world, value.WINGS)),
    ...maybe(world, 0.3, "room", () => value.name(world, value.ROOMS)),
    ...maybe(world, 0.5, "limit", () => choose.pick(value.LIMITS)),
    ...maybe(world, 0.5, "max_distance", () => choose.pick(value.NUMBERS)),
    ...maybe(world, 0.1, "context", () => choose.pick(["", "some background"])),
    ...(world.isNew && {
      ...maybe(world, 0.2, "source_file", () => choose.pick([...value.SOURCES, "", "/none", 5, "n\0l"])),
      ...value.dates(world),
      ...maybe(world, 0.1, "candidate_strategy", () => choose.pick(["vector", "union", "x", "", 5])),
      ...maybe(world, 0.1, "cli_compatible", () => choose.pick([true, true, false, "yes", 0, null])),
      ...maybe(world, 0.05, "include_media", () => choose.pick([true, false, "x", null])),
      ...maybe(world, 0.05, "query_task", () => choose.pick(["search", "code", "x", "", 5])),
    }),
  };
}

/** Makes arguments that only our search has. They must not change the rest of the answer. */
function ownOfSearch(world: World): Record<string, unknown> {
  const { choose } = world;
  if (!choose.chance(0.15)) return {};
  return {
    ...maybe(world, 0.6, "explain", () => choose.pick([true, false, "yes", 1])),
    ...maybe(world, 0.6, "neighbors", () => choose.pick([0, 1, 5, 6, 1000, -1, "2", 1.9])),
    ...maybe(world, 0.4, "scope", () => choose.pick(["prefer", "all", null])),
    ...maybe(world, 0.4, "now", () => choose.pick(["2026-11-22", "1999-12-31T23:59:59Z", "", null])),
  };
}

function idList(world: World): unknown {
  const { choose } = world;
  if (choose.chance(0.15)) return choose.pick([[], "nope", null, {}, Array.from({ length: 501 }, () => "x")]);
  return Array.from({ length: choose.between(1, 4) }, () => value.drawerId(world, { whole: true }));
}
