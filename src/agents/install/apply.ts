/** Carries out a plan. If a write fails, restores all files. After a kill, the next run restores or finishes. */
import { mkdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { faultPoint } from "../../base/fault-point.ts";
import { namesIn } from "../../base/read-folder.ts";
import { backUp, backupsWith, contentOf, putFile } from "./files.ts";
import type { Change, Plan } from "./plan.ts";
import type { AgentRecord, InstallState } from "./record.ts";

/** Thrown if another process wrote the file after it was read; the caller then plans again. */
export class ChangedMeanwhile extends Error {}

export type Applied = { backups: Map<string, string> };

/** Writes the plan's files; after an error restores all of them. Errors: ChangedMeanwhile; STORE_DISK_FULL, STORE_READ_ONLY. */
export function apply(agent: string, plan: Plan, state: InstallState, nowMs: number): Applied {
  const former = state.read(agent);
  const backups = new Map<string, string>();
  const changes = plan.changes.filter(({ action }) => action === "write" || action === "remove");
  removeTemporary(plan, former);
  if (changes.length > 0) prepare(agent, plan, state, former);
  const done: Change[] = [];
  try {
    for (const change of changes) {
      faultPoint("install.step");
      const copy = write(change, nowMs);
      if (copy !== undefined) backups.set(change.path, copy);
      done.push(change);
    }
  } catch (error) {
    for (const change of done.reverse()) putBack(change);
    if (former !== undefined) state.write(agent, former);
    else if (!plan.leaves) removeFolders(plan.folders);
    if (former === undefined) state.forget(agent);
    throw error;
  }
  if (plan.leaves) {
    if (former !== undefined) for (const change of plan.changes) removeBackups(change);
    removeFolders(plan.folders);
    faultPoint("install.step");
    if (plan.record === undefined) state.forget(agent);
    else {
      state.write(agent, plan.record);
      state.removeUnnamed();
    }
  }
  return { backups };
}

/** Stores the original contents and the record of the plan. After a kill, the next run restores or finishes from them. */
function prepare(agent: string, plan: Plan, state: InstallState, former: AgentRecord | undefined): void {
  for (const original of plan.originals) {
    faultPoint("install.step");
    state.keep(original);
  }
  faultPoint("install.step");
  const record = plan.leaves ? former && { ...former, pid: process.pid } : plan.record;
  if (record !== undefined) state.write(agent, record);
}

function write(change: Change, nowMs: number): string | undefined {
  const { target, kind, current, next } = change;
  if (kind === "folder") {
    mkdirSync(target, { recursive: true });
    return undefined;
  }
  const assertSame = (): void => {
    if (!isContent(target, current)) throw new ChangedMeanwhile(target);
  };
  assertSame();
  const copy = change.needsBackup && current !== undefined ? backUp(target, current, nowMs) : undefined;
  faultPoint("install.step");
  if (next === undefined) rmSync(target, { force: true });
  else putFile(target, next, assertSame);
  return copy;
}

function isContent(target: string, content: Buffer | undefined): boolean {
  const now = contentOf(target);
  return now === undefined || content === undefined ? now === content : content.equals(now);
}

/** Removes the backups of a file that are identical to its new content. */
function removeBackups({ target, next }: Change): void {
  const copies = next === undefined ? [] : backupsWith(target, next);
  for (const path of copies) rmSync(path, { force: true });
}

function putBack({ target, kind, current, next }: Change): void {
  // Keeps a file that the agent has changed since we wrote it.
  if (kind !== "folder" && !isContent(target, next)) return;
  try {
    if (kind === "folder") rmdirSync(target);
    else if (current === undefined) rmSync(target, { force: true });
    else putFile(target, current);
  } catch {
    // Does not throw this error, because the error that caused the rollback is more useful.
  }
}

/** Removes empty folders, innermost first. */
function removeFolders(folders: readonly string[]): void {
  for (const folder of [...folders].sort((a, b) => b.length - a.length))
    try {
      rmdirSync(folder);
    } catch {
      // The folder is not empty, or does not exist.
    }
}

/** Removes half-written files of a killed run. */
function removeTemporary({ changes }: Plan, former: AgentRecord | undefined): void {
  if (former === undefined) return;
  const ending = `.${former.pid}.tmp`;
  for (const { target } of changes)
    for (const name of namesIn(dirname(target)))
      if (name.startsWith(`${basename(target)}.`) && name.endsWith(ending)) rmSync(join(dirname(target), name));
}
