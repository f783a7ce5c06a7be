/**
 * Entries of api-differences.ts for the list of tools: where our tools and their arguments differ from the real
 * Roampal's.
 */
import { isRecord, withoutKeys } from "../mend.ts";
import type { ApiDifference } from "./api-differences.ts";
import type { Row } from "./api-mend.ts";

const NEW = ["0.6.0"] as const;
const BOTH = ["0.3.6.1", "0.6.0"] as const;

type Tool = { properties: Row; required?: string[] };

/**
 * Removes arguments of one tool, and whether they are required, from both lists. If one list lacks the tool, removes
 * the tool.
 */
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
    why: "the document has it (decision 10); both packages have dropped it",
    mend: without("get_context_insights"),
  },
  {
    name: "scoring-arguments",
    versions: BOTH,
    why: "`outcome` as the document has it (decision 12); what else the packages tell of is taken as well, without being told of",
    mend: without("score_memories", "outcome", "exchange_outcome", "exchange_summary", "facts", "noun_tags"),
  },
  {
    name: "initial-score",
    versions: BOTH,
    why: "the document has it (decision 13); both packages have dropped it",
    mend: without("record_response", "initial_score"),
  },
  {
    name: "defaults-in-words",
    versions: BOTH,
    why: "what is not given is told in an argument's description; hosts send a default along, as if it had been chosen",
    mend: both((list) => withoutKeys(list, ["default"])),
  },
  {
    name: "nothing-required",
    versions: BOTH,
    why: "a list of what is required that holds nothing is left out; that any field may be named needs no saying",
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
    why: "0.6.0 updates a fact by its id alone; here by its text or its id, and its weights and tags stay (2.11)",
    mend: without("update_memory", "id", "old_content", "tags", "noun_tags", "importance", "confidence"),
  },
  {
    name: "checked-when-called",
    versions: NEW,
    why: "an empty text is refused with a sentence when the tool is called; tags are free",
    mend: both((list) => withoutKeys(list, ["minLength", "maxItems", "items"])),
  },
];
