/**
 * Merges the outcomes of drawers. The scores of two memories cannot be added, because the weight of an outcome depends on the score before
 * it. The other memory's state wins only if it used the drawer last, and at least as often.
 */
import { parseJson } from "../../base/parse-json.ts";
import type { ImportItems } from "../../protocol/import.ts";
import type { Merging } from "./merging.ts";

/** Columns that the ledger writes: score, uses, successes, last use, last outcomes, and all outcomes with their sources. */
type Body = [number, number, number, number | null, unknown[], unknown[][]?];

export function mergeStandings(merging: Merging, items: readonly ImportItems["standing"][]): void {
  const { tx, report, isDry } = merging;
  for (const { id, body } of items) {
    const theirs = read(body);
    if (theirs === undefined) {
      merging.refuse(id, "its outcomes belong to another version of palace-devbox");
      continue;
    }
    // Drawers are imported before outcomes. If the rules left a drawer out, its outcomes are left out, too.
    if (!isDry && tx.findDrawer(id) === undefined) continue;
    const known = tx.standings.bodyOf(id);
    const ours = known === undefined ? undefined : read(known);
    if (ours === undefined) merging.add(1, () => tx.standings.putBody(id, body));
    else if (known === body) report.here += 1;
    else if (isLater(theirs, ours)) merging.update(1, () => tx.standings.putBody(id, body));
    else report.kept.push(id);
  }
}

function isLater([, uses, , lastUsedMs]: Body, [, usesHere, , lastUsedHereMs]: Body): boolean {
  return (lastUsedMs ?? 0) > (lastUsedHereMs ?? 0) && uses >= usesHere;
}

function read(json: string): Body | undefined {
  const body = parseJson(json);
  if (!Array.isArray(body)) return undefined;
  const [score, uses, successes, lastUsedMs, past, scored = []] = body as unknown[];
  const isWhole =
    [score, successes].every(Number.isFinite) &&
    Number.isInteger(uses) &&
    (lastUsedMs === null || Number.isFinite(lastUsedMs)) &&
    [past, scored].every(Array.isArray) &&
    (scored as unknown[]).every(isOutcome);
  return isWhole ? (body as Body) : undefined;
}

function isOutcome(one: unknown): boolean {
  if (!Array.isArray(one)) return false;
  const [atMs, outcome, source, weight, conversation, exchange, question = ["", "", []]] = one as unknown[];
  const isName = (value: unknown): boolean => value === null || typeof value === "string";
  if (!Number.isInteger(atMs) || !Number.isFinite(weight) || !Array.isArray(question)) return false;
  const [context, collection, concepts] = question as unknown[];
  return (
    [outcome, source, context, collection].every((value) => typeof value === "string") &&
    [conversation, exchange].every(isName) &&
    Array.isArray(concepts) &&
    concepts.every(Number.isInteger)
  );
}
