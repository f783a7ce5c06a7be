/** Tests which project a folder belongs to, and its names. The real git makes the repositories, clones and worktrees. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectNames } from "../../../src/base/project-names.ts";

let home: string;

function git(folder: string, ...args: string[]): void {
  const who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "" };
  execFileSync("git", ["-C", folder, ...who, ...args], { stdio: "pipe", env });
}

function makeRepository(name: string, remote?: string): string {
  const folder = join(home, name);
  mkdirSync(join(folder, "docs"), { recursive: true });
  writeFileSync(join(folder, "docs/cart.md"), "The cart.\n");
  git(folder, "init", "--quiet");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "-m", "all");
  if (remote !== undefined) git(folder, "remote", "add", "origin", remote);
  return folder;
}

const namesOf = (folder: string): string[] => projectNames(folder, home);

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "project-names-")));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("the project of a repository is named after the repository's folder, as a slug", () => {
  expect(namesOf(makeRepository("My Shop"))).toEqual(["my_shop"]);
  expect(namesOf(makeRepository("my-shop"))).toEqual(["my_shop"]);
  expect(namesOf(join(home, "my-shop/docs"))).toEqual(["my_shop", "docs"]);
});

test("a worktree anywhere has the name of its project", () => {
  const shop = makeRepository("boat-shop", "git@example.org:team/boat-shop.git");
  git(shop, "worktree", "add", "--quiet", join(shop, ".claude/worktrees/fix-cart"));
  git(shop, "worktree", "add", "--quiet", join(home, "feature"));
  expect(namesOf(join(shop, ".claude/worktrees/fix-cart"))[0]).toBe("boat_shop");
  expect(namesOf(join(shop, ".claude/worktrees/gone"))[0]).toBe("boat_shop");
  expect(namesOf(join(home, "feature"))).toEqual(["boat_shop", "feature"]);
  git(shop, "clone", "--quiet", "--bare", ".", join(home, "kept/.bare"));
  git(join(home, "kept/.bare"), "worktree", "add", "--quiet", join(home, "kept/main"));
  git(join(home, "kept/.bare"), "remote", "set-url", "origin", "https://example.org/team/boat-shop");
  expect(namesOf(join(home, "kept/main"))[0]).toBe("boat_shop");
});

test.each([
  "git@example.org:team/my-shop.git",
  "https://example.org/team/my-shop.git/",
  "ssh://git@example.org:2222/my-shop",
  "example.org:my-shop.git",
  "/srv/git/my-shop/.git",
  "C:\\git\\my-shop",
])("a moved clone keeps the name of its remote: %s", (remote) => {
  const folder = makeRepository("clone", remote);
  renameSync(folder, join(home, "moved-clone"));
  expect(namesOf(join(home, "moved-clone"))).toEqual(["my_shop", "moved_clone"]);
  rmSync(join(home, "moved-clone"), { recursive: true });
});

test("a project is named after origin, or else after its first remote", () => {
  const folder = makeRepository("fork", "git@example.org:me/anchor.git");
  writeFileSync(
    join(folder, ".git/config"),
    '[remote "a"]\n\turl = x:/first\n[branch "m"]\n\turl = no\n[remote "origin"]\n  url = "x:/anchor.git"\n',
  );
  expect(namesOf(folder)).toEqual(["anchor", "fork"]);
  writeFileSync(join(folder, ".git/config"), '[remote "a"]\n\turl = x:/first\n');
  expect(namesOf(folder)).toEqual(["first", "fork"]);
  for (const url of ["..", ".", "/", "", "///.git"]) {
    writeFileSync(join(folder, ".git/config"), `[remote "origin"]\n\turl = ${url}\n`);
    expect(namesOf(folder)).toEqual(["fork"]);
  }
});

test("a submodule has its own project name", () => {
  const inner = makeRepository("rope");
  const outer = makeRepository("ship");
  git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "parts/rope-part");
  expect(namesOf(join(outer, "parts/rope-part"))).toEqual(["rope", "rope_part"]);
});

test("the wing in mempalace.yaml comes before all other names", () => {
  const folder = makeRepository("yard", "git@example.org:team/dock.git");
  for (const line of ["wing: Old Yard", 'wing: "Old Yard" # ours', "wing:   'Old Yard'"]) {
    writeFileSync(join(folder, "mempalace.yaml"), `rooms:\n  - name: a\n    wing: no\n${line}\n`);
    expect(namesOf(join(folder, "docs"))).toEqual(["Old Yard", "dock", "yard", "docs"]);
  }
});

test("a plain folder is a project of its own name, and the home folder does not count as a project", () => {
  mkdirSync(join(home, "notes"));
  expect(namesOf(join(home, "notes"))).toEqual(["notes"]);
  expect(namesOf(join(home, "gone"))).toEqual(["gone"]);
  for (const folder of [home, join(home, ".."), "/", "", "relative", "/x\0y"]) expect(namesOf(folder)).toEqual([]);
  // A home folder under version control must not turn everything below it into one project.
  git(home, "init", "--quiet");
  expect([namesOf(home), namesOf(join(home, "notes"))]).toEqual([[], ["notes"]]);
  rmSync(join(home, ".git"), { recursive: true });
  symlinkSync(home, `${home}-link`);
  expect(projectNames(home, `${home}-link`)).toEqual([]);
  rmSync(`${home}-link`);
});

test("pipes and damaged files in place of git's files cause no error and do not block", () => {
  const folder = makeRepository("odd", "git@example.org:team/oak.git");
  rmSync(join(folder, ".git/config"));
  execFileSync("mkfifo", [join(folder, ".git/config"), join(folder, "mempalace.yaml")]);
  expect(namesOf(folder)).toEqual(["odd"]);
  rmSync(join(folder, ".git"), { recursive: true });
  for (const text of ["", "gitdir: ", "gitdir: \0", "x".repeat(100_000)]) {
    writeFileSync(join(folder, ".git"), text);
    expect(namesOf(folder)).toEqual(["odd"]);
  }
});
