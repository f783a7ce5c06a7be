/** Adds, ends and queries facts: subject → predicate → object, with their time (palace.md 7, upstream-latest.md 2.1). */
import type { GraphReader, GraphTx, NamedFact, NewFact } from "../port/graph.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { lengthJoined } from "../drawer/drawer-id.ts";
import { codePointLength, entityId, localDate, localTimestamp, pythonRepr, sha256Hex } from "../text/text.ts";
import { checked, clampLimit, InvalidValue, validGraphValue, validName, WrongType } from "../text/validate.ts";
import { asMoment, endsBy, holdsAt, isInverted, startsAfter, validTemporal } from "./temporal.ts";

type Entities = Pick<GraphReader, "hasEntity">;
type Arguments = Record<string, unknown>;
/** The subject, predicate and object of a fact, either as the caller wrote them or as ids. */
type Ends = { subject: string; predicate: string; object: string };

/** Minimum number of characters of a name that is searched for as a part of other names (source: MemPalace 3.11). */
const SIMILAR_MIN = 3;
const TIMELINE_LIMIT = 100;

function idsOf(graph: Entities, { subject, predicate, object }: Ends): Ends {
  return {
    subject: knownId(graph, subject),
    predicate: predicate.toLowerCase().replaceAll(" ", "_"),
    object: knownId(graph, object),
  };
}

/** Returns the id of the known entity with this name in NFC or NFD, else a new id. File names from macOS may be in NFD. */
function knownId(graph: Entities, name: string): string {
  const id = entityId(name);
  const others = [id.normalize("NFC"), id.normalize("NFD")].filter((other) => other !== id);
  return [id, ...others].find((one) => others.length > 0 && graph.hasEntity(one)) ?? id;
}

/** Adds a fact. Throws InvalidValue if its end is before its start, as upstream does. */
export function addFact({ graph }: LedgerTx, { params, atMs }: WriteCall): unknown {
  const read = checked(() => ({
    ends: endsOf(params, "object"),
    validFrom: validTemporal(params["valid_from"], "valid_from"),
    validTo: validTemporal(params["valid_to"], "valid_to"),
  }));
  if ("error" in read) return read;
  const { ends, validFrom, validTo } = read;
  assertInOrder(validFrom, validTo, "valid_to");
  const sources = {
    sourceCloset: loose(params["source_closet"], "source_closet"),
    sourceFile: loose(params["source_file"], "source_file"),
    sourceDrawerId: loose(params["source_drawer_id"], "source_drawer_id"),
  };
  const id = openFact(graph, ends, { validFrom, validTo, atMs, ...sources });
  return { success: true, triple_id: id, fact: arrowed(ends) };
}

export function invalidateFact({ graph }: LedgerTx, { params, atMs }: WriteCall): unknown {
  const read = checked(() => ({
    ends: endsOf(params, "object"),
    ended: validTemporal(params["ended"], "ended") ?? localDate(atMs * 1000),
  }));
  if ("error" in read) return read;
  const { ends, ended } = read;
  endFacts(graph, idsOf(graph, ends), ended, "valid_to");
  return { success: true, fact: arrowed(ends), ended };
}

/** Ends a fact and opens its successor at the same moment. At that moment only the new fact is valid. */
export function supersedeFact({ graph }: LedgerTx, { params, atMs }: WriteCall): unknown {
  const read = checked(() => {
    const old = endsOf(params, "old_object");
    const object = validGraphValue(params["new_object"], "new_object");
    return { old, fresh: { ...old, object }, at: validTemporal(params["at"], "at") };
  });
  if ("error" in read) return read;
  const { old, fresh } = read;
  const boundary = asMoment(read.at ?? `${new Date(atMs).toISOString().slice(0, 19)}Z`);
  endFacts(graph, idsOf(graph, old), boundary, "at");
  const sources = { sourceCloset: null, sourceFile: null, sourceDrawerId: null };
  const id = openFact(graph, fresh, { validFrom: boundary, validTo: null, atMs, ...sources });
  return { success: true, triple_id: id, fact: arrowed(fresh), superseded: old.object };
}

/** Returns the id of the open fact with the given terms, or of a new fact. */
function openFact(graph: GraphTx, ends: Ends, opening: Omit<NewFact, keyof Ends | "id" | "confidence">): string {
  const ids = idsOf(graph, ends);
  const [open] = graph.openFacts(ids.subject, ids.predicate, ids.object);
  if (open !== undefined) return open.id;
  graph.putEntity(ids.subject, ends.subject, opening.atMs);
  graph.putEntity(ids.object, ends.object, opening.atMs);
  const start = opening.validFrom ?? "None";
  let atMicros = opening.atMs * 1000;
  const factId = (): string => {
    const hash = sha256Hex(lengthJoined(start, localTimestamp(atMicros))).slice(0, 12);
    return `t_${ids.subject}_${ids.predicate}_${ids.object}_${hash}`;
  };
  // The clock has milliseconds. Facts that are opened and ended within one millisecond get different microseconds.
  while (graph.hasFact(factId())) atMicros += 1;
  const id = factId();
  graph.insertFact({ id, ...ids, ...opening, confidence: 1 });
  return id;
}

