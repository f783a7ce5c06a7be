/** The knowledge graph: entities, facts, and links (tunnels and hallways). */

/** A fact. `subject` and `object` are ids of entities. `validFrom`: null if unknown; `validTo`: null if the fact has not ended. */
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

/** A fact with the entities' names. A fact about an entity without a row is left out, as in upstream's joins. */
export type NamedFact = Fact & { subjectName: string; objectName: string };

/** Kind of a link: a tunnel links rooms of two wings, a hallway links entities of one wing. */
export type LinkKind = "tunnel" | "hallway";

/** Kind of a row in the graph. A `triple` is a fact. */
export type GraphKind = "entity" | "triple" | LinkKind;

/** A tunnel or hallway as upstream's JSON object. */
export type LinkRecord = Record<string, unknown>;

/** Number of drawers with the same room, wing and hall ("" = no hall). `lastDate`: their latest `date` ("" = no date). */
export type RoomCount = { room: string; wing: string; hall: string; drawers: number; lastDate: string };

/** Number of drawers in a room whose metadata have the same `entities`. */
export type NamedRows = { room: string; entities: string; drawers: number };

/** Entity at an end of a wing's hallways. `drawers`: number of drawers in the entity's strongest hallway, null if unknown. */
export type HallwayEnd = { wing: string; name: string; drawers: number | null };

/** The graph inside a write transaction. Concurrency and errors: as LedgerTx. */
export interface GraphTx {
  /** Adds an entity. An existing entity keeps its first name. */
  putEntity(id: string, name: string, atMs: number): void;
  hasEntity(id: string): boolean;
  openFacts(subject: string, predicate: string, object: string): Fact[];
  hasFact(id: string): boolean;
  insertFact(fact: NewFact): void;
  endFact(id: string, validTo: string): void;
  /** Returns the facts with this subject, predicate and object, open or ended, in the order in which they were written. */
  factsOf(subject: string, predicate: string, object: string): Fact[];
  /** Returns a row in the form of before-images: the columns as a JSON array, or a link's record as JSON. */
  bodyOf(kind: GraphKind, id: string): string | undefined;
  putBody(kind: GraphKind, id: string, body: string): void;
  findLink(kind: LinkKind, id: string): LinkRecord | undefined;
  putLink(kind: LinkKind, id: string, record: LinkRecord): void;
  deleteLink(kind: LinkKind, id: string): boolean;
  /** Returns the entities in the wing's drawers; undefined for a wing without drawers. Reads every drawer of the wing. */
  namedRows(wing: string): NamedRows[] | undefined;
  hallwaysOf(wing: string): LinkRecord[];
  /** Reads every hallway of all wings. */
  hallwayEnds(): HallwayEnd[];
  /** Returns true if the room has drawers. Also true before the first drawer is filed, because the palace's rooms are then unknown. */
  mayHoldRoom(wing: string, room: string): boolean;
}

/** Reads of the graph. Concurrency: as LedgerReader. */
export interface GraphReader {
  hasEntity(id: string): boolean;
  hasFacts(): boolean;
  entitiesAmong(ids: readonly string[]): string[];
  /** Returns ended facts about the subject, the last written first. */
  endedFacts(subject: string, limit: number): NamedFact[];
  /** Returns facts with this subject and predicate, open or ended, the last written first. */
  factsWith(subject: string, predicate: string, limit: number): NamedFact[];
  factsOf(entityId: string, direction: "outgoing" | "incoming"): NamedFact[];
  /** Returns entities whose name or id contains the name as whole words, except the entity `id` itself. */
  similarEntities(name: string, id: string): { id: string; name: string }[];
  /** Returns facts in the order of their start; facts with an unknown start come last. */
  timeline(entityId: string | undefined, limit: number, offset: number): { facts: NamedFact[]; total: number };
  stats(): { entities: number; facts: number; open: number; predicates: string[] };
  links(kind: LinkKind): LinkRecord[];
  /** Returns hallways, the strongest first. A palace may have hundreds of thousands. */
  hallways(wing: string | undefined, limit: number, offset: number): { records: LinkRecord[]; total: number };
}
