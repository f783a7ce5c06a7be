/** Files a session's notes in one call, leaves out notes that are stored already, and ends with a diary entry (upstream-latest.md 2.1). */
import { isRecord } from "../../base/parse-json.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { CHECKPOINT_ITEMS_MAX } from "../../protocol/limits.ts";
import { strip } from "../text/text.ts";
import { checked } from "../text/validate.ts";
import { writeDiary } from "./diary.ts";
import { addDrawer, type RowSize } from "./drawer.ts";
import { preview } from "./logical.ts";

/** Stored drawers and slices of earlier items that are similar to one item. The main thread finds them: the writer has no vectors. */
export type Likeness = {
  stored: { id: string; similarity: number }[];
  earlier: { item: number; slice: number; similarity: number }[];
};
/** A drawer that is similar to a text. `content`: the beginning of the drawer's text. */
export type Match = { id: string; wing: string; room: string; similarity: number; content: string };

/** Maximum number of similar drawers in the answer for one text. */
export const MATCHES_MAX = 5;

export function checkpoint(tx: LedgerTx, call: WriteCall, size: RowSize): unknown {
  const { items, diary } = call.params;
  if (!Array.isArray(items)) return { error: "items must be a list of {wing, room, content} objects" };
  if (items.length > CHECKPOINT_ITEMS_MAX)
    return {
      error: `${items.length} items are too many for one checkpoint; file at most ${CHECKPOINT_ITEMS_MAX} at once`,
    };
  const likeness = (call.findings ?? {}) as Record<number, Likeness>;
  const addedBy = filer(call.params);
  const answer: { added: unknown[]; duplicates: unknown[]; errors: unknown[]; diary?: unknown } = {
    added: [],
    duplicates: [],
    errors: [],
  };
  /** Ids of the rows of each filed item, by the item's index in the call. */
  const filed = new Map<number, string[]>();
  for (const [index, item] of items.entries()) {
    if (!isItem(item)) {
      const error = isRecord(item) ? "wing, room, content must be non-empty strings" : "item must be an object";
      answer.errors.push({ item, error });
      continue;
    }
    const { wing, room, content } = item;
    const matches = matchesOf(tx, likeness[index], filed);
    if (matches.length > 0) {
      answer.duplicates.push({ room, matches });
      continue;
    }
    const result = addDrawer(tx, { ...call, params: { wing, room, content, added_by: addedBy } }, size) as {
      success: boolean;
      drawer_id: string;
      chunks?: number;
      chunk_ids?: string[];
    };
    (result.success ? answer.added : answer.errors).push(result);
    if (result.chunks !== undefined) filed.set(index, result.chunk_ids ?? [result.drawer_id]);
  }
  if (diary !== undefined && diary !== null) addDiary(tx, call, diary, answer, size);
  return answer;
}

function addDiary(
  tx: LedgerTx,
  call: WriteCall,
  diary: unknown,
  answer: { errors: unknown[]; diary?: unknown },
  size: RowSize,
): void {
  if (!isRecord(diary)) return void answer.errors.push({ diary, error: "diary must be an object" });
  const entry = diary["entry"] || diary["content"];
  if (typeof entry !== "string" || entry === "")
    return void answer.errors.push({ diary, error: "diary entry must be a non-empty string" });
  const params = { agent_name: "cursor-ide", topic: "session-checkpoint", ...diary, entry };
  // An invalid wing throws before the diary entry is written. The items stay filed and are reported.
  answer.diary = checked(() => writeDiary(tx, { ...call, params }, size));
}

/** Returns the similar drawers that still exist, best first. */
function matchesOf(tx: LedgerTx, likeness: Likeness | undefined, filed: ReadonlyMap<number, string[]>): Match[] {
  if (likeness === undefined) return [];
  const earlier = likeness.earlier.flatMap(({ item, slice, similarity }) => {
    const id = filed.get(item)?.[slice];
    return id === undefined ? [] : [{ id, similarity }];
  });
  return [...likeness.stored, ...earlier]
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, MATCHES_MAX)
    .flatMap(({ id, similarity }) => {
      const drawer = tx.findDrawer(id);
      return drawer === undefined
        ? []
        : [{ id, wing: drawer.wing, room: drawer.room, similarity, content: preview(drawer.text) }];
    });
}

/** Returns the agent that files the items: `added_by` if given, else the diary's agent. */
function filer({ added_by: given, diary }: Record<string, unknown>): string {
  const agent = isRecord(diary) ? diary["agent_name"] : undefined;
  const named = [given, agent].find((name) => typeof name === "string" && strip(name) !== "");
  return (named as string | undefined) ?? "checkpoint";
}

export function isItem(item: unknown): item is { wing: string; room: string; content: string } {
  return (
    isRecord(item) && ["wing", "room", "content"].every((key) => typeof item[key] === "string" && item[key] !== "")
  );
}
