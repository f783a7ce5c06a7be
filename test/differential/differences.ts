/**
 * Lists the deliberate differences between our answers and the real MemPalace's. The differential test accepts only these, and fails if no
 * call needs one. scripts/docs.ts writes docs/lab/differences.md from this list.
 */
import type { MempalaceVersion } from "../helpers/python-mempalace.ts";
import type { Call } from "./calls.ts";
import { GRAPH_DIFFERENCES } from "./graph-differences.ts";
import {
  baseNames,
  firstEvents,
  goneTogether,
  isRecord,
  onlyOldFilters,
  sameCliText,
  sameHits,
  TRUNCATED,
  untied,
  withoutKeys,
  withoutMissed,
  withoutMissedMatches,
  withoutWords,
} from "./mend.ts";
import type { Answer } from "./server.ts";

export type Difference = {
  name: string;
  versions: readonly MempalaceVersion[];
  tools: readonly string[] | "all";
  /** True if only some runs show the difference, because it depends on timing or on equal counts. */
  byChance?: true;
  what: string;
  why: string;
  /** Returns both answers without the parts that may differ, or undefined if the entry does not apply. */
  mend: (theirs: Answer, ours: Answer, call: Call) => [unknown, unknown] | undefined;
};

const OLD = ["3.3.6"] as const;
const NEW = ["3.11.0"] as const;
const BOTH = ["3.3.6", "3.11.0"] as const;

const SEARCH_ADDITIONS = [
  ...["drawer_id", "source_path", "filed_at", "authored_at", "authored_at_source", "content_date"],
  ...["content_date_source"],
];

/** Keys that only our search returns. */
const SEARCH_OWN = [
  ...["weak", "weak_match", "nothing_found", "notice", "phrases", "outdated"],
  ...["superseded_by", "spread"],
];

/** Removes the keys from both answers, at any depth. */
const without =
  (...keys: string[]): Difference["mend"] =>
  (theirs, ours) => [withoutKeys(theirs, keys), withoutKeys(ours, keys)];

