/** Plans what an install or uninstall of one agent writes, file by file. It finds every fault before any file is written. */
import { existsSync } from "node:fs";
import type { Row } from "./agent-files.ts";
import { targetOf } from "../../base/atomic-file.ts";
import { PalaceError } from "../../base/errors.ts";
import { Draft } from "./draft.ts";
import { assertWritable, contentOf, missingFolders, textOf } from "./files.ts";
import { type AgentRecord, type FileRecord, hashOf, type InstallState } from "./record.ts";
import { type Before, holds, lookBefore, movedFrom, unwire, type Want, wire } from "./wire-entries.ts";

type MergeRow = Extract<Row, { kind: "merge" }>;
type CopyRow = Extract<Row, { kind: "own" | "seed" }>;

export type Change = {
  path: string;
  /** `path` with symbolic links resolved. */
  target: string;
  kind: Row["kind"];
  action: "already" | "write" | "remove" | "skip";
  note: string | undefined;
  /** Content before and after the change; undefined means no file. */
  current: Buffer | undefined;
  next: Buffer | undefined;
  /** True if the file has content that is not ours and exists nowhere else. */
  needsBackup: boolean;
  /** True if the current content has any of our entries. */
  isOurs: boolean;
};

/** `record`: undefined if nothing of ours remains. `originals`: contents to save before any write. `leaves`: true for an uninstall. */
export type Plan = {
  changes: Change[];
  record: AgentRecord | undefined;
  originals: Buffer[];
  folders: string[];
  leaves: boolean;
  /** Error about a read-only file, because of which no file of the plan can be written. */
  blocked: PalaceError | undefined;
};

/** `lines`: the command that prints the lines to write by hand. */
type Known = { state: InstallState; record: AgentRecord | undefined; lines: string };
type Step = { change: Change; file?: FileRecord | undefined; original?: Buffer | undefined };

function blockOf(writes: readonly Change[], lines: string): PalaceError | undefined {
  try {
    for (const { path, target } of writes) assertWritable(path, target, lines);
  } catch (error) {
    if (error instanceof PalaceError) return error;
    throw error;
  }
  return undefined;
}

/** Errors: CONFIG_BAD_VALUE with file, line and column. */
export function planInstall(rows: readonly Row[], known: Known): Plan {
  const steps = rows.map((row) => installStep(row, known));
  const changes = steps.map(({ change }) => change);
  const before = known.record?.files ?? [];
  const files = new Map(before.map((file) => [file.path, file]));
  for (const { file } of steps) if (file !== undefined) files.set(file.path, file);
  const writes = changes.filter(({ action }) => action === "write");
  const made = writes.flatMap(({ kind, target }) => missingFolders(kind === "folder" ? `${target}/.` : target));
  const folders = [...new Set([...(known.record?.folders ?? []), ...made])];
  const originals = steps.flatMap(({ original }) => original ?? []);
  const record: AgentRecord = { version: 1, pid: process.pid, files: [...files.values()], folders };
  return { changes, record, originals, folders, leaves: false, blocked: blockOf(writes, known.lines) };
}

function installStep(row: Row, known: Known): Step {
  const target = targetOf(row.path);
  const note = row.kind === "merge" ? row.note : undefined;
  const nothing = { path: row.path, target, kind: row.kind, note, needsBackup: false, isOurs: false };
  if (row.kind === "skip")
    return { change: { ...nothing, action: "skip", note: row.note, current: undefined, next: undefined } };
  if (row.kind === "folder") {
    const action = existsSync(target) ? "already" : "write";
    return { change: { ...nothing, action, current: undefined, next: undefined } };
  }
  const current = contentOf(target);
  const recorded = known.record?.files.find(({ path }) => path === row.path);
  const step = row.kind === "merge" ? mergeStep(row, current, recorded, known) : copyStep(row, current, recorded);
  const isSame = current?.equals(step.next) === true;
  const change: Change = {
    ...nothing,
    ...{ action: isSame ? "already" : "write", current, next: step.next, isOurs: step.isOurs },
    needsBackup: !isSame && current !== undefined && recorded?.after.includes(hashOf(current)) !== true,
  };
  if (isSame) return { change };
  const { base, isKnown } = step;
  const file: FileRecord = {
    ...{ path: row.path, kind: row.kind, want: row.kind === "merge" ? row.want : null },
    ...{ kept: step.before.kept, was: step.before.was },
    before: isKnown && recorded !== undefined ? recorded.before : base === undefined ? null : hashOf(base),
    after: [...new Set([...(isKnown ? (recorded?.after ?? []) : []), hashOf(step.next)])],
  };
  return { change, file, original: isKnown ? undefined : base };
}

/** `base`: the file without our entries. `isKnown`: the record has this content's hash, and we still have its original. */
type Merged = { next: Buffer; base: Buffer | undefined; isKnown: boolean; before: Before; isOurs: boolean };

function mergeStep(
  { path, want, fresh }: MergeRow,
  current: Buffer | undefined,
  recorded: FileRecord | undefined,
  { state }: Known,
): Merged {
  const draft = new Draft(path, current === undefined ? fresh : textOf(path, current));
  const moved = movedFrom(want, recorded?.want);
  const own = moved === undefined ? recorded : undefined;
  const hasMoved = moved !== undefined && holds(draft, moved, true);
  if (moved !== undefined) unwire(draft, moved, recorded);
  const isThere = holds(draft, want, own !== undefined);
  const isOurs = isThere || hasMoved;
  const without = new Draft(path, draft.content);
  if (isThere) unwire(without, asRecorded(want, own), own);
  // A file that we created and that has only our content counts as no file.
  const isNone = current === undefined || (recorded?.before === null && isBare(without));
  const isKnown =
    current !== undefined &&
    recorded?.after.includes(hashOf(current)) === true &&
    (recorded.before === null || state.original(recorded.before) !== undefined);
  const base = isNone ? undefined : isKnown ? originalOf(recorded, state) : Buffer.from(without.content);
  const before = base === undefined ? { kept: [], was: null } : lookBefore(new Draft(path, textOf(path, base)), want);
  wire(draft, want);
  return { next: Buffer.from(draft.content), base, isKnown, before, isOurs };
}

