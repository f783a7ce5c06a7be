/** Rules of two writes that only a person starts: forgetting a text, and undoing an agent's writes. */
import { hash } from "node:crypto";
import { badParams } from "../../base/errors.ts";
import type { ForgetSelector, Found, UndoPlan, UndoWindow } from "../port/hygiene.ts";
import type { LedgerTx, Traces, WriteCall } from "../port/ledger.ts";
import type { AuditRequest, TextMark } from "../../protocol/hygiene.ts";
import { preview } from "../drawer/logical.ts";
import { redact } from "../text/redact.ts";

/** Minimum number of characters of a text to forget. A shorter text would occur in half of all drawers. */
const MATCH_MIN = 4;
const IDS_MAX = 1000;
const AUDIT_PAGE_MAX = 500;
/** Maximum number of items in a list of an answer (ten times as many for an undo), so that the answer fits into one message. */
const SHOWN_MAX = 500;
const TRACE_LENGTH = 120;
const TRACE_MIN = 12;
const TRACES_MAX = 200;

/** Reads a selector. `journalled` is its form for the journal, which must not contain the text to forget. Errors: PROTOCOL_BAD_PARAMS. */
export function readSelector(params: Record<string, unknown>): {
  journalled: Record<string, unknown>;
  selector: ForgetSelector;
} {
  const given = ["ids", "source", "match"].filter((key) => params[key] !== undefined);
  if (given.length !== 1) throw badParams("give one of ids, source and match");
  const { ids, source, match } = params;
  if (match !== undefined) {
    if (typeof match !== "string") throw badParams("match must be a text");
    if (match.length < MATCH_MIN)
      throw badParams(`match must be a text of at least ${MATCH_MIN} characters; this text has ${match.length}`);
    return { journalled: { by: "match" }, selector: { match: match.toWellFormed() } };
  }
  if (source !== undefined) {
    if (typeof source !== "string" || source === "") throw badParams("source must be a non-empty string");
    return { journalled: { by: "source", source }, selector: { source } };
  }
  const isList = Array.isArray(ids) && ids.length > 0 && ids.length <= IDS_MAX;
  if (!isList || !ids.every((id) => typeof id === "string" && id !== ""))
    throw badParams(`ids must be a list of 1 to ${IDS_MAX} drawer ids`);
  return { journalled: { by: "ids", ids }, selector: { ids: ids as string[] } };
}

/** Shows the drawers, facts and links to be deleted. The answer's `traces` and `marks` are excerpts, to find copies in other files. */
export function previewForget(tx: LedgerTx, selector: ForgetSelector, traces: Traces): Record<string, unknown> {
  const found = tx.forget.find(withDrawers(tx, selector, traces));
  const { drawers, missing, facts, links, carried } = found;
  const marks = marksOf(found, selector);
  return {
    drawers: drawers.slice(0, SHOWN_MAX).map(({ id, wing, room, text, metadata }) => ({
      drawer_id: id,
      wing,
      room,
      source_file: metadata["source_file"] ?? "",
      preview: shown(text, selector.match),
    })),
    total: drawers.length,
    missing,
    facts: facts.length,
    links: links.length,
    carried: carried.length,
    sources: [...new Set(drawers.map(({ metadata }) => String(metadata["source_file"] ?? "")))].filter(Boolean),
    traces: [...new Set(marks.map(({ piece }) => piece))],
    marks,
    ids: found.facts.concat(found.entities.filter(isUnlikeWords)).slice(0, SHOWN_MAX),
  };
}

/** Replaces a selector's old ids by the present ids. Adds the concepts of `match`: stored questions are kept as concepts, not as words. */
function withDrawers(tx: LedgerTx, selector: ForgetSelector, traces: Traces): ForgetSelector {
  const { ids, match } = selector;
  if (match !== undefined) return { match, ...traces.conceptsOf(match) };
  return ids === undefined ? selector : { ids: ids.map((id) => traces.idNow(tx, id) ?? id) };
}

export function forget(tx: LedgerTx, call: WriteCall, traces: Traces): unknown {
  const selector = withDrawers(tx, call.findings as ForgetSelector, traces);
  const found = tx.forget.find(selector);
  const done = tx.forget.forget(found, selector, call.atMs);
  const isClean = (id: string): boolean => selector.match === undefined || !id.includes(selector.match);
  const ids = found.drawers.map(({ id }) => id);
  return { ...done, drawer_ids: ids.filter(isClean).slice(0, SHOWN_MAX), missing: found.missing };
}

