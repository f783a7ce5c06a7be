/** Converts between Roampal's memories and our drawers. A memory without changes here is exported as it was imported. */
import type { Drawer, Metadata, MetadataValue, NewDrawer } from "../../memory/port/drawer.ts";
import type { PastOutcome, Standing } from "../../memory/port/outcome.ts";
import { isRecord, parseAs } from "../../base/parse-json.ts";
import type { CarriedMemory } from "../../protocol/outcome.ts";
import { sha256Hex } from "../../memory/text/text.ts";
import { asText } from "../../memory/text/validate.ts";
import { sourceOfBook } from "../memory/books.ts";
import { timeOf } from "../memory/described.ts";
import { type Collection, plainId, idIn, isCollection, isOutcome, newStanding, USUAL_SCORE } from "../memory/memory.ts";
import { ARCHIVE_ROOM, CAME, isFiledAsMemory, isoTime, MEMORY_WING, records } from "../memory/as-drawer.ts";

/** Fields that become the standing, because outcomes change them. */
const SCORED = ["score", "uses", "success_count", "outcome_history", "last_used", "last_outcome"];
/** Fields that may repeat the text. */
const TEXTS = ["text", "content"];
/** Fields that our drawers use for their own data. An import stores the memory's values in `Came.aside`; an export restores them. */
const FILED = ["wing", "room", "source_file", "added_by", "parent_drawer_id", "parent_entry_id", CAME];
const PAST_KEPT = 10;
const USES_MAX = 1e9;

/** Import data for the export. `as`: the memory's digest. `texts`: fields with its text. `id`: its id, if the drawer has another id. */
type Came = { as: string; texts: string[]; scored: Metadata; aside: Metadata; id?: string };

type Fields = CarriedMemory["metadata"];

export function fromCarried(memory: CarriedMemory, agent: string): { drawer: NewDrawer; standing: Standing } {
  const { id, collection, text, metadata } = memory;
  const isBook = collection === "books";
  const isArchived = collection === "memory_bank" && metadata["status"] === "archived";
  const [texts, withoutTexts] = parted(metadata, (key, value) => TEXTS.includes(key) && value === text);
  const [scored, withoutScores] = parted(withoutTexts, (key) => SCORED.includes(key));
  const [aside, kept] = parted(withoutScores, (key) => FILED.includes(key) || key === "chunk_index");
  const at = aside["chunk_index"];
  const title = asText(metadata["title"] ?? "").trim();
  const filed = plainId(id);
  const ownId = filed === id ? {} : { id };
  const came: Came = { as: digestOf(memory), texts: Object.keys(texts), scored, aside, ...ownId };
  return {
    drawer: {
      id: filed,
      text,
      metadata: {
        ...kept,
        ...{ wing: MEMORY_WING, room: isArchived ? ARCHIVE_ROOM : collection, added_by: agent },
        source_file: isBook ? sourceOfBook(title === "" ? "Untitled" : title) : "",
        chunk_index: isBook && typeof at === "number" ? at : 0,
        [CAME]: JSON.stringify(came),
      },
    },
    standing: standingOf(scored, isCollection(collection) ? collection : "working"),
  };
}

export function toCarried(drawer: Drawer, known: Standing | undefined): CarriedMemory | undefined {
  const { id, wing, room, text, metadata } = drawer;
  const collection = room === ARCHIVE_ROOM ? "memory_bank" : room;
  if (wing !== MEMORY_WING || !isCollection(collection) || !isFiledAsMemory(drawer)) return undefined;
  const came = cameOf(metadata);
  const standing = known ?? newStanding(USUAL_SCORE[collection]);
  const [filed, own] = parted(metadata, (key) => FILED.includes(key) || key === "chunk_index");
  const isUnscored = came !== undefined && isSame(standingOf(came.scored, collection), standing);
  const texts = came?.texts ?? TEXTS;
  return {
    id: came?.id ?? idIn(collection, id),
    collection,
    text,
    metadata: {
      ...(came === undefined ? outward(own) : own),
      ...(came === undefined && collection === "books" ? { chunk_index: filed["chunk_index"] ?? 0 } : came?.aside),
      ...(isUnscored ? came.scored : fieldsOf(standing)),
      ...Object.fromEntries(texts.map((key) => [key, text])),
    },
  };
}

