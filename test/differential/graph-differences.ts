/** Accepted differences of the graph's tools, a part of DIFFERENCES (differences.ts). */
import type { Difference } from "./differences.ts";
import { isRecord, withoutKeys } from "./mend.ts";

type Row = Record<string, unknown>;

const valueOf = (answer: unknown): Row => {
  const value = isRecord(answer) ? answer["value"] : undefined;
  return isRecord(value) ? value : {};
};

const asText = (row: unknown): string => JSON.stringify(row);

export const GRAPH_DIFFERENCES: readonly Difference[] = [
  {
    name: "graph-additions-of-3.11",
    versions: ["3.3.6"],
    tools: ["kg_query", "kg_timeline", "graph_stats"],
    what: "past, present and future facts are separate; an unknown name gets similar names; a timeline has pages; `graph_stats` has more numbers",
    why: "additive: 3.11 gives the same answer",
    mend: (theirs, ours) => [
      theirs,
      withoutKeys(ours, [
        ...["active_facts", "historical_facts", "future_facts", "candidates", "total", "limit", "offset"],
        ...["total_room_instances", "passive_tunnel_rooms", "explicit_tunnels", "total_connections"],
      ]),
    ],
  },
  {
    name: "graph-names",
    versions: ["3.3.6"],
    tools: ["kg_query"],
    what: "a name that is a part of exactly one entity's name means that entity",
    why: "3.11 does the same and says so in `resolved_from`; 3.3.6 finds nothing",
    mend: (theirs, ours) => (valueOf(ours)["resolved_from"] === undefined ? undefined : [{}, {}]),
  },
  {
    name: "graph-half-open",
    versions: ["3.3.6"],
    tools: ["kg_query"],
    what: "a fact does not count at the very moment of its end",
    why: "3.11 does the same: a fact and its successor are never valid together",
    mend: (theirs, ours, { args }) => {
      const at = String((args as Row)["as_of"] ?? "")
        .trim()
        .replace("+00:00", "Z");
      const left = (answer: unknown): unknown => {
        const { facts, count: _count, ...rest } = valueOf(answer);
        if (!Array.isArray(facts)) return answer;
        return {
          ...rest,
          facts: (facts as Row[]).filter(({ valid_to: to }) => to !== at && `${String(to)}T23:59:59Z` !== at),
        };
      };
      return at === "" ? undefined : [left(theirs), left(ours)];
    },
  },
  {
    name: "graph-timeline-order",
    versions: ["3.3.6", "3.11.0"],
    byChance: true,
    tools: ["kg_timeline"],
    what: "the order of facts that began at the same moment",
    why: "the order depends on their ids, which depend on the time of the call; 3.3.6 promises no order",
    mend: (theirs, ours) => {
      const sorted = (answer: unknown): unknown => {
        const { timeline, ...rest } = valueOf(answer);
        if (!Array.isArray(timeline)) return answer;
        return { ...rest, timeline: (withoutKeys(timeline, ["valid_to", "current"]) as Row[]).map(asText).sort() };
      };
      return [sorted(theirs), sorted(ours)];
    },
  },
  {
    name: "graph-blank-times",
    versions: ["3.3.6", "3.11.0"],
    tools: ["kg_query", "kg_timeline", "kg_stats"],
    what: 'a time given as `""` counts as not given',
    why: 'agents fill in optional values; upstream stores `""`, and a fact whose end is `""` counts as ended from its start',
    // Accepts any answer to this call, which comes last because it makes the two graphs differ.
    mend: (theirs, ours, { args }) => (JSON.stringify(args) === '{"entity":"Blank"}' ? [{}, {}] : undefined),
  },
  {
    name: "graph-offsets",
    versions: ["3.3.6", "3.11.0"],
    tools: ["kg_query"],
    what: "a moment with an offset (`2026-05-06T23:00:00-08:00`) is accepted and filed as UTC",
    why: "MemPalace 3.12 announces the same; agents copy such times from git",
    mend: (theirs, ours, { args }) => (/[+-]0[1-9]:\d\d$/.test(String((args as Row)["as_of"])) ? [{}, {}] : undefined),
  },
  {
    name: "graph-wing-slugs",
    versions: ["3.3.6", "3.11.0"],
    tools: ["find_tunnels"],
    what: "`wing_a` and `wing_b` find wings as they are written",
    why: "upstream turns the asked name into a slug, but not the stored one, and finds no wing with capitals, spaces or hyphens",
    mend: (theirs, ours) => {
      const [a, b] = [theirs, ours].map((answer) => (answer as { value?: unknown }).value);
      return Array.isArray(a) && Array.isArray(b) && a.length < b.length ? [{}, {}] : undefined;
    },
  },
  {
    name: "graph-general-room",
    versions: ["3.3.6"],
    tools: ["traverse", "graph_stats"],
    what: "`general` counts as a room of the graph",
    why: "3.11 does the same: its counts agree with those of status",
    mend: (theirs, ours, { tool, args }) => {
      const counts = ["total_rooms", "rooms_per_wing"];
      if (tool === "graph_stats") return [withoutKeys(theirs, counts), withoutKeys(ours, counts)];
      if ((args as Row)["start_room"] === "general") return [{}, {}];
      const { value } = ours as { value?: unknown };
      return Array.isArray(value) ? [theirs, { value: value.filter((row) => row.room !== "general") }] : undefined;
    },
  },
  {
    name: "graph-room-order",
    versions: ["3.3.6"],
    byChance: true,
    tools: ["traverse", "find_tunnels", "graph_stats"],
    what: "the order of rooms that are equally near and equally full",
    why: "we order them by name, as 3.11 does; 3.3.6 uses the order of Chroma's rows",
    mend: (theirs, ours) => {
      const [a, b] = [theirs, ours].map((answer) => (answer as { value?: unknown }).value);
      if (Array.isArray(a) && Array.isArray(b)) return [a.map(asText).sort(), b.map(asText).sort()];
      const sorted = (answer: unknown): unknown => {
        const { top_tunnels: top, ...rest } = valueOf(answer);
        return Array.isArray(top) ? { ...rest, top: top.map(asText).sort() } : answer;
      };
      return [sorted(theirs), sorted(ours)];
    },
  },
  {
    name: "tunnel-use",
    versions: ["3.11.0"],
    tools: ["list_tunnels", "create_tunnel"],
    what: "following a tunnel does not change its `strength`, `stability` and `access_count`",
    why: "3.3.6 does the same: a question writes nothing, and these numbers are not used",
    mend: (theirs, ours) => {
      const keys = ["strength", "stability", "access_count", "last_activated"];
      return [withoutKeys(theirs, keys), withoutKeys(ours, keys)];
    },
  },
];
