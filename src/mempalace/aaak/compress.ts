/** Files summaries like upstream's `mempalace compress` (palace.md 9). Masks secrets first, because a summary may have half a secret. */
import { badParams } from "../../base/errors.ts";
import type { Drawer } from "../../memory/port/drawer.ts";
import type { LedgerReader, LedgerTx, WriteCall } from "../../memory/port/ledger.ts";
import { COMPRESSED_MAX } from "../../protocol/limits.ts";
import type { Methods } from "../../protocol/spec.ts";
import { redact } from "../../memory/text/redact.ts";
import { type NameCodes, type Summary, summarize } from "./dialect.ts";

/** Returns a page of summaries without storing them. Errors: PROTOCOL_BAD_PARAMS. */
export function previewCompressed(
  reader: Pick<LedgerReader, "listDrawers">,
  params: Record<string, unknown>,
): Methods["closet.compressPreview"]["result"] {
  const { wing, offset } = params;
  const codes = nameCodes(params);
  if (wing !== undefined && (typeof wing !== "string" || wing === ""))
    throw badParams("wing must be a non-empty string");
  if (!Number.isSafeInteger(offset) || Number(offset) < 0) throw badParams("offset must be a whole number");
  const filter = wing === undefined ? {} : { wing };
  const { drawers, total } = reader.listDrawers(filter, COMPRESSED_MAX, Number(offset));
  const rows = drawers.map((drawer) => {
    const { text: summary, ...figures } = compressed(drawer, codes);
    const { wing = "?", room = "?", source_file: source = "?" } = drawer.metadata;
    return { id: drawer.id, wing: String(wing), room: String(room), sourceFile: String(source), summary, ...figures };
  });
  return { total, drawers: rows };
}

/** Stores the drawers' summaries as closets. Skips deleted drawers. Errors: PROTOCOL_BAD_PARAMS. */
export function compressDrawers(tx: LedgerTx, { params }: WriteCall): Methods["closet.compress"]["result"] {
  const { ids } = params;
  const isList = Array.isArray(ids) && ids.length <= COMPRESSED_MAX;
  if (!isList || !ids.every((id): id is string => typeof id === "string"))
    throw badParams(`ids must be a list of at most ${COMPRESSED_MAX} strings`);
  const codes = nameCodes(params);
  let stored = 0;
  for (const id of ids) {
    const drawer = tx.findDrawer(id);
    if (drawer === undefined) continue;
    const { text, ratio, originalTokens } = compressed(drawer, codes);
    const metadata = { ...drawer.metadata, compression_ratio: ratio, original_tokens: originalTokens };
    tx.closets.put({ id, text, metadata });
    stored += 1;
  }
  return { stored };
}

function compressed({ text, metadata }: Drawer, codes: NameCodes): Summary {
  return summarize(redact(text, "recall").text, metadata, codes);
}

function nameCodes({ names = [] }: Record<string, unknown>): NameCodes {
  const isPair = (one: unknown): one is [string, string] =>
    Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === "string");
  if (Array.isArray(names) && names.every(isPair)) return names;
  throw badParams("names must be a list of pairs, a name and its code");
}
