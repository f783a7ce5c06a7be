/** Tests that all git worktrees of a project share one name, and that each document is filed once. The real git makes the worktrees. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wingOfFolder } from "../../../../src/base/project-names.ts";
import { projectAround } from "../../../../src/feeders/doc-miner/root.ts";
import { surveyProject } from "../../../../src/feeders/doc-miner/survey.ts";
import { projectFolder } from "../../../../src/base/worktree.ts";

let root: string;

function git(folder: string, ...args: string[]): void {
  const who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"];
  execFileSync("git", ["-C", folder, ...who, ...args], {
    stdio: "pipe",
    env: { ...process.env, GIT_CONFIG_GLOBAL: "" },
  });
}

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "worktree-")));
  const shop = join(root, "my-shop");
  mkdirSync(join(shop, "docs"), { recursive: true });
  writeFileSync(join(shop, "README.md"), "The shop.\n");
  writeFileSync(join(shop, "docs/cart.md"), "The cart.\n");
  git(shop, "init", "--quiet");
  git(shop, "add", ".");
  git(shop, "commit", "--quiet", "-m", "all");
  git(shop, "worktree", "add", "--quiet", join(shop, ".claude/worktrees/fix-cart"));
  git(shop, "worktree", "add", "--quiet", join(root, "feature"));
  git(shop, "clone", "--quiet", "--bare", ".", join(root, "bare/.git"));
  git(join(root, "bare/.git"), "worktree", "add", "--quiet", join(root, "bare/main"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("a worktree has its project's name, even after the worktree is deleted", async () => {
  const shop = join(root, "my-shop");
  expect(projectFolder(join(shop, ".claude/worktrees/fix-cart"))).toBe(shop);
  expect(projectFolder(join(shop, ".claude/worktrees/gone/docs"))).toBe(shop);
  expect(projectFolder(join(root, "feature"))).toBe(shop);
  expect(projectFolder(join(root, "feature/docs"))).toBe(join(shop, "docs"));
  expect(projectFolder(join(shop, "docs"))).toBe(join(shop, "docs"));
  expect(projectFolder("")).toBe("");
  const around = await projectAround(join(root, "feature/docs"), join(root, "cache"));
  expect(around).toEqual({ root: join(root, "feature"), wing: "my_shop" });
});

test("the project's name is found in a Windows path, also in the path of a worktree", () => {
  expect(wingOfFolder("C:\\Users\\me\\my proj")).toBe("my_proj");
  expect(wingOfFolder("C:\\Users\\me\\my proj\\")).toBe("my_proj");
  expect(wingOfFolder("\\\\server\\share\\my-proj")).toBe("my_proj");
  expect(wingOfFolder(projectFolder("C:\\w\\my-shop\\.claude\\worktrees\\fix"))).toBe("my_shop");
});

test("the miner does not read worktrees inside their project", () => {
  const paths = (folder: string): string[] => surveyProject(folder, []).documents.map(({ path }) => path);
  expect(paths(join(root, "my-shop"))).toEqual(["README.md", "docs/cart.md"]);
  expect(paths(join(root, "feature"))).toEqual(["README.md", "docs/cart.md"]);
  expect(paths(join(root, "bare"))).toEqual(["main/README.md", "main/docs/cart.md"]);
  expect(paths(root).filter((path) => path.endsWith("cart.md"))).toEqual([
    "bare/main/docs/cart.md",
    "my-shop/docs/cart.md",
  ]);
});
