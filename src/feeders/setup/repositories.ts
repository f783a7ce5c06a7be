/** Finds projects and people in manifests and commits, as upstream 3.11's project_scanner does (palace.md 5.8). */
import { execFileSync } from "node:child_process";
import { lstatSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { compareText, strip } from "../../memory/text/text.ts";
import { isJava, manifestRank, projectName } from "./manifests.ts";
import { type Person, peopleOf, type Commit } from "./people.ts";
import { walk } from "./walk.ts";

const DEPTH_MAX = 6;
const COMMITS_MAX = 1_000;
const GIT_MAX_MS = 10_000;
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;
/** The project is the user's own if the user is among this many top authors, or reaches one of the next two minimums. */
const TOP_AUTHORS = 5;
const OWN_SHARE_MIN = 0.1;
const OWN_COMMITS_MIN = 20;
const SKIPPED = new Set(
  `.git node_modules __pycache__ .venv venv env dist build .next coverage .terraform vendor target .mempalace .cache
  .pytest_cache .mypy_cache .ruff_cache`.split(/\s+/),
);
const BOT_NAME =
  /\[bot\]|^dependabot|^renovate|^github-actions|^actions-user|-bot$|\bbot$|^bot-|^snyk|^greenkeeper|^semantic-release|^allcontributors|-autoroll$|^auto-format|^pre-commit-ci/;
const BOT_ADDRESS = /bot@|\[bot\]@/;

export type Project = {
  name: string;
  root: string;
  manifest: string | undefined;
  hasGit: boolean;
  commits: number;
  ownCommits: number;
  isOwn: boolean;
};

/** Finds projects and people. Projects of the user come first; then the numbers of the user's commits and of all commits decide. */
export function scanRepositories(root: string): { projects: Project[]; people: Person[] } {
  const repositories = findRepositories(root);
  const me = repositories[0] === undefined ? { name: "", address: "" } : identity(repositories[0]);
  const projects = new Map<string, Project>();
  const commits: Commit[] = [];
  for (const repository of repositories) {
    const manifests = manifestsOf(repository);
    const own = manifests.find(({ folder }) => folder === repository);
    const authors = authorsOf(repository);
    commits.push(...authors.map((author) => ({ ...author, repository })));
    const shared = { hasGit: true, ...shareOf(authors, me) };
    const name = own?.name ?? basename(repository);
    const known = projects.get(name);
    if (known === undefined || shared.ownCommits > known.ownCommits)
      projects.set(name, { name, root: repository, manifest: own?.file, ...shared });
    for (const { file, name: other, folder } of manifests) {
      if (folder === own?.folder && file === own.file) continue;
      const there = projects.get(other);
      if (!isJava(file) || (there !== undefined && (there.manifest !== undefined || there.root !== repository)))
        continue;
      projects.set(other, { name: other, root: folder, manifest: file, ...shared });
    }
  }
  if (repositories.length === 0)
    for (const { file, name, folder } of manifestsOf(root))
      if (!projects.has(name))
        projects.set(name, {
          ...{ name, root: folder, manifest: file },
          ...{ hasGit: false, commits: 0, ownCommits: 0, isOwn: false },
        });
  const order = (a: Project, b: Project): number =>
    Number(b.isOwn) - Number(a.isOwn) ||
    b.ownCommits - a.ownCommits ||
    b.commits - a.commits ||
    compareText(a.name, b.name);
  return { projects: [...projects.values()].sort(order), people: peopleOf(commits) };
}

type Author = { name: string; address: string };
type Share = Pick<Project, "commits" | "ownCommits" | "isOwn">;

function shareOf(authors: readonly Author[], me: Author): Share {
  const counts = new Map<string, number>();
  for (const { name } of authors) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isMe = ({ name, address }: Author): boolean =>
    (me.name !== "" && name === me.name) || (me.address !== "" && address === me.address);
  const [commits, ownCommits] = [authors.length, authors.filter(isMe).length];
  const top = [...counts].sort(([, a], [, b]) => b - a).slice(0, TOP_AUTHORS);
  const isAtHome =
    top.some(([name]) => me.name !== "" && name === me.name) ||
    ownCommits / commits >= OWN_SHARE_MIN ||
    ownCommits >= OWN_COMMITS_MIN;
  return { commits, ownCommits, isOwn: ownCommits > 0 && isAtHome };
}

/** Finds the folder's own repository, and the repositories below the folder. Does not search inside the repositories below. */
function findRepositories(root: string): string[] {
  const found = hasGit(root) ? [root] : [];
  for (const { path } of walk(root, (folder) => (folder.depth > 0 && hasGit(folder.path) ? [] : entered(folder))))
    if (path !== root && hasGit(path)) found.push(path);
  return found;
}

type Manifest = { file: string; name: string; folder: string };

/** Lists the manifests, the least deep ones first, and the more reliable ones first within a depth. */
function manifestsOf(root: string): Manifest[] {
  const found: (Manifest & { depth: number })[] = [];
  const isNested = (path: string): boolean => path !== root && hasGit(path);
  for (const { path, files, depth } of walk(root, (folder) => (isNested(folder.path) ? [] : entered(folder)))) {
    if (isNested(path)) continue;
    for (const file of files) {
      const name = manifestRank(file) === undefined ? undefined : projectName(join(path, file));
      if (name !== undefined) found.push({ file, name, folder: path, depth });
    }
  }
  const rank = ({ file }: Manifest): number => manifestRank(file) ?? 0;
  return found.sort(
    (a, b) => a.depth - b.depth || rank(a) - rank(b) || compareText(relative(root, a.folder), relative(root, b.folder)),
  );
}

function entered({ folders, depth }: { folders: readonly string[]; depth: number }): string[] {
  return depth >= DEPTH_MAX ? [] : folders.filter((name) => !SKIPPED.has(name) && !name.startsWith("."));
}

function hasGit(path: string): boolean {
  const stats = lstatSync(join(path, ".git"), { throwIfNoEntry: false });
  return stats?.isDirectory() === true || stats?.isFile() === true;
}

function identity(repository: string): Author {
  const [name, address] = ["user.name", "user.email"].map((key) => strip(git(repository, "config", key)));
  return { name: name ?? "", address: address ?? "" };
}

function authorsOf(repository: string): Author[] {
  const lines = git(repository, "log", `--max-count=${COMMITS_MAX}`, "--format=%aN|%aE").split("\n");
  return lines.flatMap((line) => {
    const at = line.indexOf("|");
    const [name, address] = [strip(line.slice(0, at)), strip(line.slice(at + 1))];
    return at < 0 || isBot({ name, address }) ? [] : [{ name, address }];
  });
}

export function isBot({ name, address }: Author): boolean {
  return BOT_NAME.test(name.toLowerCase()) || BOT_ADDRESS.test(address.toLowerCase());
}

/** Returns git's output; empty if git fails. Prevents git from running programs that the repository's settings name. */
function git(repository: string, ...args: string[]): string {
  const calm = ["--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false"];
  try {
    return execFileSync("git", [...calm, "-C", repository, ...args], {
      ...{ encoding: "utf8", timeout: GIT_MAX_MS, maxBuffer: OUTPUT_MAX_BYTES },
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return "";
  }
}
