/** Tests which git folder the devbox mounts beside the workspace. The real git makes the worktrees. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gitFolderOf, gitObstacle, gitVariables, hostIdentity, keepGitFolder } from "../../../src/devbox/git.ts";
import { hasSetting, writeSettings } from "../../../src/devbox/settings.ts";

let root: string;
let env: NodeJS.ProcessEnv;
const git = (...args: string[]): string => execFileSync("git", ["-C", join(root, "main"), ...args], { env }).toString();

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "palace-git-")));
  env = { ...process.env, HOME: root, GIT_CONFIG_GLOBAL: undefined, XDG_CONFIG_HOME: undefined };
  mkdirSync(join(root, "main"));
  writeFileSync(join(root, ".gitconfig"), `[user]\nname = Ada\nemail = ada@example.org\n`);
  git("init", "--quiet");
  git("commit", "--quiet", "--allow-empty", "--message", "begin");
  git("worktree", "add", "--quiet", join(root, "feature"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("up mounts the shared git folder of a worktree at the path in its .git file", () => {
  const common = join(root, "main/.git");
  expect(gitFolderOf(join(root, "feature"))).toEqual({ source: common, target: common });
  expect(gitVariables({ source: common, target: common })).toEqual({ DEVBOX_GIT_DIR: common, DEVBOX_GIT_TARGET: "" });
});

test("for a relative path in a worktree's .git file, up mounts the git folder where that path leads from /workspace", () => {
  const folder = join(root, "relative");
  git("worktree", "add", "--quiet", folder);
  writeFileSync(join(folder, ".git"), "gitdir: ../main/.git/worktrees/relative\n");
  expect(gitFolderOf(folder)).toEqual({ source: join(root, "main/.git"), target: "/main/.git" });
});

test("up does not mount a folder that git did not make for this workspace", () => {
  const folder = join(root, "hostile");
  mkdirSync(folder);
  const own = join(root, "home/worktrees/x");
  mkdirSync(own, { recursive: true });
  mkdirSync(join(root, "home/objects"));
  mkdirSync(join(root, "home/refs"));
  const links = [".", "/var/run", "../main/.git", "../main/.git/worktrees/feature", "../home/worktrees/x"];
  for (const link of links) {
    writeFileSync(join(folder, ".git"), `gitdir: ${link}\n`);
    expect(gitFolderOf(folder), link).toBeUndefined();
  }
  // `gitdir` leads back to the workspace. First the repository has no HEAD. Then it has a HEAD, but `commondir` names another folder.
  writeFileSync(join(own, "gitdir"), join(folder, ".git"));
  writeFileSync(join(own, "commondir"), "../..\n");
  expect(gitFolderOf(folder)).toBeUndefined();
  writeFileSync(join(root, "home/HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(own, "commondir"), `${root}\n`);
  expect(gitFolderOf(folder)).toBeUndefined();
  expect(gitObstacle(folder)).toContain("so it is not mounted");
});

test("up mounts no extra git folder for a workspace that is a whole repository, has no .git, or has a broken link to git", () => {
  const broken = join(root, "broken");
  mkdirSync(broken);
  writeFileSync(join(broken, ".git"), "gitdir: /nowhere/.git/worktrees/x\n");
  expect([join(root, "main"), root, broken].map(gitFolderOf)).toEqual([undefined, undefined, undefined]);
});

test("up reports that git does not work in the devbox for a submodule or a path with a colon", () => {
  git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", join(root, "main"), "sub");
  expect(gitFolderOf(join(root, "main/sub"))).toBeUndefined();
  expect(gitObstacle(join(root, "main/sub"))).toContain("is a submodule");
  expect(gitObstacle(join(root, "feature"))).toBeUndefined();
  execFileSync("git", ["clone", "--quiet", join(root, "main"), join(root, "a:b")], { env });
  execFileSync("git", ["-C", join(root, "a:b"), "worktree", "add", "--quiet", join(root, "far")], { env });
  expect(gitObstacle(join(root, "far"))).toContain("colon");
});

test("if no git folder is mounted, up empties DEVBOX_GIT_DIR in .env, but does not add the setting", () => {
  keepGitFolder(root, undefined);
  expect(hasSetting(root, "DEVBOX_GIT_DIR")).toBe(false);
  writeSettings(root, { DEVBOX_GIT_DIR: "/a/.git" });
  keepGitFolder(root, undefined);
  expect(writeSettings(root, { DEVBOX_GIT_DIR: "" })).toBe(false);
});

test("up gives the devbox the name and email that git uses in the workspace", async () => {
  writeFileSync(join(root, "work.inc"), "[user]\nemail = ada@work.example\n");
  const more = `[includeIf "gitdir:${root}/main/"]\npath = ${root}/work.inc\n`;
  writeFileSync(join(root, ".gitconfig"), `[user]\nname = Ada\nemail = ada@example.org\n${more}`);
  expect(await hostIdentity(env, root)).toEqual({ name: "Ada", email: "ada@example.org" });
  expect(await hostIdentity(env, join(root, "feature"))).toEqual({ name: "Ada", email: "ada@work.example" });
  expect(await hostIdentity({ ...env, HOME: "/nowhere" }, root)).toBeUndefined();
});
