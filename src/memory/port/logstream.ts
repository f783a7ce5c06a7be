/** The coordination log: events that agents append for each other, and artifacts that they hand over. */
import type { EventText } from "../../protocol/event.ts";

/** An event to be appended. `atMs`: Unix time, ms. */
export type NewEvent = EventText & { metadata: Record<string, unknown>; artifactIds: readonly string[]; atMs: number };

/** An event as it is stored, with upstream's column names. `created_at`: ISO 8601. */
export type StreamEvent = EventText & {
  id: string;
  /** Position of the event in this file, in order of arrival. */
  seq: number;
  /** Copy of the palace in which the event was first written, and the event's number and hybrid logical clock in that copy. */
  origin_replica: string | null;
  origin_seq: number | null;
  hlc: string | null;
  artifact_ids: string[];
  created_at: string;
  metadata: unknown;
};

/** An artifact to be stored. `atMs`: Unix time, ms. */
export type NewArtifact = {
  kind: string;
  content: string;
  created_by: string;
  metadata: Record<string, unknown>;
  atMs: number;
};

/** A stored artifact without its text. `created_at`: ISO 8601; `sha256`: hex. */
export type Artifact = {
  id: string;
  kind: string;
  sha256: string;
  size_bytes: number;
  created_by: string;
  created_at: string;
  origin_replica: string | null;
};

/** Conditions on an event's columns, one value each. `to_agent` also finds events that are addressed to all (`*`). */
export type EventFilter = Partial<
  Record<
    "stream" | "room" | "topic" | "type" | "to_agent" | "from_agent" | "correlation_id" | "status" | "since",
    string
  >
>;

/** Query for the first `limit` events in the given order. `afterSeq` and `beforeSeq` are exclusive. */
export type EventQuery = {
  filter: EventFilter;
  afterSeq?: number;
  beforeSeq?: number;
  limit: number;
  /** Maximum total size of the events' texts, bytes. The first event is returned whatever its size. */
  sizeMaxBytes: number;
  newestFirst: boolean;
};

/** Page of events. `more`: true if the size limit left out further matching events. */
export type EventPage = { events: StreamEvent[]; more: boolean };

/** Reads of the log. Concurrency: synchronous, on the log's own thread. Errors: STORE_*. */
export interface LogstreamReader {
  event(id: string): StreamEvent | undefined;
  events(query: EventQuery): EventPage;
  /** Returns the `seq` of the newest event; 0 without events. */
  lastSeq(): number;
  artifact(id: string): (Artifact & { content: string; metadata: unknown }) | undefined;
  hasArtifact(id: string): boolean;
  /** Returns the name of this copy of the palace. The first call creates the name. */
  replicaId(): string;
  /** Returns, for each copy of the palace with events in this file, the number of its newest event. */
  versionVector(): Record<string, number>;
}

/** One write. If it throws, the whole write is rolled back. */
export interface LogstreamTx extends LogstreamReader {
  addEvent(event: NewEvent): StreamEvent;
  addArtifact(artifact: NewArtifact): Artifact;
}

/** Another copy of the palace, with which MemPalace on this machine exchanges events. */
export type MeshPeer = { name: string; url: string };

/** State that MemPalace wrote after it last exchanged events. `peers`: by name of the peer. `profiles`: by name of the copy. */
export type PublishedMesh = {
  peers: Record<string, unknown>;
  profiles: Record<string, unknown>;
  writtenAt: string | null;
  isWriterAlive: boolean;
};

/** The copies of the palace that are known here. */
export type ReplicaState = {
  replicaId: string;
  versionVector: Record<string, number>;
  peers: MeshPeer[];
  published: PublishedMesh;
};