export function cameAs(metadata: Metadata): string | undefined {
  return cameOf(metadata)?.as;
}

/** Returns a digest of the memory. It does not depend on the id, which a move changes, nor on the order of the fields. */
export function digestOf({ collection, text, metadata }: CarriedMemory): string {
  const fields = Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sha256Hex(JSON.stringify([collection, text, fields]));
}

/** Reads a standing from a memory's fields. A value that is not a number or out of bounds counts as missing. */
function standingOf(fields: Fields, collection: Collection): Standing {
  const past = pastOf(fields["outcome_history"]);
  const uses = Math.floor(within(fields["uses"], 0, USES_MAX) ?? past.length);
  const counted = past.reduce((sum, { outcome }) => sum + { worked: 1, partial: 0.5, failed: 0 }[outcome], 0);
  const lastUsedMs = timeOf(fields["last_used"]);
  return {
    score: within(fields["score"], 0, 1) ?? USUAL_SCORE[collection],
    uses,
    successes: Math.min(within(fields["success_count"], 0, Number.MAX_VALUE) ?? counted, uses),
    lastUsedMs: Number.isNaN(lastUsedMs) ? null : lastUsedMs,
    past,
  };
}

/** Reads the outcome history without `unknown`, which is not an outcome in this palace. An unreadable time becomes 0 ms. */
function pastOf(json: unknown): PastOutcome[] {
  const past = records(json).flatMap((one): PastOutcome[] => {
    if (!isRecord(one) || !isOutcome(one["outcome"]) || one["outcome"] === "unknown") return [];
    const { outcome, timestamp, reason } = one;
    const atMs = timeOf(timestamp);
    return [{ outcome, atMs: Number.isNaN(atMs) ? 0 : atMs, reason: typeof reason === "string" ? reason : null }];
  });
  return past.slice(-PAST_KEPT);
}

function fieldsOf({ score, uses, successes, lastUsedMs, past }: Standing): Metadata {
  const history = past.map(({ outcome, atMs, reason }) => ({ outcome, timestamp: plainTime(atMs), reason }));
  const last = past.at(-1);
  return {
    ...{ score, uses, success_count: successes, outcome_history: JSON.stringify(history) },
    ...(lastUsedMs !== null && { last_used: plainTime(lastUsedMs) }),
    ...(last !== undefined && { last_outcome: last.outcome }),
  };
}

/** Formats a time without a time zone, as Roampal does: its subtraction of two times fails if only one of them has a zone. */
function plainTime(atMs: number): string {
  return isoTime(atMs).slice(0, -1);
}

/** Returns a memory's fields with times as in Roampal, that is, without a time zone. */
function outward(fields: Metadata): Metadata {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key,
      typeof value === "string" && /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value) ? value.slice(0, -1) : value,
    ]),
  );
}

function cameOf(metadata: Metadata): Came | undefined {
  const json = metadata[CAME];
  return typeof json === "string" ? parseAs(json, isCame) : undefined;
}

function isCame(came: unknown): came is Came {
  if (!isRecord(came) || !["string", "undefined"].includes(typeof came["id"])) return false;
  return Array.isArray(came["texts"]) && isRecord(came["scored"]) && isRecord(came["aside"]);
}

function parted(
  fields: Fields,
  isMeant: (key: string, value: unknown) => boolean,
): [meant: Metadata, others: Metadata] {
  const entries = Object.entries(fields) as [string, MetadataValue][];
  return [
    Object.fromEntries(entries.filter(([key, value]) => isMeant(key, value))),
    Object.fromEntries(entries.filter(([key, value]) => !isMeant(key, value))),
  ];
}

function within(value: unknown, least: number, most: number): number | undefined {
  return typeof value === "number" && value >= least && value <= most ? value : undefined;
}

function isSame(a: Standing, b: Standing): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