/** Ends every open fact with the given terms. Succeeds even if no such fact exists. */
function endFacts(graph: GraphTx, ids: Ends, ended: string, field: string): void {
  const open = graph.openFacts(ids.subject, ids.predicate, ids.object);
  for (const { validFrom } of open) assertInOrder(validFrom, ended, field);
  for (const { id } of open) graph.endFact(id, ended);
}

function assertInOrder(validFrom: string | null, validTo: string | null, field: string): void {
  if (!isInverted(validFrom, validTo)) return;
  throw new InvalidValue(
    `${field}=${pythonRepr(validTo ?? "")} is before valid_from=${pythonRepr(validFrom ?? "")}; ` +
      "an inverted interval would be invisible to every KG query",
  );
}

function endsOf(params: Arguments, objectKey: string): Ends {
  return {
    subject: validGraphValue(params["subject"], "subject"),
    predicate: validName(params["predicate"], "predicate"),
    object: validGraphValue(params[objectKey], objectKey),
  };
}

/** Reads a value that upstream stores without a check. Refuses lists and objects, which SQLite does not accept. */
function loose(value: unknown, field: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number" || typeof value === "boolean") return String(Number(value));
  throw new WrongType(`${field} must be a string`);
}

function arrowed({ subject, predicate, object }: Ends): string {
  return `${subject} → ${predicate} → ${object}`;
}

type Direction = "outgoing" | "incoming";
type Found = { fact: NamedFact; shown: object };

/** Returns an entity's facts at the moment `as_of`. By default, returns all facts, sorted into active, historical and future facts. */
export function queryFacts(graph: GraphReader, values: Arguments, nowMs: number): unknown {
  const entity = validGraphValue(values["entity"], "entity");
  const asOf = validTemporal(values["as_of"], "as_of");
  const direction = values["direction"] === undefined ? "both" : values["direction"];
  if (direction !== "outgoing" && direction !== "incoming" && direction !== "both")
    throw new InvalidValue("direction must be 'outgoing', 'incoming', or 'both'");
  const ways: Direction[] = direction === "both" ? ["outgoing", "incoming"] : [direction];

  const id = knownId(graph, entity);
  let name = entity;
  let found = factsOf(graph, id, name, ways, asOf);
  const candidates = found.length > 0 || codePointLength(entity) < SIMILAR_MIN ? [] : graph.similarEntities(entity, id);
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1 && !graph.hasEntity(id)) {
    const meant = factsOf(graph, only.id, only.name, ways, asOf);
    if (meant.length > 0) [name, found] = [only.name, meant];
  }
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const periodOf = ({ fact }: Found): "active" | "past" | "future" => {
    if (asOf !== null) return "active";
    return startsAfter(fact, now) ? "future" : endsBy(fact, now) ? "past" : "active";
  };
  const shown = (some: readonly Found[]): object[] => some.map((one) => one.shown);
  return {
    entity: name,
    as_of: values["as_of"] === "" ? "" : asOf,
    active_facts: shown(found.filter((one) => periodOf(one) === "active")),
    historical_facts: shown(found.filter((one) => periodOf(one) === "past")),
    future_facts: shown(found.filter((one) => periodOf(one) === "future")),
    facts: shown(found),
    count: found.length,
    ...(name !== entity && { resolved_from: entity }),
    ...(found.length === 0 && candidates.length > 0 && { candidates }),
  };
}

/** Returns an entity's facts. The answer shows the entity by the given name, and the other term by its stored name. */
function factsOf(
  graph: GraphReader,
  id: string,
  name: string,
  ways: readonly Direction[],
  asOf: string | null,
): Found[] {
  return ways.flatMap((way) =>
    graph
      .factsOf(id, way)
      .filter((fact) => asOf === null || holdsAt(fact, asOf))
      .map((fact) => ({
        fact,
        shown: {
          direction: way,
          subject: way === "outgoing" ? name : fact.subjectName,
          predicate: fact.predicate,
          object: way === "outgoing" ? fact.objectName : name,
          valid_from: fact.validFrom,
          valid_to: fact.validTo,
          confidence: fact.confidence,
          source_closet: fact.sourceCloset,
          current: fact.validTo === null,
        },
      })),
  );
}

export function factTimeline(graph: GraphReader, values: Arguments): unknown {
  const given = values["entity"];
  const entity = given === undefined || given === null ? undefined : validGraphValue(given, "entity");
  const limit = clampLimit(values["limit"], TIMELINE_LIMIT);
  const offset = Math.min(Math.max(0, Number(values["offset"] ?? 0)), Number.MAX_SAFE_INTEGER);
  const { facts, total } = graph.timeline(entity === undefined ? undefined : knownId(graph, entity), limit, offset);
  const timeline = facts.map((fact) => ({
    subject: fact.subjectName,
    predicate: fact.predicate,
    object: fact.objectName,
    valid_from: fact.validFrom,
    valid_to: fact.validTo,
    current: fact.validTo === null,
  }));
  return { entity: entity ?? "all", timeline, count: timeline.length, total, offset, limit };
}

export function factStats(graph: GraphReader): unknown {
  const { entities, facts, open, predicates } = graph.stats();
  return {
    entities,
    triples: facts,
    current_facts: open,
    expired_facts: facts - open,
    relationship_types: predicates,
  };
}
