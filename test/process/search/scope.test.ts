import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

type Answer = { results: { wing: string }[]; scope?: object; hint?: string; error?: string };

const QUERY = "how is the site deployed";
const CLEAR = "where do kingfishers nest";

function git(folder: string, ...args: string[]): void {
  const who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "" };
  execFileSync("git", ["-C", folder, ...who, ...args], { stdio: "pipe", env });
}

function makeRepository(palace: TestPalace, name: string): string {
  const folder = join(palace.home, name);
  mkdirSync(folder);
  git(folder, "init", "--quiet");
  git(folder, "commit", "--quiet", "--allow-empty", "-m", "first");
  return folder;
}

async function searchIn(palace: TestPalace, cwd: string, query: string, more: object = {}): Promise<Answer> {
  await using shim = await palace.shim({}, cwd);
  return (await shim.call("mempalace_search", { query, ...more })) as Answer;
}

const firstOf = async (...asked: Parameters<typeof searchIn>): Promise<string | undefined> =>
  (await searchIn(...asked)).results[0]?.wing;

async function fileNotes(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  const note = "The site is deployed with make release from the main branch";
  const put = (wing: string, content: string): Promise<unknown> =>
    client.callTool("mempalace_add_drawer", { wing, room: "r", content });
  await put("Boat Yard", `${note}, says the boat yard.`);
  await put("my_shop", `${note}, says the own shop.`);
  await put("boat_yard", "Kingfishers nest in the quarry behind the mill.");
  await put("my_shop", "The shop sells nests of tables.");
  client.close();
}

test("each agent finds notes of its project first, unless another note is clearly better", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await fileNotes(palace);
  const [shop, yard] = [makeRepository(palace, "My-Shop"), makeRepository(palace, "boat-yard")];
  git(shop, "worktree", "add", "--quiet", join(palace.home, "feature"));
  git(shop, "remote", "add", "origin", "git@example.org:team/my-shop.git");
  git(palace.home, "clone", "--quiet", shop, "copy");
  git(join(palace.home, "copy"), "remote", "set-url", "origin", "git@example.org:team/my-shop.git");
  renameSync(join(palace.home, "copy"), join(palace.home, "moved"));
  for (const folder of [shop, join(palace.home, "feature"), join(palace.home, "moved")])
    expect(await firstOf(palace, folder, QUERY)).toBe("my_shop");
  expect(await firstOf(palace, yard, QUERY)).toBe("Boat Yard");
  expect(await firstOf(palace, shop, CLEAR)).toBe("boat_yard");
  expect((await searchIn(palace, shop, QUERY)).scope).toEqual({
    project: "my_shop",
    wings: ["my_shop"],
    preferred: true,
  });

  const strict = await searchIn(palace, shop, CLEAR, { scope: "strict" });
  expect(new Set(strict.results.map(({ wing }) => wing))).toEqual(new Set(["my_shop"]));
  const both = (await searchIn(palace, yard, `${QUERY}, and ${CLEAR}`, { scope: "strict" })).results.map(
    ({ wing }) => wing,
  );
  expect(both.toSorted()).toEqual(["Boat Yard", "boat_yard"]);

  // A client outside every project, or in a project without a wing in the palace, gets the same answer as a client without a folder.
  const client = await palace.client();
  const plain = await client.callTool("mempalace_search", { query: QUERY });
  client.close();
  expect(plain).not.toHaveProperty("scope");
  mkdirSync(join(palace.home, "unknown"));
  for (const folder of [palace.home, "/", join(palace.home, "unknown")])
    expect(await searchIn(palace, folder, QUERY)).toEqual(plain);
  expect(await searchIn(palace, shop, QUERY, { scope: "all" })).toEqual(plain);
  expect((await searchIn(palace, "/", QUERY, { scope: "strict" })).error).toContain("needs a project");
});

test("`palace search` prefers the project of the folder in which it runs, and says so", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await fileNotes(palace);
  const shop = makeRepository(palace, "my-shop");
  const search = (cwd: string, ...args: string[]): ReturnType<TestPalace["run"]> =>
    palace.run("palace", ["search", ...QUERY.split(" "), ...args], { cwd });
  const own = await search(shop, "--explain");
  expect(own.stdout.split("\t").slice(0, 2)).toEqual(["1", "my_shop"]);
  expect(own.stdout).toContain("promoted × 1.1: belongs to the project you work in: wing `my_shop`");
  expect(own.stderr).toMatch(/ ms, wing my_shop first \(--scope all treats all alike\)$/m);
  const strict = await search(shop, "--scope", "strict");
  expect(strict.stdout).not.toContain("Boat Yard");
  expect(strict.stderr).toMatch(/ ms, in wing my_shop only$/m);
  expect((await search(shop, "--scope", "all")).stderr).toMatch(/ ms$/m);
  const other = makeRepository(palace, "empty-yard");
  expect((await search(other, "--scope", "strict")).stdout).toContain(
    "no wing belongs to project `empty_yard`; --scope all searches everywhere",
  );
  expect(await search("/", "--scope", "strict")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("this folder is not a project"),
  });
  expect((await search(shop, "--scope", "mine")).stderr).toContain("--scope takes prefer, strict, all, not mine");
});
