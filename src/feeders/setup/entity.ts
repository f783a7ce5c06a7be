/** Person or project that `mempalace init` proposes for a folder. */

export type Entity = {
  name: string;
  kind: "person" | "project" | "uncertain";
  /** Confidence in the kind, 0…1. */
  confidence: number;
  count: number;
  /** Reasons for the kind, shown to the user. */
  signals: string[];
};

export type Entities = { people: Entity[]; projects: Entity[]; uncertain: Entity[] };
