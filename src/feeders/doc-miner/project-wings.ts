/** The wings that may hold what is known of the folder that an agent works in. */
import { dirname, isAbsolute, resolve } from "node:path";
import { PROJECT_FILES, readProject, wingOfFolder } from "./project.ts";
import { findAbove, mainOf } from "./worktree.ts";

/**
 * Returns the wing of mempalace.yaml, and those named after the folder, after the repository that it is in, and after the
 * repository of which that is a worktree. Diaries have such a name behind `wing_`. Empty for a folder that is unknown.
 */
export async function wingsOfProject(cwd: string): Promise<string[]> {
  if (!isAbsolute(cwd)) return [];
  const here = resolve(cwd);
  const repository = findAbove(here, [".git"]);
  const named = findAbove(here, PROJECT_FILES);
  const folders = [repository, repository === undefined ? undefined : mainOf(repository), named, cwd];
  const wings = folders.filter((folder) => folder !== undefined && dirname(folder) !== folder).map(wingNamed);
  return [...new Set([...(named === undefined ? [] : await settled(named)), ...wings])].flatMap((wing) => [
    wing,
    `wing_${wing}`,
  ]);
}

function wingNamed(folder: string | undefined): string {
  return wingOfFolder(folder ?? "");
}

async function settled(folder: string): Promise<string[]> {
  try {
    return [(await readProject(folder, undefined)).wing];
  } catch {
    // A file that cannot be read names no wing; an agent does not wait for its owner.
    return [];
  }
}
