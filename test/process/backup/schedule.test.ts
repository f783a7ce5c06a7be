import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/** Backup interval of 0.36 s, in hours. */
const OFTEN = "0.0001";

it("the broker makes backups by itself and keeps the newest two, and doctor warns if the next backup is late", async () => {
  await using palace = createTestPalace();
  const dir = join(palace.home, "backups");
  const env = { MEMPALACE_BACKUP_DIR: dir, MEMPALACE_BACKUP_HOURS: OFTEN, MEMPALACE_BACKUP_KEEP: "2" };
  await palace.startBroker(env);
  const first = await seen(dir, 1);
  await expect.poll(() => seenNow(dir).includes(first[0] ?? "") || seenNow(dir).length).toBe(2);
  await palace.run("palace", ["stop"]);
  expect(await palace.run("palace", ["verify"], { env })).toMatchObject({ code: 0 });
  // Polls, because the next backup is late only after one and a half intervals.
  await expect
    .poll(() => backupsCheck(palace, env))
    .toMatchObject({ state: "warn", hint: expect.stringContaining("palace backup") as string });
});

it("doctor reports a backup that failed, until the next backup succeeds", async () => {
  await using palace = createTestPalace();
  const dir = join(palace.home, "backups");
  writeFileSync(dir, "a file stands there");
  const env = { MEMPALACE_BACKUP_DIR: dir, MEMPALACE_BACKUP_HOURS: "0.001" };
  await palace.startBroker(env);
  const list = join(palace.config.paths.home, "backups.json");
  await expect.poll(() => existsSync(list) && readFileSync(list, "utf8").includes('"message"')).toBe(true);
  expect(await backupsCheck(palace, env)).toMatchObject({
    state: "warn",
    detail: expect.stringContaining("failed") as string,
  });
  rmSync(dir);
  await seen(dir, 1);
  await expect.poll(() => readFileSync(list, "utf8").includes('"failure": null')).toBe(true);
});

it("forget names the backups with a forgotten text, and rewrites them with --rewrite-backups", async () => {
  await using palace = createTestPalace();
  await using shim = await palace.shim();
  const { drawer_id: id } = await shim.call("mempalace_add_drawer", {
    wing: "w",
    room: "r",
    content: "a plum that is to go",
  });
  await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "a pear that stays" });
  const folder = join(palace.home, "elsewhere");
  mkdirSync(folder);
  const file = join(folder, "b.tar");
  await palace.run("palace", ["backup", file]);
  // `forget` must report this file, which is not a backup, and leave it unchanged.
  const taken = join(folder, "c.tar");
  await palace.run("palace", ["backup", taken]);
  writeFileSync(taken, "notes on a plum that is to go");
  await palace.run("palace", ["backup", "-"]);
  expect(readFileSync(file, "latin1")).toContain("a plum that is to go");

  const looked = await palace.run("palace", ["forget", String(id), "--dry-run", "--json"]);
  expect(JSON.parse(looked.stdout)).toMatchObject({
    files: expect.arrayContaining([{ path: file, what: "backup" }]) as unknown,
  });
  const done = await palace.run("palace", ["forget", String(id), "--yes", "--rewrite-backups", "--json"]);
  expect(JSON.parse(done.stdout)).toMatchObject({
    rewritten: [{ path: file, what: "backup" }],
    left: expect.arrayContaining([{ path: taken, what: "backup" }]) as unknown,
    notes: expect.arrayContaining([expect.stringContaining("went into a pipe")]) as unknown,
  });
  expect(readFileSync(taken, "utf8")).toBe("notes on a plum that is to go");
  expect(readFileSync(file, "latin1")).not.toContain("a plum that is to go");
  expect(readFileSync(file, "latin1")).toContain("a pear that stays");
  expect((await palace.run("palace", ["verify", file])).code).toBe(0);
});

it("config set and backup say how to make a missing backup folder", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const dir = join(palace.home, "two", "levels");
  const set = await palace.run("palace", ["config", "set", "backup-dir", dir]);
  expect(set.stdout).toContain("palace restart");
  expect(set.stderr).toContain(`mkdir -p ${dir}`);
  expect((await palace.run("palace", ["backup"])).stderr).toContain(`mkdir -p ${dir}`);
  mkdirSync(dir, { recursive: true });
  const made = await palace.run("palace", ["backup"]);
  expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/by itself.*palace restart/) as string });
  expect(made.stdout).toContain(join(dir, seenNow(dir)[0] ?? "nothing"));
  expect((await palace.run("palace", ["restart"])).code).toBe(0);
  const later = await palace.run("palace", ["backup"]);
  expect(later.code, later.stderr).toBe(0);
  expect(later.stderr).not.toContain("palace restart");
  expect((await palace.run("palace", ["stop"])).code).toBe(0);
});

function seenNow(dir: string): string[] {
  return existsSync(dir)
    ? readdirSync(dir)
        .filter((name) => /^palace-.*\.tar$/.test(name))
        .sort()
    : [];
}

async function seen(dir: string, least: number): Promise<string[]> {
  await expect.poll(() => seenNow(dir).length).toBeGreaterThanOrEqual(least);
  return seenNow(dir);
}

async function backupsCheck(palace: TestPalace, env: Record<string, string>): Promise<unknown> {
  const { stdout } = await palace.run("palace", ["doctor", "--json"], { env });
  const { checks } = JSON.parse(stdout) as { checks: { name: string }[] };
  return checks.find(({ name }) => name === "backups");
}
