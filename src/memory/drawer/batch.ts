/** Fetches or deletes many drawers in one call (upstream-latest.md 2.1). The call reports a missing id and continues. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LedgerReader, LedgerTx, WriteCall } from "../port/ledger.ts";
import { tooLarge } from "../../protocol/oversize.ts";
import { FRAME_SIZE_MAX_BYTES } from "../../protocol/limits.ts";
import { strip, wellFormed } from "../text/text.ts";
import { asText } from "../text/validate.ts";
import { deleteLogical } from "./drawer.ts";
import { drawerPayload, findLogical, shownId } from "./logical.ts";
import { nameOfSource } from "./originals.ts";

const IDS_MAX = 500;
/** Maximum number of characters that are read before other calls run. */
const PART_SIZE = 1024 * 1024;

export async function getDrawers(reader: LedgerReader, params: Record<string, unknown>): Promise<unknown> {
  const { ids, error } = idList(params["drawer_ids"], "fetch");
  if (ids === undefined) return { error };
  let size = 0;
  let pauseAt = PART_SIZE;
  const results: Record<string, unknown>[] = [];
  for (const [index, id] of ids.entries()) {
    const drawer = findLogical(reader, asText(id));
    const found = drawer === undefined ? undefined : drawerPayload(drawer);
    results.push(found ?? notFound(id));
    size += found?.content.length ?? 0;
    if (size > FRAME_SIZE_MAX_BYTES) throw tooLarge(`the answer with the first ${index + 1} of ${ids.length} drawers`);
    if (size < pauseAt) continue;
    pauseAt = size + PART_SIZE;
    await nextTurn();
  }
  return { results, count: results.length, errors: results.filter((result) => "error" in result).length };
}

/** Deletes drawers by id. Reports a repeated id as often as it is listed, because upstream looks up all ids before it deletes any. */
export function deleteDrawers(tx: LedgerTx, call: WriteCall): unknown {
  const { ids, error } = idList(call.params["drawer_ids"], "delete");
  if (ids === undefined) return { error };
  const found = ids.map((id) => ({ id, drawer: findLogical(tx, asText(id)) }));
  const results = found.map(({ id, drawer }) => {
    if (drawer === undefined) return notFound(id);
    return deleteLogical(tx, drawer);
  });
  const errors = results.filter((result) => "error" in result).length;
  return { results, count: results.length, deleted: results.length - errors, errors };
}

/** Deletes a source's drawers; only reports them unless `dry_run` is false. `findings`: names of the source's staged copies. */
export function deleteBySource(tx: LedgerTx, call: WriteCall): unknown {
  const given = call.params["source_file"];
  if (typeof given !== "string" || strip(given) === "")
    return { success: false, error: "source_file must be a non-empty string" };
  const staged = (call.findings ?? []) as readonly string[];
  const isThere = (name: string): boolean => tx.placesOfSource(name).drawers > 0;
  const sourceFile = nameOfSource(wellFormed(given), staged, isThere);
  const { drawers, places } = tx.placesOfSource(sourceFile);
  const isPreview = call.params["dry_run"] ?? true;
  if (isPreview)
    return {
      success: true,
      dry_run: true,
      source_file: sourceFile,
      match_count: drawers,
      closet_match_count: tx.closets.count(sourceFile),
      sample: places,
      hint:
        drawers > 0
          ? `No drawers were deleted. Re-run with dry_run=false to remove these ${drawers} drawer(s) and ${tx.closets.count(sourceFile)} index entr(y/ies).`
          : "No drawers match this source_file.",
    };
  if (drawers === 0) return { success: true, dry_run: false, source_file: sourceFile, deleted: 0 };
  const closets = tx.closets.remove(sourceFile);
  return {
    success: true,
    dry_run: false,
    source_file: sourceFile,
    deleted: tx.deleteSource(sourceFile),
    closets_deleted: closets,
  };
}

function notFound(id: unknown): { drawer_id: unknown; error: string } {
  const text = asText(id);
  const shown = shownId(text);
  return { drawer_id: shown === text ? id : shown, error: `Drawer not found: ${shown}` };
}

function idList(
  given: unknown,
  action: "fetch" | "delete",
): { ids: unknown[]; error?: never } | { ids?: never; error: string } {
  if (!Array.isArray(given)) return { error: "drawer_ids must be a list of drawer IDs" };
  if (given.length === 0) return { error: "drawer_ids must not be empty" };
  if (given.length > IDS_MAX)
    return {
      error: `drawer_ids holds ${given.length} ids, but the bulk ${action} accepts at most ${IDS_MAX} per call`,
    };
  return { ids: given };
}