export const DIFFERENCES: readonly Difference[] = [
  {
    name: "teaching-texts",
    versions: BOTH,
    tools: ["status", "get_aaak_spec"],
    what: "the wording of `protocol`, `aaak_dialect` and `aaak_spec`",
    why: "the rules are the same in our own words; agents read them, and no program parses them",
    mend: without("protocol", "aaak_dialect", "aaak_spec"),
  },
  {
    name: "machine-report",
    versions: NEW,
    tools: ["status", "reconnect"],
    what: "3.11's `status` and `reconnect` report its backend, device, libraries, updates and integrity check",
    why: "these are facts of the Python process; ours are in `palace status` and `palace doctor`",
    mend: (theirs, ours) => [
      withoutKeys(theirs, ["backend", "embedding_device", "sqlite_integrity", "library_versions", "updates"]),
      ours,
    ],
  },
  {
    name: "missing-database",
    versions: NEW,
    tools: ["status"],
    what: "the words and details of `status` before the first drawer",
    why: "we keep 3.3.6's words (`No palace found` and what to type), because no Chroma file can be missing here",
    mend: (theirs, ours) =>
      JSON.stringify(theirs).includes("Chroma database missing") && JSON.stringify(ours).includes("No palace found")
        ? [{}, {}]
        : undefined,
  },
  {
    name: "mine-summary",
    versions: NEW,
    tools: ["mine"],
    what: "the wording of a mine's `output`; our answer also has `status`, the wing and the figures as fields, and a `hint` about what to do",
    why: "`output` is a summary for people; a long mine continues in the background, and `status` says so",
    mend: (theirs, ours) => {
      const figures = [
        "output",
        "output_truncated",
        "status",
        "wing",
        "files",
        "filed",
        "unchanged",
        "drawers",
        "skipped",
      ];
      return [withoutKeys(theirs, ["output", "output_truncated"]), withoutKeys(ours, [...figures, "hint"])];
    },
  },
  {
    name: "split-ids",
    versions: OLD,
    tools: ["get_drawer", "update_drawer", "delete_drawer", "list_rooms"],
    what: "the id that `add_drawer` gave for a long text works for get, update and delete; a text that grows is split",
    why: "3.11 does the same; 3.3.6 does not know the id it gave, and lets a row grow beyond the embedded part",
    // Accepts any answer about the wing `closing`. These calls come last, because they make the two palaces differ.
    mend: (theirs, ours, { args }) =>
      /"wing":"closing"|"content":"grown past/.test(JSON.stringify([args, ours])) ||
      (JSON.stringify(theirs).includes("Drawer not found") && JSON.stringify(ours).includes("_chunk_000001"))
        ? [{}, {}]
        : undefined,
  },
  {
    name: "additions-of-3.11",
    versions: OLD,
    tools: "all",
    what: "results have the additions of 3.11: `metadata` of a listed drawer, ids and provenance of a hit, and what a deletion removed",
    why: "additive: a client of 3.3.6 ignores keys that it does not know",
    mend: (theirs, ours, { tool }) => {
      const shown = { search: SEARCH_ADDITIONS, list_drawers: ["metadata"] }[tool] ?? [];
      // In 3.3.6 a drawer's slice has this key too, but a diary entry's slice does not.
      const parent = "parent_drawer_id";
      const added = [
        "closets_deleted",
        "deleted_ids",
        "chunks_deleted",
        "id_recipe",
        "last_modified",
        parent,
        ...shown,
      ];
      return [withoutKeys(theirs, [parent]), onlyOldFilters(withoutKeys(ours, added))];
    },
  },
  {
    name: "windows-paths",
    versions: BOTH,
    tools: ["get_drawer", "get_drawers", "list_drawers", "search"],
    what: "the base name of a source with backslashes",
    why: "upstream cuts at the separators of its own machine, but here machines of both kinds share one palace",
    mend: (theirs, ours) => [baseNames(theirs), ours],
  },
  {
    name: "search-score",
    versions: BOTH,
    tools: ["search"],
    what: "a hit has `score`, which decides the order, and a slice has its `chunk_id`; `total_before_filter` counts our candidates",
    why: "additive, and the candidates differ: ours come from words and vectors, upstream's from vectors only",
    mend: (theirs, ours) => [
      withoutKeys(theirs, ["total_before_filter"]),
      withoutKeys(ours, ["total_before_filter", "score", "chunk_id"]),
    ],
  },
  {
    name: "spelled-filters",
    versions: BOTH,
    tools: ["search", "list_drawers", "list_rooms"],
    what: "an unknown wing, room or source means the only name that differs in case, separators or parent folders; a `hint` says so, or gives the nearest names",
    why: "an exact name works as before; upstream finds nothing and does not say that the name is unknown",
    mend: (theirs, ours) => {
      const hint = "value" in ours && isRecord(ours.value) ? ours.value["hint"] : undefined;
      if (typeof hint !== "string") return undefined;
      return hint.includes("searched in ") ? [{}, {}] : [theirs, withoutKeys(ours, ["hint"])];
    },
  },
  {
    name: "search-notes",
    versions: BOTH,
    tools: ["search"],
    what: "a hit that shares little with the question is `weak`, one that states an ended fact is `outdated`, and one that a newer hit replaces has `superseded_by`; an answer has `spread` (for a question about everything), `weak_match`, `nothing_found`, whether a drawer has the quoted words, and a `notice` in words",
    why: "additive: upstream returns bad hits without a comment",
    mend: (theirs, ours) => [theirs, withoutKeys(ours, SEARCH_OWN)],
  },
  {
    name: "approximate-index",
    versions: BOTH,
    tools: ["search", "check_duplicate"],
    byChance: true,
    what: "our list has one or two hits that MemPalace omits although its list has room for them, even a drawer with exactly the question's text",
    why: "Chroma's index is approximate and misses a different drawer now and then; ours is exact",
    mend: (theirs, ours, call) =>
      call.tool === "search" ? withoutMissed(theirs, ours, call) : withoutMissedMatches(theirs, ours),
  },
  {
    name: "copies-named",
    versions: OLD,
    tools: ["search"],
    byChance: true,
    what: "a hit whose text other sources repeat word for word names these sources in `also_in`",
    why: "3.11 does the same; 3.3.6 shows each copy as a hit",
    mend: without("also_in"),
  },
  {
    name: "search-order",
    versions: BOTH,
    tools: ["search"],
    what: "the order and the choice of the hits (of near-duplicates and of one exchange we show the best, with the ids of the others); `bm25_score` uses another formula; `matched_via` is `drawer` also with `union`",
    why: "we rank by words and meaning together (docs/lab/figures.md); hits that both show agree in everything else",
    mend: sameHits,
  },
  {
    name: "search-own-parameters",
    versions: BOTH,
    tools: ["search"],
    what: "with `explain`, `neighbors`, `now` or `scope`, which only we know, a hit has `explain` and `neighbors`, and an answer has `reranked`",
    why: "additive: they do not change the fields that both have",
    mend: (theirs, ours, { own }) =>
      own === undefined ? undefined : [theirs, withoutKeys(ours, ["explain", "neighbors", "reranked"])],
  },
  {
    name: "search-cli-text",
    versions: NEW,
    tools: ["search"],
    what: "with `cli_compatible`, the order and choice of the hits in `cli_output`, and the scores by words that are printed there",
    why: "as in every search, we rank by words and meaning together",
    mend: sameCliText,
  },
  {
    name: "window-offsets",
    versions: NEW,
    tools: ["list_drawers"],
    what: "`since` and `before` with an offset or `Z` mean exactly that moment",
    why: "3.11 drops the offset and takes 23:00+09:00 for 23:00 local time",
    mend: (theirs, ours, { args }) =>
      /\+23:00$/.test(String((args as { since?: unknown }).since)) ? [{}, {}] : undefined,
  },
  {
    name: "date-pool",
    versions: NEW,
    tools: ["search"],
    what: "our answers never have `date_filter_pool_truncated`",
    why: "3.11 looks for dates among a bounded number of hits; we look at all drawers of the window",
    mend: (theirs, ours) => [withoutKeys(theirs, [TRUNCATED]), ours],
  },
  {
    name: "sync-unresolved",
    versions: OLD,
    tools: ["sync"],
    what: "a source counts as gone only if its folder still has another source; otherwise it is `unresolved` and kept",
    why: "3.11 does the same: a volume that is not mounted does not mean a deletion. The broker looks at the files of its own machine",
    mend: (theirs, ours) => [goneTogether(theirs), goneTogether(ours)],
  },
  {
    name: "equal-similarity",
    versions: BOTH,
    tools: ["check_duplicate", "checkpoint"],
    byChance: true,
    what: "which of several equally similar drawers are named, and in what order",
    why: "neither side promises an order among equals, and Chroma's order changes with its index",
    mend: untied,
  },
  {
    name: "checkpoint-diary-wing",
    versions: NEW,
    tools: ["checkpoint"],
    what: "an invalid diary wing is reported in `diary`, beside the notes that were filed",
    why: "upstream files the notes and answers -32000, as if it had done nothing",
    mend: (theirs, ours) =>
      JSON.stringify(theirs).includes("name contains invalid") &&
      JSON.stringify(ours).includes('"diary":{"success":false')
        ? [{}, {}]
        : undefined,
  },
  {
    name: "id-types",
    versions: BOTH,
    tools: ["get_drawer", "get_drawers", "delete_drawer", "delete_drawers", "update_drawer"],
    what: "a drawer id that is not a text counts as an unknown drawer",
    why: "upstream shows Chroma's words, `Expected ID to be a str`, some of them as an internal error",
    mend: (theirs, ours) =>
      JSON.stringify(theirs).includes("Expected ID to be a str") && JSON.stringify(ours).includes("Drawer not found")
        ? [{}, {}]
        : undefined,
  },
  {
    name: "hook-settings-types",
    versions: BOTH,
    tools: ["hook_settings"],
    what: "a setting that is neither true nor false stays unchanged",
    why: "upstream writes the value into config.json, where it counts as true or breaks the hook",
    mend: (theirs, ours, { args }) => (isRecord(args) && args["silent_save"] === "yes" ? [{}, {}] : undefined),
  },
  {
    name: "arguments-no-object",
    versions: OLD,
    tools: ["tools/call"],
    what: "a name that is not a text, and arguments that are not an object, get -32602 with the words of 3.11",
    why: "3.3.6 takes the letters of a text for parameter names, and an empty list for no arguments",
    mend: (theirs, ours) =>
      JSON.stringify(ours).includes("'arguments' an object")
        ? [withoutKeys(theirs, ["value", "error"]), {}]
        : undefined,
  },
  ...GRAPH_DIFFERENCES,
  {
    name: "coordination-texts",
    versions: NEW,
    tools: ["task_create", "event_list", "event_wait", "artifact_put", "patch_submit"],
    what: "the wording of a task's `Delivery` part, of its `handoff` after the first sentence, of the `note` on `from_agent`, and of `warnings` on patches",
    why: "the content is the same in our own words; agents read it, and no program parses it",
    mend: (theirs, ours) => [withoutWords(theirs), withoutWords(ours)],
  },
  {
    name: "event-pages",
    versions: NEW,
    tools: ["event_list", "event_wait"],
    what: "a list whose events have more than 1 MiB of text together ends early and says `more`",
    why: "500 events may have 160 MiB: no message may be so large, and building one would delay all other answers",
    mend: firstEvents,
  },
  {
    name: "mesh-machine",
    versions: NEW,
    tools: ["mesh_peers"],
    what: "a profile's `hardware`, `accelerator`, `roles` and count of `drawers`; `sync_interval_s` is 0",
    why: "each program describes itself; the broker pulls from no other copy, and shows what a MemPalace hub has published",
    mend: without("hardware", "accelerator", "roles", "drawers", "sync_interval_s"),
  },
  {
    name: "internal-errors",
    versions: BOTH,
    tools: "all",
    what: "the `data` of an internal error (-32000) for a value of a type that the schema forbids",
    why: "upstream shows the text of the Python exception that was raised",
    mend: (theirs, ours) => {
      const isInternal = (answer: unknown): boolean =>
        isRecord(answer) && isRecord(answer["error"]) && answer["error"]["code"] === -32000;
      return isInternal(theirs) && isInternal(ours) ? [{}, {}] : undefined;
    },
  },
];

/** Files that only upstream writes. test/process/write/audit-log.test.ts proves their absence. */
export const MISSING_FILES: readonly { file: string; what: string; why: string }[] = [
  {
    file: "wal/write_log.jsonl",
    what: "one line for each write of a tool, before the write is tried, without the texts",
    why:
      "neither version reads it, and it does not say whether the write was made; our journal records who wrote what, and when, in " +
      "the transaction of the write itself, for `MEMPALACE_AUDIT_DAYS`, and `palace history undo` uses it. `palace forget` would have " +
      "to search this second copy, too",
  },
];
