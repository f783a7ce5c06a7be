/** Finds the names of the user's project. Each shim does this at its start, so only small files are read. */
import { realpathSync } from "node:fs";
import { isAbsolute, join, posix, resolve, win32 } from "node:path";
import { readHead } from "./regular-file.ts";
import { commonFolder, findAbove, projectFolder } from "./worktree.ts";
import { orElse } from "./or-else.ts";

/** Names of the project file; the first existing file counts. */
export const PROJECT_FILES = ["mempalace.yaml", "mempalace.yml", "mempal.yaml", "mempal.yml"] as const;
const REPOSITORIES = [".git", ".hg", ".jj"];
const READ_MAX_BYTES = 64 * 1024;
const NAME_MAX = 128;

/** Returns the project's names, the most specific first; none for `home` and the folders above it. */
export function projectNames(folder: string, home: string): string[] {
  const here = isAbsolute(folder) && !folder.includes("\0") ? resolve(folder) : "/";
  const homes = [home, orElse(() => realpathSync(home), home)].map((one) => `${one}/`);
  const isProject = (one: string | undefined): one is string =>
    one !== undefined && one !== "/" && !homes.some((at) => at.startsWith(`${one}/`));
  if (!isProject(here)) return [];
  const [repository, named] = [REPOSITORIES, PROJECT_FILES]
    .map((names) => findAbove(here, names))
    .map((one) => (isProject(one) ? one : undefined));
  const main = repository === undefined ? undefined : projectFolder(repository);
  const folders = [main, repository, named, projectFolder(here), here].filter(isProject);
  const names = [
    named === undefined ? undefined : wingIn(named),
    repository === undefined ? undefined : remoteOf(repository),
    ...folders.map(slugOf),
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ""))] as string[];
}

/** Returns the project names of the current folder; none if the folder has been deleted. */
export function projectHere(home: string): string[] {
  return projectNames(
    orElse(() => process.cwd(), ""),
    home,
  );
}

export function wingOfFolder(folder: string): string {
  return slugOf(folder) || "project";
}

/** Returns the name of the repository at `origin`, or at the first remote. It is the same in every clone. */
function remoteOf(repository: string): string | undefined {
  const config = orElse(() => readHead(join(commonFolder(repository), "config"), READ_MAX_BYTES), undefined);
  const remotes = [...(config ?? "").matchAll(/^\s*\[remote "([^"\n]*)"\][^[]*?^\s*url\s*=\s*(.*)$/gm)];
  const [, , url = ""] = remotes.find(([, name]) => name === "origin") ?? remotes[0] ?? [];
  const [path = ""] = /[^"]+/.exec(url.trim()) ?? [];
  const last = path
    .replaceAll("\\", "/")
    .replace(/\/+$/, "")
    .replace(/\/?\.git$/, "");
  return slugOf(last.split(/[/:]/).at(-1) ?? "");
}

/** Returns the project file's `wing`. Returns undefined if the file cannot be read or its YAML is unusual. */
function wingIn(folder: string): string | undefined {
  const texts = PROJECT_FILES.map((name) => orElse(() => readHead(join(folder, name), READ_MAX_BYTES), undefined));
  const text = texts.find((one) => one !== undefined) ?? "";
  const [, double, single, plain] = /^wing:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^#\n]*))/m.exec(text) ?? [];
  const wing = (double ?? single ?? plain ?? "").trim();
  return /[\p{L}\p{N}]/u.test(wing) && wing.length <= NAME_MAX ? wing : undefined;
}

/** Returns the slug of the last name in a POSIX or Windows path; empty if that name has no letters and digits. */
export function slugOf(folder: string): string {
  const isWindows = /^(?:[A-Za-z]:|\\\\)/.test(folder);
  const slug = (isWindows ? win32 : posix).basename(folder).toLowerCase().replace(/[ -]/g, "_");
  const safe = slug.replace(/[^\p{L}\p{N}_.']/gu, "_").replace(/\.{2,}/g, ".");
  const name = Array.from(safe.replace(/^[^\p{L}\p{N}]+/u, ""))
    .slice(0, NAME_MAX)
    .join("");
  return name.replace(/[^\p{L}\p{N}]+$/u, "");
}
