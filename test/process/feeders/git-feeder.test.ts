import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { feedCommits, type GitOptions, type GitReport } from "../../../src/feeders/git-miner/file-commits.ts";
import type { Client } from "../../../src/wire/client/client.ts";
import { ourRows } from "../../helpers/mined-rows.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const COMMITS = 160;
/** Settings that change what `git log` prints. */
const LOUD = `[log]\n\tshowSignature = true\n\tshowRoot = false\n\tdecorate = full\n[color]\n\tui = always\n[diff]
	orderFile = /nowhere\n\trelative = true\n[core]\n\tpager = false\n[format]\n\tpretty = oneline\n[safe]\n\tdirectory = *\n`;

function repositoryOf(palace: TestPalace, name: string) {
  const root = join(palace.home, "src", name);
  mkdirSync(root, { recursive: true });
  const git = (args: string[], input: string | Buffer = "", env = {}): string =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], {
      ...{ cwd: root, input, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"] },
      env: { PATH: palace.env["PATH"], HOME: palace.home, GIT_CONFIG_GLOBAL: "/dev/null", ...env },
    });
  git(["init", "--initial-branch=main"]);
  let minute = 0;
  const commit = (message: string | Buffer, more: string[] = []): void => {
    writeFileSync(join(root, `file-${++minute}.ts`), String(minute));
    git(["add", "."]);
    const date = `2026-01-31T10:${String(minute).padStart(2, "0")}:00+01:00`;
    git(["commit", "--allow-empty-message", "--cleanup=verbatim", "-F", "-", ...more], message, {
      GIT_AUTHOR_DATE: date,
      GIT_COMMITTER_DATE: date,
    });
  };
  return { root, git, commit };
}

/** Runs the feeder once in this process. Only tests that need the verb run `palace mine git`. */
async function mine(
  palace: TestPalace,
  client: Client,
  dir: string,
  more: Partial<GitOptions> = {},
): Promise<GitReport> {
  return feedCommits({
    options: {
      ...{ dir, env: palace.env, wing: undefined, limit: 0, dryRun: false, force: false, agent: "test" },
      ...{ filing: palace.config.filing(), registryFile: palace.config.paths.knownEntitiesFile, ...more },
    },
    ...{ connect: async () => client, signal: new AbortController().signal },
    watch: { notice: () => {}, progress: () => {} },
  });
}

async function mineByVerb(palace: TestPalace, args: string[], env = {}) {
  const { code, stdout, stderr } = await palace.run("palace", ["mine", "git", ...args, "--json"], { env });
  expect(stdout, stderr).not.toBe("");
  return { code, stderr, ...(JSON.parse(stdout) as Omit<GitReport, "failed">) };
}

function subjects(palace: TestPalace): string[] {
  return [...ourRows(palace).values()].map(({ text }) => text.split("\n", 1)[0] ?? "").sort();
}

