/** Lets git in the devbox work as on the host: with the host's name and email, and also if the workspace is a worktree. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import type { Env } from "../config/env.ts";
import { realPath } from "../base/real-path.ts";
import { readText } from "../base/regular-file.ts";
import { quoted } from "../base/shell-word.ts";
import { boxesOf, type Engine } from "./engine.ts";
import { askInside } from "./one-off.ts";
import { hasSetting, writeSettings } from "./settings.ts";

export type Identity = Readonly<{ name: string; email: string }>;

/** A git folder outside of the workspace. `source`: on the host; `target`: the path in the devbox at which git looks for the folder. */
export type GitFolder = Readonly<{ source: string; target: string }>;

const WORKSPACE = "/workspace";
const ANSWER_MAX_MS = 10_000;
/** Script that sets name and email once per home, unless the user has set them. It prints the keys it has set. */
const SET_IDENTITY = `mark=$HOME/.local/state/devbox/git-identity
[ ! -e "$mark" ] || exit 0
for key in name email; do
  if [ -n "$1" ] && ! git config --global --get "user.$key" >/dev/null; then
    git config --global "user.$key" "$1" && echo "$key"
  fi
  shift
done
mkdir -p "\${mark%/*}" && : > "$mark"`;

/** Returns the name and email that the host's git uses in this workspace (with `includeIf` they depend on the folder). */
export async function hostIdentity(env: Env, workspace: string): Promise<Identity | undefined> {
  const ask = (key: string): Promise<string> => {
    const args = ["-C", workspace, "config", "--global", "--includes", "--get", key];
    return promisify(execFile)("git", args, { env: { ...env }, timeout: ANSWER_MAX_MS }).then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
  };
  const [name, email] = await Promise.all([ask("user.name"), ask("user.email")]);
  return name === "" && email === "" ? undefined : { name, email };
}

/** Gives the devbox the host's name and email, once per home. Keeps values that the user has set in the devbox. */
export async function giveIdentity(
  engine: Engine,
  project: string,
  { name, email }: Identity,
  log: (line: string) => void,
): Promise<void> {
  const box = (await boxesOf(engine, project)).find(({ service, isRunning }) => service === "devbox" && isRunning);
  if (box === undefined) return;
  const command = ["sh", "-c", SET_IDENTITY, "sh", name, email];
  const said = await askInside(engine, box.id, command).catch((error: Error) => {
    log(`git in the devbox has no identity yet: ${error.message}`);
    return "";
  });
  if (said !== "")
    log(`git in the devbox commits as ${[name, email && `<${email}>`].filter(Boolean).join(" ")}, as on this machine`);
}

/**
 * Returns the git folder to mount; undefined if the workspace is not a worktree. Agents in the devbox can write `.git`, so a folder is
 * mounted only if git itself made it for this workspace: `COMMON/worktrees/NAME`, whose file `gitdir` names the workspace.
 */
export function gitFolderOf(workspace: string): GitFolder | undefined {
  const link = linkOf(workspace);
  const own = link === undefined ? undefined : realPath(resolve(workspace, link));
  if (link === undefined || own === undefined || basename(dirname(own)) !== "worktrees") return undefined;
  const source = dirname(dirname(own));
  const named = (file: string): string | undefined => {
    const text = readText(join(own, file))?.trim();
    return text === undefined || text === "" ? undefined : realPath(resolve(own, text));
  };
  const isOurs = named("gitdir") === realPath(join(workspace, ".git")) && named("commondir") === source;
  const isRepository = ["HEAD", "objects", "refs"].every((name) => existsSync(join(source, name)));
  if (!isOurs || !isRepository || isInside(workspace, source)) return undefined;
  return { source, target: dirname(dirname(resolve(WORKSPACE, link))) };
}

/** Returns a message for the user if git cannot work in the devbox. */
export function gitObstacle(workspace: string): string | undefined {
  const folder = gitFolderOf(workspace);
  if (folder !== undefined && `${folder.source}${folder.target}`.includes(":"))
    return `git will not work in the devbox: Docker cannot mount ${folder.source}, because of the colon in it; move the repository`;
  const link = linkOf(workspace);
  const own = link === undefined ? undefined : realPath(resolve(workspace, link));
  if (folder !== undefined || own === undefined || isInside(workspace, own)) return undefined;
  // A submodule's git folder has a setting with the path of the work tree, which is not /workspace in the devbox.
  return /^\s*worktree\s*=/m.test(readText(join(own, "config")) ?? "")
    ? "git will not work in the devbox: the workspace is a submodule; use the folder of the repository around it as workspace"
    : `git will not work in the devbox: ${own} is not a worktree's folder that git made for this workspace, so it is not mounted; git -C ${quoted(workspace)} worktree repair may help`;
}

/** Returns the path in the workspace's `.git` if `.git` is a file, as in a worktree. */
function linkOf(workspace: string): string | undefined {
  return /^gitdir: (.+)$/m.exec(readText(join(workspace, ".git")) ?? "")?.[1];
}

function isInside(workspace: string, path: string): boolean {
  const way = relative(realPath(workspace) ?? workspace, path);
  return !way.startsWith("..") && !isAbsolute(way);
}

/** Returns the variables with which docker-compose.yml mounts the git folder; with empty values it mounts none. */
export function gitVariables(folder: GitFolder | undefined): Record<"DEVBOX_GIT_DIR" | "DEVBOX_GIT_TARGET", string> {
  const { source = "", target = "" } = folder ?? {};
  return { DEVBOX_GIT_DIR: source, DEVBOX_GIT_TARGET: target === source ? "" : target };
}

/** Writes the variables of `gitVariables` to `.env`, so that a later plain `docker compose up` mounts the folder, too. */
export function keepGitFolder(root: string, folder: GitFolder | undefined): void {
  const values = Object.entries(gitVariables(folder));
  writeSettings(root, Object.fromEntries(values.filter(([name, value]) => value !== "" || hasSetting(root, name))));
}
