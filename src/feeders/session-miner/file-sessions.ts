/** Writes an agent's changed sessions as transcripts into the staging area, from where the conversation miner files them. */
import { statSync } from "node:fs";
import { removeLeftovers } from "../../base/atomic-file.ts";
import { badValue, PalaceError } from "../../base/errors.ts";
import { feedTranscripts } from "../convo-miner/file-transcripts.ts";
import type { MineOptions, MineReport, TranscriptFile } from "../convo-miner/run.ts";
import { wingOfFolder } from "../../base/project-names.ts";
import { checkName, readProject } from "../doc-miner/project.ts";
import { copiesIn } from "./copies.ts";
import { projectFolder } from "../../base/worktree.ts";
import { ofName, readNotes, writeNotes } from "../notes.ts";
import type { FeedDeps, FeedWatch } from "../run.ts";
import type { HarnessName, Session, SessionHead, SessionSource } from "./session.ts";
import * as stage from "./staging-area.ts";
import { transcribe, transcriptName } from "./transcribe.ts";

export type SessionOptions = Omit<MineOptions, "wing"> & {
  harness: HarnessName;
  /** Wing of all sessions. If undefined, each session gets the wing of its project. */
  wing: string | undefined;
  minMessages: number;
  /** Only sessions that changed at or after this time, ms since the epoch. */
  sinceMs: number | undefined;
  /** Ids of the sessions to file; empty for all. */
  sessions: readonly string[];
  cacheDir: string;
  palace: string;
};

export type SessionDeps = FeedDeps & { options: SessionOptions; source: SessionSource };

export type SessionReport = Omit<MineReport, "wing" | "files"> & {
  /** Number of chosen sessions. */
  sessions: number;
  /** Number of chosen sessions with fewer messages than the required minimum. */
  tooShort: number;
  wings: string[];
  /** Number of chosen sessions for each generation of the agent's database tables, such as "opencode 1". */
  generations?: Record<string, number>;
};

/** Session to file. `isPending`: true if a dry run did not stage the session's transcript. */
type Ready = { name: string; wing: string; file: TranscriptFile; isPending: boolean };

type Run = SessionDeps & {
  /** All sessions that the agent has, by id. */
  heads: ReadonlyMap<string, SessionHead>;
  home: string;
  notes: stage.StageNotes;
  wingOf: (directory: string) => Promise<string>;
  report: SessionReport;
};

/** Errors: FEEDER_SOURCE_UNREADABLE, CONFIG_BAD_VALUE, and the broker's errors that are not about a single session. */
export async function feedSessions(deps: SessionDeps): Promise<SessionReport> {
  const { options, source, signal } = deps;
  const wing = options.wing === undefined ? undefined : checkName(options.wing, "--wing");
  const home = stage.stageHome(options.cacheDir);
  if (!options.dryRun) removeLeftovers(home);
  const notesFile = stage.notesPath(home, options.harness, source.place);
  const notes = readNotes<stage.StageNotes>(notesFile, "sessions") ?? { schema: 1, sessions: {} };
  const all = source.list();
  const heads = choose(all, options);
  const report: SessionReport = {
    ...{ sessions: heads.length, tooShort: 0, wings: [], filed: 0, unchanged: 0, skipped: [], drawers: 0, kept: 0 },
    ...{ dryRun: options.dryRun, interrupted: false, failed: 0 },
    ...(options.dryRun && { wouldFile: [] }),
    ...generationsOf(heads),
  };
  const wingOf = wing === undefined ? wingFinder(deps.watch) : async (): Promise<string> => wing;
  const run: Run = { ...deps, heads: new Map(all.map((head) => [head.id, head])), home, notes, wingOf, report };
  const ready: Ready[] = [];
  try {
    for (const head of heads) {
      if (signal.aborted) break;
      const one = await prepare(head, run);
      if (one !== undefined) ready.push(one);
    }
  } finally {
    if (!options.dryRun) writeNotes(notesFile, notes);
  }
  const byWing = [...Map.groupBy(ready, (one) => one.wing)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, sessions] of byWing) {
    if (signal.aborted || (options.limit > 0 && report.filed >= options.limit)) break;
    await feedWing(name, sessions, run);
  }
  report.interrupted ||= signal.aborted;
  return report;
}

function generationsOf(heads: readonly SessionHead[]): Pick<SessionReport, "generations"> {
  const generations: Record<string, number> = {};
  for (const { generation } of heads)
    if (generation !== undefined) generations[generation] = (generations[generation] ?? 0) + 1;
  return Object.keys(generations).length === 0 ? {} : { generations };
}

function choose(heads: readonly SessionHead[], { sessions, sinceMs }: SessionOptions): SessionHead[] {
  const unknown = sessions.filter((id) => !heads.some((head) => head.id === id));
  if (unknown.length > 0)
    throw badValue(
      `there is no session ${unknown.join(", ")}`,
      "list them: palace mine sessions --dry-run --min-messages 0",
    );
  return heads.filter(
    ({ id, updatedMs }) =>
      (sessions.length === 0 || sessions.includes(id)) && (sinceMs === undefined || updatedMs >= sinceMs),
  );
}

