/** A person or project that a folder is about, as `mempalace init` shows it. */

export type Entity = {
  name: string;
  kind: "person" | "project" | "uncertain";
  /** How certain the kind is, 0…1. */
  confidence: number;
  count: number;
  /** Reasons for the kind, in words. */
  signals: string[];
};

export type Entities = { people: Entity[]; projects: Entity[]; uncertain: Entity[] };