function readUndo(params: Record<string, unknown>): UndoWindow {
  const { agent, sinceMs, untilMs, seq = null } = params;
  const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
  if (typeof agent === "string" && agent !== "" && isTime(sinceMs) && isTime(untilMs) && (seq === null || isTime(seq)))
    return { agent, sinceMs, untilMs, seq };
  throw badParams("agent must be a name, sinceMs and untilMs moments in ms, seq a number");
}

/** Reads the arguments of a page of the journal. Errors: PROTOCOL_BAD_PARAMS. */
export function readAudit({ agent, tool, sinceMs, imported, before, limit }: Record<string, unknown>): AuditRequest {
  const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === "string";
  const isNumber = (value: unknown): value is number | undefined => value === undefined || Number.isFinite(value);
  if (!isText(agent) || !isText(tool) || !isNumber(sinceMs) || !isNumber(before) || !Number.isInteger(limit))
    throw badParams("agent and tool must be names, sinceMs, before and limit numbers");
  if (imported !== undefined && typeof imported !== "boolean") throw badParams("imported must be true or false");
  return {
    ...(imported !== undefined && { imported }),
    ...(agent !== undefined && { agent }),
    ...(tool !== undefined && { tool }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(before !== undefined && { before }),
    limit: Math.max(1, Math.min(limit as number, AUDIT_PAGE_MAX)),
  };
}

/** Plans an undo. Errors: PROTOCOL_BAD_PARAMS. */
export function previewUndo(tx: LedgerTx, params: Record<string, unknown>, traces: Traces): Record<string, unknown> {
  const asked = readUndo(params);
  const plan = tx.undo.plan(asked, SHOWN_MAX);
  const items = plan.items.map(({ text, ...item }) =>
    text === undefined ? item : { ...item, preview: shown(text, undefined) },
  );
  return answerOf(asked, { ...plan, items }, traces);
}

export function undo(tx: LedgerTx, call: WriteCall, traces: Traces): unknown {
  const asked = readUndo(call.params);
  return answerOf(asked, tx.undo.undo(asked), traces);
}

/** Reports all entries of a Roampal graph file as one item, because they are many and their names are the user's words. */
function withoutNames(items: UndoPlan["items"], { fileOf }: Traces): UndoPlan["items"] {
  const told = items.map((item) => (item.kind === "carried" ? { ...item, id: fileOf(item.id) } : item));
  return [
    ...new Map(told.map((item, at) => [item.kind === "carried" ? `${item.change} ${item.id}` : at, item])).values(),
  ];
}

function answerOf(
  { seq }: UndoWindow,
  { items, writes, tooOld, dated, earliestMs, latestMs, agents }: UndoPlan,
  traces: Traces,
): Record<string, unknown> {
  const count = (change: string): number => items.filter((item) => item.change === change).length;
  const told = withoutNames(items, traces);
  const refused = told.filter(({ change }) => change === "refused");
  return {
    writes,
    ...(seq !== null && { seq }),
    too_old: tooOld,
    ...(dated > 0 && { dated_by_client: { writes: dated, earliest_ms: earliestMs } }),
    ...(latestMs !== null && { latest_ms: latestMs }),
    agents,
    removed: count("remove"),
    restored: count("restore"),
    reverted: count("revert"),
    refused: count("refused"),
    // Puts the refused items first, because the limit cuts off the end.
    items: [...refused, ...told.filter(({ change }) => change !== "refused")].slice(0, SHOWN_MAX * 10),
  };
}

/** Returns the beginning of a text for an answer, with secrets and the text to forget masked. */
function shown(text: string, match: string | undefined): string {
  const hidden = match === undefined ? text : text.replaceAll(match, "[…]");
  return preview(redact(hidden, "strict").text);
}

/** Returns true if an id has letters and digits, so that files can be searched for it. Common words alone may occur anywhere. */
function isUnlikeWords(id: string): boolean {
  return id.length >= TRACE_MIN && /[a-z]/.test(id) && /[0-9]/.test(id);
}

function marksOf({ drawers }: Found, { match }: ForgetSelector): TextMark[] {
  if (match !== undefined) return [markOf(match, match)];
  return drawers.slice(0, TRACES_MAX).flatMap(({ text }) => {
    // Takes the longest piece on one line without characters that JSON escapes, so that a search of other files finds the piece unchanged.
    const [longest = ""] = text.split(/["\\\p{Cc}]+/u).sort((a, b) => b.length - a.length);
    return longest.length < TRACE_MIN ? [] : [markOf(text, longest.slice(0, TRACE_LENGTH))];
  });
}

function markOf(text: string, piece: string): TextMark {
  return { piece, at: text.indexOf(piece), length: text.length, sha256: hash("sha256", text) };
}
