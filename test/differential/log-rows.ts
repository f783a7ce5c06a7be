/** Rows of the coordination log's tools (events, tasks, artifacts), a part of ROWS (tool-rows.ts). */
import type { ToolRow, World } from "./calls.ts";
import * as value from "./values.ts";

const { maybe } = value;

const STREAMS = ["project/mempalace", "project/ü", "shared", "a b"] as const;
const ROOMS = ["delegation", "patches", "status"] as const;
const TOPICS = ["auth-v2", "Ünïcode topic", "t"] as const;
const AGENTS = ["windows:codex:x", "mac-claude", "Ö"] as const;
const TYPES = ["task.request", "task.reply", "patch.ready", "status", "a-b_c.9"] as const;
const STATUSES = ["open", "claimed", "ready", "applied", "blocked", "failed", "superseded"] as const;
const BAD = [
  ...["", "  ", "\t", "x".repeat(257), "nul\0l", "tab\tin", "del\u007f", "lone \ud800", " padded ", "😀".repeat(256)],
  ...[5, null, true, ["x"], { a: 1 }, "it's", 1.5],
] as const;
const BODIES = [
  ...["", "done", "line\nline\n", "ü".repeat(300), "😀".repeat(201), "x".repeat(200), "x".repeat(201), "crlf\r\n"],
  ...["y".repeat(256 * 1024), `é${"y".repeat(256 * 1024 - 1)}`, "nul\0", "half \ud800", 5, null, ["x"]],
] as const;
const METADATA = [
  ...[{}, { z: 1, a: { d: [1, "ü", null], b: true } }, { long: "x".repeat(64 * 1024) }, null, "x", [], 5],
] as const;
const COMMITS = ["abcdef1", "ABCDEF1234", "0".repeat(64), "main", "abcdef", "g".repeat(8), "", " abcdef1 ", 5, null];
const TIMES = [
  "2020-01-01",
  "2100-01-01",
  "2026-01-01T00:00:00Z",
  "2026-01-01T00:00:00+00:00",
  "yesterday",
  "",
  5,
  null,
];
const LIMITS = [1, 2, 5, 50, 500, 501, 0, -1, "3", 2.9, "x", null];

const oneOf = (world: World, good: readonly string[], bad = 0.08): unknown =>
  world.choose.chance(bad) ? world.choose.pick(BAD) : world.choose.pick(good);
const eventId = (world: World): unknown =>
  world.choose.chance(0.85) && world.events.length > 0
    ? world.choose.pick(world.events)
    : world.choose.pick([...BAD, "evt_none"]);
const artifactId = (world: World): unknown =>
  world.choose.chance(0.85) && world.artifacts.length > 0
    ? world.choose.pick(world.artifacts)
    : world.choose.pick([...BAD, "art_none"]);
const correlation = (world: World): string =>
  world.choose.chance(0.4) && world.tasks.length > 0 ? world.choose.pick(world.tasks) : world.choose.pick(["c1", "c2"]);
const body = (world: World): Record<string, unknown> => maybe(world, 0.6, "body", () => world.choose.pick(BODIES));
const metadata = (world: World): Record<string, unknown> =>
  maybe(world, 0.3, "metadata", () => world.choose.pick(METADATA));

function route(world: World): Record<string, unknown> {
  return {
    ...maybe(world, 0.3, "topic", () => oneOf(world, TOPICS)),
    ...maybe(world, 0.7, "to_agent", () => oneOf(world, [...AGENTS, "*"])),
    ...maybe(world, 0.5, "correlation_id", () => correlation(world)),
    ...maybe(world, 0.2, "branch", () => oneOf(world, ["main", "fix/é"])),
    ...maybe(world, 0.2, "base_commit", () => oneOf(world, ["abcdef1"])),
  };
}

/** Makes the arguments that event_list and event_wait share. */
function filter(world: World): Record<string, unknown> {
  const { choose } = world;
  return {
    ...maybe(world, 0.3, "stream", () => oneOf(world, STREAMS)),
    ...maybe(world, 0.2, "room", () => oneOf(world, ROOMS)),
    ...maybe(world, 0.1, "topic", () => oneOf(world, TOPICS)),
    ...maybe(world, 0.2, "type", () => oneOf(world, [...TYPES, "event.ack", "Task.Request", "x".repeat(65)])),
    ...maybe(world, 0.3, "to_agent", () => oneOf(world, AGENTS)),
    ...maybe(world, 0.2, "from_agent", () => choose.pick(["me", "", 0, false, ["x"]])),
    ...maybe(world, 0.2, "writer", () => oneOf(world, AGENTS)),
    ...maybe(world, 0.2, "correlation_id", () => correlation(world)),
    ...maybe(world, 0.1, "status", () => choose.pick([...STATUSES, "none", "", 5, null])),
    ...maybe(world, 0.3, "since_event_id", () => eventId(world)),
    ...maybe(world, 0.1, "since_created_at", () => choose.pick(TIMES)),
    ...maybe(world, 0.3, "limit", () => choose.pick(LIMITS)),
  };
}

