/** Files a git repository's commits, newest first, each as its own source. A killed run leaves no commit half-filed. */
import { quoted } from "../../base/shell-word.ts";
import type { Env } from "../../config/env.ts";
import type { FilingSettings } from "../../config/filing.ts";
import { readProject } from "../doc-miner/project.ts";
import { readRegistry, type Registry } from "../doc-miner/registry.ts";
import { countRefused, type FeedDeps, type FeedWatch, fileEach, type RunReport } from "../run.ts";
import { type Caller, send } from "../send.ts";
import { isCommitSource, type LeftOut, sourceOf, textOfCommit, whyLeftOut } from "./commit.ts";
import { openRepository, readLog } from "./git.ts";
import { type Commit, MESSAGE_MAX_BYTES, parseLog } from "./parse-log.ts";

export type GitOptions = {
  dir: string;
  env: Env;
  wing: string | undefined;
  /** Maximum number of commits to read, newest first; 0 for COMMITS_MAX. */
  limit: number;
  dryRun: boolean;
  force: boolean;
  agent: string;
  filing: FilingSettings;
  registryFile: string;
};

export type GitReport = RunReport & {
  wing: string;
  /** Number of commits that were read. */
  commits: number;
  /** Number of older commits, which the limit excluded. */
  older: number;
  leftOut: Record<LeftOut, number>;
};

type GitDeps = Omit<FeedDeps, "caller"> & { options: GitOptions; connect: () => Promise<Caller | undefined> };
type Found = Commit & { sourceFile: string };
type Run = GitDeps & {
  caller: Caller | undefined;
  wing: string;
  registry: Registry;
  report: GitReport;
};

/** Maximum commits in one run, because the answer to `source.list` has a record of each one and must fit into one message. */
export const COMMITS_MAX = 100_000;
/** Maximum characters of a commit in one drawer. A longer commit is cut like a document. */
const DRAWER_LENGTH_MAX = 4_000;
const ROOM = "git";
const IN_FLIGHT_MAX = 4;
/** Limits of a batch: number of commits, and characters of their messages. A batch is read first and then filed. */
const BATCH_MAX = 64;
const BATCH_LENGTH_MAX = 4 * 1024 * 1024;

/** Errors: FEEDER_SOURCE_UNREADABLE, CONFIG_BAD_VALUE, and the broker's, except errors about a single commit. */
export async function feedCommits(deps: GitDeps): Promise<GitReport> {
  const { options, watch } = deps;
  const { git, repository } = await openRepository(options.dir, options.env);
  const { root, commits, isShallow } = repository;
  const { wing } = await readProject(root, options.wing);
  const chosen = Math.min(commits, options.limit === 0 ? COMMITS_MAX : options.limit, COMMITS_MAX);
  const report: GitReport = {
    ...{ wing, commits: 0, older: commits - chosen, leftOut: { merges: 0, bots: 0, empty: 0 } },
    ...{ filed: 0, unchanged: 0, skipped: [], drawers: 0, dryRun: options.dryRun, interrupted: false, failed: 0 },
    ...(options.dryRun && { wouldFile: [] }),
  };
  const again = `palace mine git ${quoted(options.dir)}`;
  if (commits === 0) watch.notice(`${root} has no commit yet; after the first one, type: ${again}`);
  if (isShallow)
    watch.notice(
      `${root} is a shallow clone, so only its newest commits are here; for all, type: git -C ${quoted(options.dir)} fetch --unshallow && ${again}`,
    );
  if (chosen === 0) return report;
  const caller = await deps.connect();
  const run: Run = { ...deps, caller, wing, registry: readRegistry(options.registryFile), report };
  const filed = await filedCommits(run);
  await fileLog(run, parseLog(readLog(git, chosen)), { total: chosen, filed, isShallow });
  return report;
}

/** Returns the wing's commit sources, also from other clones. Empty with `force`, so that all commits are filed again. */
async function filedCommits({ caller, wing, watch, options }: Run): Promise<Set<string>> {
  if (caller === undefined) {
    watch.notice(
      "No broker runs, so commits that are filed already are listed too; to see only new ones: palace start",
    );
    return new Set();
  }
  if (options.force) return new Set();
  const { sources } = await caller.call("source.list", { wing });
  return new Set(sources.map(({ sourceFile }) => sourceFile).filter(isCommitSource));
}

