/** A person or project that a folder is about, as `mempalace init` shows it. */

export type Entity = {
  name: string;
  kind: "person" | "project" | "uncertain";
  /** 0…1. */
  confidence: number;
  count: number;
  /** The reasons, in words. */
  signals: string[];
};

export type Entities = { people: Entity[]; projects: Entity[]; uncertain: Entity[] };
