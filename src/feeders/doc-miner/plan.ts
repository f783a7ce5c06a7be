/** Plans a run from the folder's present content, the notes of earlier runs and the palace's filing records. Pure. */
import type { FilingRecord } from "../../protocol/filing.ts";
import type { IsMined } from "../mined.ts";
import { isAsNoted, ofName } from "../notes.ts";
import type { Found, Survey } from "./survey.ts";
import { type Entry, identityOf, type Manifest, type Stage, stagedPath } from "./staging-area.ts";

export type PlanInput = {
  survey: Survey;
  manifest: Manifest | undefined;
  records: ReadonlyMap<string, FilingRecord>;
  /** Returns true for a document that MemPalace itself has filed. Its `sourceFile` must be relative to the project. */
  isMined: IsMined;
  rules: string;
  force: boolean;
};

export type Plan = {
  /** Documents to read. Some may turn out to be filed already. */
  read: Found[];
  /** Documents that have not changed since our last run, or since MemPalace filed them. */
  unchanged: Found[];
  /** Paths that were filed from this folder and no longer have a document. */
  gone: string[];
};

export function planFeed({ survey, manifest, records, isMined, rules, force }: PlanInput): Plan {
  const plan: Plan = { read: [], unchanged: [], gone: [] };
  const known = manifest?.files ?? {};
  const isTrusted = !force && manifest?.rules === rules;
  for (const found of survey.documents) {
    const entry = ofName(known, found.path);
    const isAsMined = !force && isMined({ sourceFile: found.path, mtime: found.mtime });
    const isDone = isTrusted && isUnchanged(found, entry ?? undefined, records.get(found.path));
    (isDone || isAsMined ? plan.unchanged : plan.read).push(found);
  }
  const present = new Set(survey.documents.map(({ path }) => path));
  const unknown = new Set([...survey.unreadable, ...survey.undecided]);
  plan.gone = Object.keys(known).filter((path) => !present.has(path) && !isHidden(path, unknown));
  return plan;
}

/** Compares file and palace with our note, without reading the file. */
export function isUnchanged(found: Found, entry: Entry | undefined, record: FilingRecord | undefined): boolean {
  if (entry === undefined || !isAsNoted(found, entry)) return false;
  return entry.refused === undefined ? record?.sha256 === entry.sha256 : record === undefined;
}

/** Returns true if the palace has this content, and our note has this room. Without a note, the room is not compared. */
export function isFiled(
  sha256: string,
  room: string,
  entry: Entry | undefined,
  record: FilingRecord | undefined,
): boolean {
  return record?.sha256 === sha256 && (entry === undefined || entry.room === room);
}

/** Returns this project's filing records by path. They may come from another home directory, for example of a container. */
export function recordsByPath(stage: Stage, records: readonly FilingRecord[]): Map<string, FilingRecord> {
  if (stage.isInPlace) return recordsBelow(`${stage.root}/`, records);
  const base = stage.prefix === "" ? `${stage.wing}/` : `${stage.wing}/${stage.prefix}/`;
  const byPath = new Map<string, FilingRecord>();
  for (const record of records) {
    const identity = identityOf(record.sourceFile, stage.wing);
    if (identity === undefined || !identity.startsWith(base)) continue;
    const path = identity.slice(base.length);
    if (!byPath.has(path) || record.sourceFile === stagedPath(stage, path)) byPath.set(path, record);
  }
  return byPath;
}

function recordsBelow(base: string, records: readonly FilingRecord[]): Map<string, FilingRecord> {
  const below = records.filter(({ sourceFile }) => sourceFile.startsWith(base));
  return new Map(below.map((record) => [record.sourceFile.slice(base.length), record]));
}

/** Returns true for a path at or below a path that was unreadable or had too complex ignore rules: the path may still exist. */
function isHidden(path: string, unknown: ReadonlySet<string>): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1))
    if (unknown.has(path.slice(0, end))) return true;
  return unknown.has("");
}