/** Stages a changed session. Returns undefined if the session has nothing to file. */
async function prepare(head: SessionHead, run: Run): Promise<Ready | undefined> {
  const { options, source, heads, home, notes, wingOf, report } = run;
  const noted = ofName(notes.sessions, head.id);
  // Copied turns are filed only with the earlier session. If that session was deleted or changed, the fork is staged again.
  const isWhole = noted?.without?.every((id) => heads.has(id) && isAsRead(heads.get(id), noted.read?.[id])) ?? true;
  if (noted?.version === head.version && isWhole && !options.force) {
    if (noted.messages < options.minMessages) {
      report.tooShort += 1;
      return undefined;
    }
    const isThere = noted.file !== "" && (options.wing === undefined || options.wing === noted.wing);
    const found = isThere ? staged(home, noted) : undefined;
    if (found !== undefined) return found;
  }
  const whole = source.read(head);
  if (whole === undefined) return undefined;
  // Reads earlier pi sessions again: they may have abandoned a branch that this fork still has. Claude Code's files only grow.
  const reread = options.harness === "pi" ? { reread: (one: SessionHead) => source.read(one) } : {};
  const copies = options.harness === "opencode" ? whole.copies : copiesIn(whole, head.id, { ...run, ...reread });
  const { session, without } = withoutFiled(whole, copies, notes);
  const lastMs = whole.turns.at(-1)?.atMs;
  const first = whole.turns[0]?.id;
  // Copied messages count towards the minimum, except in a fork without new turns.
  const messages = session.turns.length === 0 ? 0 : whole.turns.length;
  const entry: stage.Staged = {
    ...{ version: head.version, messages, wing: "", file: "" },
    ...(without.length > 0 && { without }),
    ...(without.length > 0 && options.harness === "pi" && { read: versionsOf(without, heads) }),
    ...(lastMs !== undefined && { lastMs }),
    ...(first !== undefined && { first }),
  };
  if (messages < options.minMessages) {
    report.tooShort += 1;
    notes.sessions[head.id] = entry;
    return undefined;
  }
  // A filed session keeps its wing even if its project was renamed. Otherwise it would be filed in two wings.
  const isFiled = options.wing === undefined && noted !== undefined && noted.file !== "";
  const wing = isFiled ? noted.wing : await wingOf(session.directory);
  const file = transcriptName(options.harness, session);
  const path = stage.stagedPath(home, wing, file);
  if (options.dryRun) return rehearsed(session, wing, path);
  stage.stageTranscript(path, transcribe(session), session.updatedMs);
  notes.sessions[head.id] = { ...entry, wing, file };
  return staged(home, { wing, file });
}

function isAsRead(head: SessionHead | undefined, version: string | undefined): boolean {
  return version === undefined || head?.version === version;
}

function versionsOf(ids: readonly string[], heads: ReadonlyMap<string, SessionHead>): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [id, heads.get(id)?.version ?? ""]));
}

/** Removes a fork's turns that are staged with an earlier session. `without`: these earlier sessions. */
function withoutFiled(
  session: Session,
  copies: Session["copies"],
  { sessions }: stage.StageNotes,
): { session: Session; without: string[] } {
  const { turns } = session;
  const without = new Set<string>();
  const own = turns.filter(({ id, atMs }) => {
    const earlier = copies?.get(id) ?? "";
    const noted = ofName(sessions, earlier);
    if (noted === undefined || noted.file === "" || atMs > (noted.lastMs ?? Infinity)) return true;
    without.add(earlier);
    return false;
  });
  return { session: { ...session, turns: own }, without: [...without] };
}

function staged(home: string, { wing, file }: Pick<stage.Staged, "wing" | "file">): Ready | undefined {
  const path = stage.stagedPath(home, wing, file);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return undefined;
  const transcript = { path, sourceFile: path, name: file, mtime: stat.mtimeMs / 1000, size: stat.size };
  return { name: file, wing, file: transcript, isPending: false };
}

/** Returns the entry with which a dry run reports a session, without staging the session. */
function rehearsed({ title, turns, updatedMs }: Session, wing: string, path: string): Ready {
  const file = { path, sourceFile: path, name: path, mtime: updatedMs / 1000, size: 0 };
  return { name: `${wing}: ${title} (${turns.length} messages)`, wing, file, isPending: true };
}

async function feedWing(wing: string, sessions: readonly Ready[], run: Run): Promise<void> {
  const { options, source, home, report } = run;
  const done = await feedTranscripts({
    ...run,
    options: { ...options, wing, limit: options.limit === 0 ? 0 : options.limit - report.filed },
    place: { home, root: `${options.harness} ${source.place}`, palace: options.palace },
    files: sessions.filter(({ isPending }) => !isPending).map(({ file }) => file),
    nameOf: (sourceFile) => stage.stagedHere(home, sourceFile),
  });
  report.wings.push(wing);
  for (const key of ["filed", "unchanged", "drawers", "kept", "failed"] as const) report[key] += done[key];
  report.skipped.push(...done.skipped);
  report.interrupted ||= done.interrupted;
  const pending = sessions.filter(({ isPending }) => isPending).map(({ name }) => name);
  report.wouldFile?.push(...pending, ...(done.wouldFile ?? []));
}

/** Returns a function that finds a project's wing as the document miner does: in its mempalace.yaml, else its folder's name. */
function wingFinder(watch: FeedWatch): (directory: string) => Promise<string> {
  const known = new Map<string, string>();
  return async (directory) => {
    const wing = known.get(directory) ?? (await wingOfProject(directory, watch));
    known.set(directory, wing);
    return wing;
  };
}

async function wingOfProject(directory: string, watch: FeedWatch): Promise<string> {
  const folder = projectFolder(directory);
  try {
    return (await readProject(folder, undefined)).wing;
  } catch (error) {
    if (!(error instanceof PalaceError)) throw error;
    const wing = wingOfFolder(folder);
    // Prints no notice for a deleted project, because the user cannot repair its settings.
    if (statSync(folder, { throwIfNoEntry: false }) !== undefined)
      watch.notice(`${folder}: ${error.message}; its sessions go to wing "${wing}"`);
    return wing;
  }
}
