/** Entries of api-differences.ts about the list of tools and their arguments. */
import { isRecord, withoutKeys } from "../mend.ts";
import type { ApiDifference } from "./api-differences.ts";
import type { Row } from "./api-mend.ts";

const NEW = ["0.6.0"] as const;
const BOTH = ["0.3.6.1", "0.6.0"] as const;

type Tool = { properties: Row; required?: string[] };

/** Removes arguments of one tool from both lists. If one list lacks the tool, removes the tool. */
const without =
  (tool: string, ...names: readonly string[]): ApiDifference["mend"] =>
  (theirs, ours, { via }) => {
    if (via !== "list") return undefined;
    const cut = (list: unknown): Row => {
      const { [tool]: changed, ...others } = list as Record<string, Tool>;
      if (names.length === 0 || changed === undefined) return others;
      const properties = Object.entries(changed.properties).filter(([name]) => !names.includes(name));
      const required = changed.required?.filter((name) => !names.includes(name));
      return { ...others, [tool]: { ...changed, properties: Object.fromEntries(properties), required } };
    };
    return [cut(theirs), cut(ours)];
  };

const both =
  (change: (list: Row) => unknown): ApiDifference["mend"] =>
  (theirs, ours, { via }) =>
    via === "list" && isRecord(theirs) && isRecord(ours) ? [change(theirs), change(ours)] : undefined;

export const TOOL_DIFFERENCES: readonly ApiDifference[] = [
  {
    name: "insights-tool",
    versions: BOTH,
    why: "the document has it (decision 10); both packages dropped it",
    mend: without("get_context_insights"),
  },
  {
    name: "scoring-arguments",
    versions: BOTH,
    why: "`outcome` follows the document (decision 12); our tool also accepts the packages' other arguments without listing them",
    mend: without("score_memories", "outcome", "exchange_outcome", "exchange_summary", "facts", "noun_tags"),
  },
  {
    name: "initial-score",
    versions: BOTH,
    why: "the document has it (decision 13); both packages dropped it",
    mend: without("record_response", "initial_score"),
  },
  {
    name: "defaults-in-words",
    versions: BOTH,
    why: "an argument's description gives its default, because hosts send a declared default as if it had been chosen",
    mend: both((list) => withoutKeys(list, ["default"])),
  },
  {
    name: "nothing-required",
    versions: BOTH,
    why: "an empty list of required arguments is omitted, and so is the statement that any field is allowed",
    mend: both((list) => {
      const bare = ({ required = [], properties, ...tool }: Tool): Tool => {
        const open = Object.entries(properties).map(([name, one]) => {
          const { additionalProperties: any, ...rest } = one as Row;
          return [name, any === true ? rest : one] as const;
        });
        return { ...tool, properties: Object.fromEntries(open), required };
      };
      return Object.fromEntries(Object.entries(list).map(([name, tool]) => [name, bare(tool as Tool)]));
    }),
  },
  {
    name: "always-inject-argument",
    versions: NEW,
    why: "0.6.0 has no facts that are always shown any more",
    mend: without("add_to_memory_bank", "always_inject"),
  },
  {
    name: "nouns-and-kinds",
    versions: NEW,
    why: "0.6.0 has nouns in place of its graphs, and facts beside summaries; the document has neither",
    mend: (theirs, ours, step) => {
      const steps = [
        without("add_to_memory_bank", "noun_tags"),
        without("record_response", "noun_tags"),
        without("search_memory", "type"),
      ];
      return steps.reduce<[unknown, unknown] | undefined>((pair, cut) => pair && cut(...pair, step), [theirs, ours]);
    },
  },
  {
    name: "update-arguments",
    versions: NEW,
    why: "0.6.0 updates a fact only by its id; ours by its text or its id, and its weights and tags stay (2.11)",
    mend: without("update_memory", "id", "old_content", "tags", "noun_tags", "importance", "confidence"),
  },
  {
    name: "checked-when-called",
    versions: NEW,
    why: "the tool refuses an empty text with a sentence when it is called; tags are free",
    mend: both((list) => withoutKeys(list, ["minLength", "maxItems", "items"])),
  },
];
