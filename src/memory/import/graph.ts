/**
 * Merges facts with their entities, and links. A fact's id contains the time at which the fact was made, so two memories have the same fact
 * under two ids. Two facts are the same if their terms and their start are equal. A fact that either memory has ended is ended.
 */
import type { Fact, LinkKind } from "../port/graph.ts";
import type { ImportItems } from "../../protocol/import.ts";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import type { Merging } from "./merging.ts";

/** Number of columns of a fact. `ENTITY_COLUMNS`: number of columns of an entity. */
const FACT_COLUMNS = 11;
const ENTITY_COLUMNS = 4;
const OTHER_VERSION = "its columns belong to another version of palace-devbox";

export function mergeEntities(merging: Merging, items: readonly ImportItems["entity"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const columns = columnsIn(body, ENTITY_COLUMNS);
    if (tx.graph.bodyOf("entity", id) !== undefined) report.here += 1;
    else if (typeof columns?.[0] !== "string") merging.refuse(id, OTHER_VERSION);
    else merging.add(1, () => tx.graph.putBody("entity", id, body));
  }
}

export function mergeFacts(merging: Merging, items: readonly ImportItems["triple"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const columns = columnsIn(body, FACT_COLUMNS);
    const [subject, predicate, object, from, to] = columns ?? [];
    if (typeof subject !== "string" || typeof predicate !== "string" || typeof object !== "string") {
      merging.refuse(id, OTHER_VERSION);
      continue;
    }
    const ours = sameFact(tx.graph.factsOf(subject, predicate, object), { id, from, to });
    if (ours === undefined) merging.add(1, () => tx.graph.putBody("triple", id, body));
    else if (ours.validTo === null && typeof to === "string") merging.update(1, () => tx.graph.endFact(ours.id, to));
    else if (ours.validFrom === from) report.here += 1;
    else report.kept.push(id);
  }
}

function sameFact(
  ours: readonly Fact[],
  { id, from, to }: { id: string; from: unknown; to: unknown },
): Fact | undefined {
  return (
    ours.find((fact) => fact.id === id) ??
    ours.find((fact) => fact.validFrom === from && fact.validTo === to) ??
    // Two facts with the same known start are one fact, even if one memory does not know its end.
    ours.find((fact) => from !== null && fact.validFrom === from && (fact.validTo === null || to === null)) ??
    // There is at most one open fact with the same terms.
    (to === null ? ours.find((fact) => fact.validTo === null) : undefined)
  );
}

export function mergeLinks(merging: Merging, kind: LinkKind, items: readonly ImportItems["tunnel"][]): void {
  const { tx, report } = merging;
  for (const { id, body } of items) {
    const ours = tx.graph.bodyOf(kind, id);
    if (ours === body) report.here += 1;
    else if (ours !== undefined) report.kept.push(id);
    else if (!isRecord(parseJson(body))) merging.refuse(id, OTHER_VERSION);
    else merging.add(1, () => tx.graph.putBody(kind, id, body));
  }
}

function columnsIn(body: string, count: number): unknown[] | undefined {
  const columns = parseJson(body);
  const isCell = (value: unknown): boolean => value === null || ["string", "number"].includes(typeof value);
  return Array.isArray(columns) && columns.length === count && columns.every(isCell) ? columns : undefined;
}