test("each commit is filed whole, and not again after a rebase, an amend with the same message, or from a worktree", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const { root, git, commit } = repositoryOf(palace, "My-Project");
  writeFileSync(join(palace.home, ".gitconfig"), LOUD);
  expect(await mine(palace, client, root)).toMatchObject({ commits: 0, filed: 0 });
  commit("the root\n\nSigned-off-by: Ada <ada@example.org>\n");
  commit("");
  commit(Buffer.from("caf\xe9\n", "latin1"));
  commit("of a bot", ["--author=dependabot[bot] <bot@example.org>"]);
  git(["checkout", "-b", "side", "HEAD~1"]);
  commit(`long\n\n${"A word of a long message.\n".repeat(300)}`);
  git(["checkout", "main"]);
  git(["merge", "--no-edit", "side"]);

  const dryRun = await mine(palace, client, root, { dryRun: true, limit: 2 });
  expect(dryRun).toMatchObject({ commits: 2, older: 4, filed: 0, leftOut: { merges: 1 } });
  expect(dryRun.wouldFile).toEqual([expect.stringMatching(/^[0-9a-f]{12} long$/)]);
  const env = { GIT_DIR: "/nowhere", GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "log.date", GIT_CONFIG_VALUE_0: "bad" };
  const first = await mineByVerb(palace, [root], env);
  expect(first, first.stderr).toMatchObject({ code: 0, wing: "my_project", commits: 6, filed: 3, unchanged: 0 });
  expect(first).toMatchObject({ leftOut: { merges: 1, bots: 1, empty: 1 }, skipped: [] });
  expect(first.drawers).toBeGreaterThan(10);
  const rows = [...ourRows(palace).values()];
  const [hash = ""] = git(["rev-list", "--max-parents=0", "HEAD"]).split("\n");
  const filed = rows.find(({ text }) => text.startsWith("the root"));
  const at = "2026-01-31T10:01:00+01:00";
  expect(filed?.text).toBe(
    `the root\n\nSigned-off-by: Ada\n\nCommit ${hash.slice(0, 12)} by Ada, ${at}\nFiles: file-1.ts`,
  );
  expect(filed?.metadata).toMatchObject({ wing: "my_project", room: "git", content_date: "2026-01-31" });
  expect(filed?.metadata["source_mtime"]).toBe(Date.parse(at) / 1000);
  expect(rows.filter(({ text }) => text.startsWith("café\n"))).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain("example.org");

  const acknowledged = async (): Promise<number> => (await client.call("palace.status", {})).queue.acknowledged;
  const before = await acknowledged();
  expect(await mine(palace, client, root)).toMatchObject({ filed: 0, unchanged: 3 });
  expect(await acknowledged()).toBe(before);

  commit("one more");
  expect(await mine(palace, client, root)).toMatchObject({ filed: 1, unchanged: 3 });
  git(["commit", "--amend", "--no-edit"]);
  git(["rebase", "--force-rebase", "--root"], "", { GIT_COMMITTER_DATE: "2026-02-02T10:00:00Z" });
  expect(git(["rev-list", "HEAD"])).not.toContain(hash);
  expect(await mine(palace, client, root)).toMatchObject({ filed: 0, unchanged: 4 });
  git(["commit", "--amend", "-m", "one more, better"]);
  expect(await mine(palace, client, root)).toMatchObject({ filed: 1, unchanged: 3 });
  expect(subjects(palace)).toEqual(expect.arrayContaining(["one more", "one more, better"]));
  const tree = join(palace.home, "elsewhere");
  git(["worktree", "add", tree]);
  expect(await mine(palace, client, tree)).toMatchObject({ wing: "my_project", filed: 0, unchanged: 4 });
  client.close();
});

test("a killed run of `mine git` leaves whole commits, and the next run files the other commits once", async () => {
  await using palace = createTestPalace();
  const { root, git } = repositoryOf(palace, "long");
  const entries = Array.from({ length: COMMITS }, (_, at) => {
    const message = `commit ${String(at).padStart(3, "0")} of many`;
    return `commit refs/heads/main\ncommitter Ada <a@b.c> ${1_700_000_000 + at} +0000\ndata ${message.length}\n${message}\n\n`;
  });
  git(["fast-import", "--quiet"], entries.join(""));
  await palace.startBroker();
  const stopped = async (signal: NodeJS.Signals): Promise<number | null> => {
    const args = [palace.executable("palace"), "mine", "git", root, "--progress"];
    const child = spawn(process.execPath, args, { env: palace.env, stdio: ["pipe", "ignore", "pipe"] });
    // The first output shows that some commits are filed.
    await once(child.stderr, "data");
    child.kill(signal);
    const [code] = (await once(child, "close")) as [number | null];
    return code;
  };
  await stopped("SIGKILL");
  const inAfterKill = ourRows(palace).size;
  expect(inAfterKill).toBeGreaterThan(0);
  expect(await stopped("SIGINT")).toBe(130);
  const inAfterStop = ourRows(palace).size;
  expect(inAfterStop).toBeLessThan(COMMITS);
  const left = COMMITS - inAfterStop;
  const client = await palace.client();
  expect(await mine(palace, client, root)).toMatchObject({ commits: COMMITS, filed: left, unchanged: inAfterStop });
  client.close();
  expect(subjects(palace)).toEqual(entries.map((_, at) => `commit ${String(at).padStart(3, "0")} of many`));
});