function originalOf(recorded: FileRecord | undefined, state: InstallState): Buffer | undefined {
  return typeof recorded?.before === "string" ? state.original(recorded.before) : undefined;
}

/** Drops the permission rules from our entry if an older install had none: existing rules are then the user's. */
function asRecorded(want: Want, recorded: FileRecord | undefined): Want {
  const was = recorded?.want;
  return want.kind === "hooks" && was?.kind === "hooks" ? { ...want, allow: was.allow ?? [] } : want;
}

/** Plans the copy of one of our files. The record keeps the target's content from before our first copy, even if somebody changed the file later. */
function copyStep({ kind, content }: CopyRow, current: Buffer | undefined, recorded: FileRecord | undefined): Merged {
  const isOurs = kind === "own" && current !== undefined && (recorded !== undefined || current.equals(content));
  const before = { kept: [], was: null };
  return { next: content, base: current, isKnown: recorded !== undefined, before, isOurs };
}

/** `rows`: every file that may contain our entries. `isHere`: true for this profile's files; other profiles remain wired. */
export function planUninstall(rows: readonly Row[], known: Known, isHere: (path: string) => boolean): Plan {
  const paths = new Set(rows.map(({ path }) => path));
  const all = known.record?.files ?? [];
  const recorded = all.filter(({ path }) => !paths.has(path) && isHere(path));
  const elsewhere = all.filter(({ path }) => !paths.has(path) && !isHere(path));
  const folders = (known.record?.folders ?? []).filter((path) => elsewhere.length === 0 || isHere(path));
  const changes = [
    ...rows.flatMap((row) => uninstallRow(row, known) ?? []),
    ...recorded.map((file) => takeBack(file.path, undefined, file, known)),
  ];
  const writes = changes.filter(({ action }) => action === "write" || action === "remove");
  const others = (known.record?.folders ?? []).filter((path) => !folders.includes(path));
  const record: AgentRecord = { version: 1, pid: process.pid, files: elsewhere, folders: others };
  const left = elsewhere.length === 0 ? undefined : record;
  return { changes, record: left, originals: [], folders, leaves: true, blocked: blockOf(writes, known.lines) };
}

function uninstallRow(row: Row, known: Known): Change | undefined {
  const recorded = known.record?.files.find(({ path }) => path === row.path);
  if (row.kind === "skip" || row.kind === "folder" || (row.kind === "seed" && recorded === undefined)) return undefined;
  return takeBack(row.path, row, recorded, known);
}

function takeBack(
  path: string,
  row: MergeRow | CopyRow | undefined,
  recorded: FileRecord | undefined,
  { state }: Known,
): Change {
  const target = targetOf(path);
  const current = contentOf(target);
  const kind = row?.kind ?? recorded?.kind ?? "own";
  const want = row?.kind === "merge" ? row.want : recorded?.want;
  const change: Change = {
    ...{ path, target, kind, action: "already", note: undefined },
    ...{ current, next: current, needsBackup: false, isOurs: false },
  };
  if (current === undefined) return change;
  const hash = hashOf(current);
  if (hash === recorded?.before) return change;
  const original = recorded?.before === null ? null : state.original(recorded?.before ?? "");
  const ours = { ...change, isOurs: true };
  if (recorded?.after.includes(hash) === true && original !== undefined) return becomes(ours, original ?? undefined);
  if (want !== undefined && want !== null) {
    const left = withoutUs(path, want, current, recorded);
    if (left?.equals(current) === true) return change;
    return { ...becomes(ours, left), needsBackup: true };
  }
  // A changed seed file stays, because the agent has installed packages in the file's folder.
  if (kind === "seed") return { ...change, action: "skip", note: "it was changed since, so it stays" };
  if (recorded !== undefined) return { ...becomes(ours, original ?? undefined), needsBackup: true };
  if (row?.kind === "own" && current.equals(row.content)) return becomes(ours, undefined);
  return { ...change, action: "skip", note: "it may not be ours, so it stays" };
}

function becomes(change: Change, next: Buffer | undefined): Change {
  return { ...change, action: next === undefined ? "remove" : "write", next };
}

function withoutUs(path: string, want: Want, current: Buffer, recorded: FileRecord | undefined): Buffer | undefined {
  const draft = new Draft(path, textOf(path, current));
  const moved = movedFrom(want, recorded?.want);
  if (moved !== undefined) unwire(draft, moved, recorded);
  const own = moved === undefined ? recorded : undefined;
  unwire(draft, asRecorded(want, own), own);
  return recorded?.before === null && isBare(draft) ? undefined : Buffer.from(draft.content);
}

/** Returns true if the file has at most `$schema`, so that deleting it loses nothing of the user's. */
function isBare(draft: Draft): boolean {
  const members = draft.root()?.children ?? [];
  const isComment = draft.root() === undefined && draft.content.trim() !== "";
  return !isComment && members.every((member) => member.children?.[0]?.value === "$schema");
}