/** Adds a placeholder that later calls use for the id in this call's answer. If this call fails, both servers get the placeholder. */
function noted(list: string[], world: World, name = ""): void {
  list.push(`@${world.step}${name}@`);
}

export const LOG_ROWS: Readonly<Record<string, ToolRow>> = {
  event_append: {
    weight: 14,
    since: "3.11.0",
    make: (world) => {
      noted(world.events, world);
      return {
        type: oneOf(world, TYPES, 0.05),
        stream: oneOf(world, STREAMS, 0.05),
        room: oneOf(world, ROOMS, 0.05),
        from_agent: oneOf(world, AGENTS, 0.05),
        ...route(world),
        ...maybe(world, 0.3, "status", () => world.choose.pick([...STATUSES, "none", "", 5])),
        ...body(world),
        ...metadata(world),
        ...maybe(world, 0.3, "artifact_ids", () =>
          world.choose.chance(0.2)
            ? world.choose.pick([[], "x", null, [5], [""], {}])
            : world.choose.some(3, () => artifactId(world)),
        ),
      };
    },
  },
  event_list: {
    weight: 14,
    since: "3.11.0",
    make: (world) => ({
      ...filter(world),
      ...maybe(world, 0.1, "before_event_id", () => eventId(world)),
      ...maybe(world, 0.3, "order", () => world.choose.pick(["asc", "desc", " DESC ", "up", "", 5, null, true])),
      ...maybe(world, 0.3, "preview", () => world.choose.pick([true, false, "false", 0, 1, []])),
    }),
  },
  event_wait: {
    weight: 5,
    since: "3.11.0",
    make: (world) => ({ ...filter(world), timeout_ms: world.choose.pick([0, 1, 20, "5", -1, "x", 1.5]) }),
  },
  event_ack: {
    weight: 6,
    since: "3.11.0",
    make: (world) => {
      noted(world.events, world);
      return {
        event_id: eventId(world),
        from_agent: oneOf(world, AGENTS),
        ...maybe(world, 0.6, "status", () => world.choose.pick([...STATUSES, "none"])),
        ...body(world),
        ...maybe(world, 0.2, "topic", () => oneOf(world, [...TOPICS, ""])),
      };
    },
  },
  task_create: {
    weight: 5,
    since: "3.11.0",
    make: (world) => {
      noted(world.events, world);
      noted(world.tasks, world, ".task");
      return {
        project: oneOf(world, ["MemPalace", "two words", "ÜÜ", "_x_"]),
        from_agent: oneOf(world, AGENTS),
        to_agent: oneOf(world, AGENTS),
        goal: oneOf(world, ["Fix the echo", "long ".repeat(20), "日本", "a-b--c", "İx\nnext"]),
        branch: oneOf(world, ["main"]),
        base_commit: world.choose.chance(0.7) ? "ABCDEF12" : world.choose.pick(COMMITS),
        done: oneOf(world, ["tests pass", " kept \n"]),
      };
    },
  },
  artifact_put: {
    weight: 6,
    since: "3.11.0",
    make: (world) => {
      noted(world.artifacts, world);
      return {
        kind: world.choose.chance(0.8)
          ? world.choose.pick(["patch", "file", "log", "json", "note"])
          : world.choose.pick(BAD),
        content: world.choose.pick(BODIES),
        created_by: oneOf(world, AGENTS),
        ...metadata(world),
      };
    },
  },
  artifact_get: { weight: 5, since: "3.11.0", make: (world) => ({ artifact_id: artifactId(world) }) },
  patch_submit: {
    weight: 4,
    since: "3.11.0",
    make: (world) => {
      noted(world.events, world);
      noted(world.artifacts, world, ".artifact");
      return {
        content: world.choose.pick(["--- a\n+++ b\n", "no end", "crlf\r\n", "", null]),
        from_agent: oneOf(world, AGENTS),
        stream: oneOf(world, STREAMS),
        ...maybe(world, 0.3, "room", () => oneOf(world, ROOMS)),
        ...route(world),
        ...body(world),
        ...metadata(world),
      };
    },
  },
  mesh_peers: { weight: 1, since: "3.11.0", make: () => ({}) },
};
