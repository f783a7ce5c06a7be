/** `palace mine git [DIR]` files the commits of a git repository. */
import { quoted } from "../../base/shell-word.ts";
import { COMMITS_MAX, feedCommits, type GitReport } from "../../feeders/git-miner/file-commits.ts";
import { FEED_OPTIONS, feedOptions, feedPlace, runMine } from "../feeding/mining.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

/** Number of commits to examine, unless the user gives another number. */
const COMMITS_USUAL = 1_000;

export const verb = defineVerb({
  usage: `palace mine git [DIR] [--limit N] [--wing W] [--dry-run] [--force] [--quiet]

Files the commits of the git repository around DIR (default: the working directory): message, author, date and file names,
one drawer for each commit. Run it again at any time: only new commits are filed. A commit that a rebase or a cherry-pick
gave another hash is recognised by its author, date and message. Commits that a rebase drops stay in the palace. E-mail addresses are
not filed; commits of bots, merges without a message of their own, and commits without a message are left out. The wing is the wing of
the project's documents (in a worktree: the main clone's); the room is git.

  --limit N   look at the newest N commits (default ${COMMITS_USUAL}; 0 = all, at most ${COMMITS_MAX})
  --wing W    file into wing W
  --agent NAME  record NAME as who filed it
  --dry-run   say what would be filed, change nothing
  --force     file everything again
  --quiet     no progress, no summary`,
  options: FEED_OPTIONS,
  args: [0, 1],
  place: feedPlace,
  run: ({ values, args: [dir = "."], config, env, out }) => {
    const options = {
      ...feedOptions(values, config, { limit: COMMITS_USUAL }),
      ...{ dir, env, registryFile: config.paths.knownEntitiesFile },
    };
    return runMine({
      ...{ command: "palace mine git", values, config, out, source: "commit" },
      run: (run) => feedCommits({ ...run, options }),
      printSum: (report) => printSum(report, dir, out),
    });
  },
});

function printSum({ wing, commits, older, leftOut, ...report }: GitReport, dir: string, out: Output): void {
  const done = report.dryRun
    ? `${report.wouldFile?.length ?? 0} to file`
    : `${report.filed} filed (${plural(report.drawers, "drawer")})`;
  const left = leftOut.merges + leftOut.bots + leftOut.empty;
  const head = `${printable(wing)}: ${plural(commits, "commit")}`;
  out.text(`${head}, ${done}, ${report.unchanged} unchanged, ${left} left out, ${report.skipped.length} skipped`);
  if (older === 0) return;
  const all = `palace mine git ${quoted(dir)} --limit 0`;
  out.hint(`${plural(older, "older commit")} not examined; for all:  ${all}`);
}
