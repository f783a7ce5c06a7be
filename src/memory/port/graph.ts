/** The knowledge graph: entities, facts, and links between rooms. */

/** A statement: subject, predicate and object as ids. Times are upstream's text; null means unknown (start) or open (end). */
export type Fact = {
  id: string;
  subject: string;
  predicate: string;
  object: string;
  validFrom: string | null;
  validTo: string | null;
  confidence: number | null;
  sourceCloset: string | null;
};

/** A fact to be written, with the source that it was read from. `atMs`: Unix time. */
export type NewFact = Fact & { sourceFile: string | null; sourceDrawerId: string | null; atMs: number };

/** A fact with the entities' names. As in upstream's joins, a fact about an entity without a row is left out. */
export type NamedFact = Fact & { subjectName: string; objectName: string };

/** Kinds of links: a tunnel links rooms of two wings, a hallway links entities of one wing. */
export type LinkKind = "tunnel" | "hallway";

/** Kinds of rows of the graph. */
export type GraphKind = "entity" | "triple" | LinkKind;

/** A tunnel or hallway as upstream's JSON object. */
export type LinkRecord = Record<string, unknown>;

/** Drawers with the same room, wing and hall ("" = no hall). `lastDate`: their latest `date` ("" = no date). */
export type RoomCount = { room: string; wing: string; hall: string; drawers: number; lastDate: string };

/** Number of a room's drawers that have the same `entities`. */
export type NamedRows = { room: string; entities: string; drawers: number };

/** Name at one of the ends of a wing's hallways. `drawers`: number of drawers of its strongest hallway, null if unknown. */
export type HallwayEnd = { wing: string; name: string; drawers: number | null };

/** The graph's part of a write transaction. Concurrency and errors: as LedgerTx. */
export interface GraphTx {
  /** Adds an entity. An existing entity keeps its first name. */
  putEntity(id: string, name: string, atMs: number): void;
  hasEntity(id: string): boolean;
  openFacts(subject: string, predicate: string, object: string): Fact[];
  hasFact(id: string): boolean;
  insertFact(fact: NewFact): void;
  endFact(id: string, validTo: string): void;
  /** Returns facts with the given terms, open or ended, in the order in which they were written. */
  factsOf(subject: string, predicate: string, object: string): Fact[];
  /** Returns a row as before-images have it: the columns as a JSON array, or a link's record as JSON. */
  bodyOf(kind: GraphKind, id: string): string | undefined;
  putBody(kind: GraphKind, id: string, body: string): void;
  findLink(kind: LinkKind, id: string): LinkRecord | undefined;
  putLink(kind: LinkKind, id: string, record: LinkRecord): void;
  /** Deletes a link. Returns true if it existed. */
  deleteLink(kind: LinkKind, id: string): boolean;
  /** Returns the names in the wing's drawers; undefined for a wing without drawers. Reads every drawer of the wing. */
  namedRows(wing: string): NamedRows[] | undefined;
  hallwaysOf(wing: string): LinkRecord[];
  /** Returns the ends of all wings' hallways. Reads every hallway. */
  hallwayEnds(): HallwayEnd[];
  /** Returns true if the room exists. Also true before the first drawer is filed, because the palace's rooms are then unknown. */
  mayHoldRoom(wing: string, room: string): boolean;
}

/** Reads of the graph. Concurrency: as LedgerReader. */
export interface GraphReader {
  hasEntity(id: string): boolean;
  hasFacts(): boolean;
  /** Returns those of the `ids` that are ids of entities. */
  entitiesAmong(ids: readonly string[]): string[];
  /** Returns facts about the subject that have an end, the last written fact first. */
  endedFacts(subject: string, limit: number): NamedFact[];
  /** Returns facts of a subject and a predicate, with any object and at any time. */
  factsWith(subject: string, predicate: string, limit: number): NamedFact[];
  factsOf(entityId: string, direction: "outgoing" | "incoming"): NamedFact[];
  /** Returns entities whose name or id contains the name as whole words, except the entity `id` itself. */
  similarEntities(name: string, id: string): { id: string; name: string }[];
  /** Returns facts by their start; facts with an unknown start come last. */
  timeline(entityId: string | undefined, limit: number, offset: number): { facts: NamedFact[]; total: number };
  stats(): { entities: number; facts: number; open: number; predicates: string[] };
  links(kind: LinkKind): LinkRecord[];
  /** Returns hallways, the strongest first. There may be hundreds of thousands. */
  hallways(wing: string | undefined, limit: number, offset: number): { records: LinkRecord[]; total: number };
}