type Log = { total: number; filed: Set<string>; isShallow: boolean };

async function fileLog(run: Run, log: AsyncIterable<Commit>, { total, filed, isShallow }: Log): Promise<void> {
  const { report, signal, watch } = run;
  let [done, length] = [0, 0];
  let batch: Found[] = [];
  const ofAll: FeedWatch = {
    ...watch,
    progress: (_done, _total, name, drawers) => watch.progress(++done, total, name, drawers),
  };
  const flush = async (): Promise<void> => {
    const file = (found: Found): Promise<number | undefined> => fileCommit(run, found);
    await fileEach({ ...run, watch: ofAll }, batch, { limit: 0, inFlightMax: IN_FLIGHT_MAX, nameOf, file });
    [batch, length] = [[], 0];
  };
  for await (const commit of log) {
    if (signal.aborted) break;
    report.commits += 1;
    // Git would list all files of the project for the oldest commit of a shallow clone, so this commit is filed without files.
    const isBorder = isShallow && commit.parents.length === 0;
    const found = { ...commit, ...(isBorder && { files: [], fileCount: 0 }), sourceFile: sourceOf(commit, run.wing) };
    if (!isNew(found, filed, report)) {
      done += 1;
      continue;
    }
    filed.add(found.sourceFile);
    batch.push(found);
    length += found.message.length;
    if (batch.length >= BATCH_MAX || length >= BATCH_LENGTH_MAX) await flush();
  }
  if (!signal.aborted) await flush();
  report.interrupted = signal.aborted && done < total;
}

/** Returns true for a commit to file. Counts any other commit in the report. */
function isNew(found: Found, filed: ReadonlySet<string>, report: GitReport): boolean {
  const why = whyLeftOut(found);
  if (why !== undefined) {
    report.leftOut[why] += 1;
    return false;
  }
  if (found.isTooLong) {
    const reason = `its message has more than ${MESSAGE_MAX_BYTES / 1024} KiB`;
    report.skipped.push({ file: nameOf(found), reason });
    return false;
  }
  if (!filed.has(found.sourceFile)) return true;
  report.unchanged += 1;
  return false;
}

/** Returns the number of drawers; undefined in a dry run, or if the broker refuses only this commit. */
async function fileCommit(run: Run, found: Found): Promise<number | undefined> {
  const { caller, wing, report, options, registry, signal } = run;
  if (options.dryRun || caller === undefined) {
    report.wouldFile?.push(nameOf(found));
    return undefined;
  }
  const text = textOfCommit(found);
  const { cut, languages, halls } = options.filing;
  const mtime = Date.parse(found.authoredAt) / 1000;
  const knownNames = registry.namesIn(text);
  try {
    const { drawers } = await send(caller, signal, "source.replace", {
      ...{ wing, room: ROOM, sourceFile: found.sourceFile, content: text, addedBy: options.agent, languages },
      // The source's name is a digest of the commit, so it serves as the hash, too.
      ...{ sha256: found.sourceFile, mtime: Number.isFinite(mtime) ? mtime : 0 },
      ...(Number.isFinite(mtime) && {
        contentDate: found.authoredAt.slice(0, 10),
        contentDateSource: "mtime",
        authoredAt: found.authoredAt,
      }),
      cut: text.length > DRAWER_LENGTH_MAX ? cut : { size: DRAWER_LENGTH_MAX, overlap: 0, sizeMin: 0 },
      ...(knownNames.length > 0 && { knownNames }),
      ...(halls !== undefined && { halls }),
    });
    report.filed += 1;
    report.drawers += drawers;
    return drawers;
  } catch (error) {
    return countRefused(report, nameOf(found), error);
  }
}

function nameOf({ hash, message }: Commit): string {
  return `${hash.slice(0, 12)} ${message.trim().split("\n", 1)[0] ?? ""}`;
}
