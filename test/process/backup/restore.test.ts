import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";

type Rows = { drawers: string[]; facts: number; links: number; events: number };

it.each([
  [
    "the agents' events, overwritten with other bytes",
    "logstream.sqlite3",
    (file: string) => writeFileSync(file, "x".repeat(8192)),
  ],
  ["the agents' events, with a page overwritten", "logstream.sqlite3", (file: string) => tear(file)],
  ["the agents' events, replaced by a pipe", "logstream.sqlite3", (file: string) => makePipe(file)],
  ["the tokens, replaced by a folder", "tokens.json", (file: string) => mkdirSync(file)],
])(
  "a backup names and omits a damaged file beside the ledger (%s), and contains the rest",
  async (_what, name, damage) => {
    await using palace = createTestPalace();
    await fill(palace, 3);
    await palace.run("palace", ["logstream", "append", "--from", "ada", "--body", "hello", "--type", "note"]);
    await palace.run("palace", ["stop"]);
    const { home, palaceDir } = palace.config.paths;
    const damaged = join(name === "tokens.json" ? home : palaceDir, name);
    for (const suffix of ["", "-wal", "-shm"]) rmSync(damaged + suffix, { recursive: true, force: true });
    mkdirSync(palaceDir, { recursive: true });
    damage(damaged);
    await palace.run("palace", ["start"]);
    const file = join(palace.home, "b.tar");
    const made = await palace.run("palace", ["backup", file]);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    expect(made.stdout).toContain("3 drawers");
    const verified = JSON.parse((await palace.run("palace", ["verify", file, "--json"])).stdout) as { counts: object };
    expect(verified).toMatchObject({ ok: true, counts: { drawers: 3 } });
    expect(made.stderr).toContain(`not in it: ${name}`);
    if (name === "tokens.json") return;
    expect(verified).toMatchObject({
      counts: { events: 0 },
      unreadable: [{ name, why: expect.stringContaining(damaged) as string }],
    });
    expect((await palace.run("palace", ["doctor"])).stdout).toMatch(
      /FAIL\s+events\s.*logstream\.sqlite3: .*backups leave it out/,
    );
    const restored = await palace.run("palace", ["restore", file, "--yes"]);
    expect(restored, restored.stderr).toMatchObject({ code: 0 });
    expect(restored.stderr).toContain(`not in the backup: ${name}`);
    expect(rowsOf(palace).drawers).toHaveLength(3);
  },
);

/** Makes a database of events, and overwrites its second half. The first pages stay readable. */
function tear(file: string): void {
  const events = new Database(file);
  events.exec("CREATE TABLE events (body); CREATE TABLE artifacts (body)");
  for (let row = 0; row < 100; row++) events.prepare("INSERT INTO events VALUES (?)").run("long".repeat(500));
  events.close();
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill("x", bytes.length / 2));
}

function makePipe(file: string): void {
  execFileSync("mkfifo", [file]);
}

it("a restore brings back facts, links and events after all files were destroyed", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await using shim = await palace.shim();
  await fill(palace, 40);
  await shim.call("mempalace_add_drawer", { wing: "v", room: "s", content: "the other end" });
  await shim.call("mempalace_kg_add", { subject: "Ada", predicate: "wrote", object: "notes" });
  await shim.call("mempalace_create_tunnel", {
    ...{ source_wing: "w", source_room: "r", target_wing: "v", target_room: "s", label: "both" },
  });
  await palace.run("palace", ["logstream", "append", "--from", "ada", "--body", "hello", "--type", "note"]);
  const before = rowsOf(palace);
  expect(before).toMatchObject({ facts: 1, links: 1 });
  const made = await palace.run("palace", ["backup", join(palace.home, "b.tar"), "--json"]);
  expect(JSON.parse(made.stdout)).toMatchObject({ counts: { drawers: before.drawers.length, facts: 1, links: 1 } });

  await palace.run("palace", ["stop"]);
  rmSync(palace.config.paths.home, { recursive: true });
  const restored = await palace.run("palace", ["restore", join(palace.home, "b.tar")]);
  expect(restored).toMatchObject({ code: 0 });
  expect(rowsOf(palace)).toEqual(before);
  await palace.run("palace", ["start"]);
  await using again = await palace.shim();
  expect(await again.call("mempalace_kg_query", { entity: "Ada" })).toMatchObject({ count: 1 });
  const { graphFile, tunnelsFile } = palace.config.paths;
  await expect.poll(() => existsSync(graphFile) && count(graphFile, "triples")).toBe(1);
  await expect
    .poll(() => existsSync(tunnelsFile) && (JSON.parse(readFileSync(tunnelsFile, "utf8")) as unknown[]).length)
    .toBe(1);
  expect(leftovers(palace)).toEqual([]);
});

it("a restore moves the old palace aside, and its dry run counts the drawers of the palace and of the backup", async () => {
  await using palace = createTestPalace();
  const client = await palace.client();
  const again = { wing: "w", room: "r", content: "before the backup" };
  await client.callTool("mempalace_add_drawer", again, { key: "key-1" });
  const file = join(palace.home, "b.tar");
  const settings = join(palace.config.paths.home, "settings.json");
  writeFileSync(settings, `{ "audit-days": 60 } // when the backup was made\n`);
  expect((await palace.run("palace", ["backup", file])).code).toBe(0);
  writeFileSync(settings, `{ "audit-days": 70 } // this machine's\n`);
  await client.callTool("mempalace_add_drawer", { ...again, content: "after the backup" }, { key: "key-2" });
  client.close();
  const looked = await palace.run("palace", ["restore", file, "--dry-run", "--json"]);
  expect(JSON.parse(looked.stdout)).toMatchObject({ before: { drawers: 2 }, counts: { drawers: 1 } });
  expect(rowsOf(palace).drawers).toHaveLength(2);
  const done = await palace.run("palace", ["restore", file, "--yes", "--json"]);
  const { aside, started } = JSON.parse(done.stdout) as { aside: string[]; started: boolean };
  expect(started).toBe(true);
  // Settings belong to the machine: no backup contains them, and no restore changes them.
  expect(readFileSync(settings, "utf8")).toContain("70");
  expect(readFileSync(file).includes("settings.json")).toBe(false);
  expect(rowsOf(palace).drawers).toHaveLength(1);
  expect(count(join(aside[0] ?? "", "ledger.sqlite3"), "drawer")).toBe(2);
  const next = await palace.client();
  await next.callTool("mempalace_add_drawer", again, { key: "key-1" });
  next.close();
  expect(rowsOf(palace).drawers).toHaveLength(1);
});

it("a restore replaces an unreadable palace only with --yes, and restores the door's tokens only with --with-tokens", async () => {
  await using palace = createTestPalace();
  await fill(palace, 1);
  const { home, palaceDir, ledgerFile } = palace.config.paths;
  const file = join(palace.home, "b.tar");
  await palace.run("palace", ["token", "add", "laptop", "--role", "agent"]);
  expect((await palace.run("palace", ["backup", file])).code).toBe(0);
  await palace.run("palace", ["stop"]);
  rmSync(home, { recursive: true });
  mkdirSync(palaceDir, { recursive: true });
  writeFileSync(join(palaceDir, "chroma.sqlite3"), "another's, from before");
  writeFileSync(join(palaceDir, "thesis.odt"), "mine");
  const unasked = await palace.run("palace", ["restore", file]);
  expect(unasked.code).toBe(2);
  expect(unasked.stdout).toContain("chroma.sqlite3");
  expect(existsSync(ledgerFile)).toBe(false);
  const done = await palace.run("palace", ["restore", file, "--yes"]);
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("--with-tokens") as string });
  expect(existsSync(join(home, "tokens.json"))).toBe(false);
  expect(existsSync(join(palaceDir, "thesis.odt"))).toBe(true);
  await palace.run("palace", ["restore", file, "--yes", "--with-tokens"]);
  expect(readFileSync(join(home, "tokens.json"), "utf8")).toContain("laptop");
});

it("verify and restore refuse a damaged backup and a foreign file, and change nothing", async () => {
  await using palace = createTestPalace();
  await fill(palace, 2);
  const file = join(palace.home, "b.tar");
  await palace.run("palace", ["backup", file]);
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  const foreign = join(palace.home, "foreign.tar");
  writeFileSync(foreign, readFileSync(import.meta.filename));
  const { ino } = statSync(palace.config.paths.ledgerFile);
  for (const verb of [["verify"], ["restore", "--yes"]])
    for (const unusable of [file, foreign]) {
      const refused = await palace.run("palace", [...verb, unusable, "--json"]);
      expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: "STORE_CORRUPT" } });
      expect(refused.code).toBe(7);
    }
  expect(statSync(palace.config.paths.ledgerFile).ino).toBe(ino);
  expect(leftovers(palace)).toEqual([]);
});

it.each(["backup.after-ledger", "backup.in-archive", "backup.before-rename"])(
  "a broker killed at %s leaves no backup file, and the next backup removes its temporary files",
  async (point) => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker({ MEMPALACE_FAULT: point });
    await fill(palace, 2);
    const folder = join(palace.home, "out");
    mkdirSync(folder);
    const file = join(folder, "b.tar");
    expect((await palace.run("palace", ["backup", file])).code).not.toBe(0);
    expect((await exitOf(broker))[1]).toBe("SIGKILL");
    expect(existsSync(file)).toBe(false);
    expect((await palace.run("palace", ["backup", file])).code).toBe(0);
    expect(readdirSync(folder)).toEqual(["b.tar"]);
    expect(leftovers(palace)).toEqual([]);
  },
);

it("after a kill at any step of a restore, the next broker uses the old palace or finishes the restore", async () => {
  await using palace = createTestPalace();
  await fill(palace, 3);
  const file = join(palace.home, "b.tar");
  await palace.run("palace", ["backup", file]);
  const before = ["restore.after-unpack", "restore.before-marker"];
  const after = ["restore.after-marker", "restore.after-move:1", "restore.after-move:2", "restore.before-end"];
  for (const point of [...before, ...after]) {
    await fill(palace, 5);
    const killed = await palace.run("palace", ["restore", file, "--yes"], { env: { MEMPALACE_FAULT: point } });
    expect(killed.code, point).toBeNull();
    expect((await palace.run("palace", ["start"])).code, point).toBe(0);
    expect(rowsOf(palace).drawers, point).toHaveLength(after.includes(point) ? 3 : 5);
    expect(existsSync(join(palace.config.paths.home, "restore.json")), point).toBe(false);
  }
  await palace.run("palace", ["restore", file, "--yes"]);
  expect(leftovers(palace)).toEqual([]);
});

it("an encrypted backup is restored only with its passphrase, also from a pipe, and `backup -` writes a backup to stdout", async () => {
  await using palace = createTestPalace();
  await fill(palace, 2);
  const secret = join(palace.home, "secret");
  writeFileSync(secret, "correct horse\n");
  const file = join(palace.home, "b.tar.age");
  expect((await palace.run("palace", ["backup", file, "--passphrase-file", secret])).code).toBe(0);
  expect(readFileSync(file, "latin1")).not.toContain("drawer number 1");
  expect((await palace.run("palace", ["verify", file])).code).toBe(2);
  expect((await palace.run("palace", ["verify", file], { env: { MEMPALACE_BACKUP_PASSPHRASE: "wrong" } })).code).toBe(
    7,
  );
  await fill(palace, 4);
  const done = await palace.run("palace", ["restore", file, "--yes", "--passphrase-file", secret]);
  expect(done).toMatchObject({ code: 0 });
  expect(rowsOf(palace).drawers).toHaveLength(2);
  await fill(palace, 4);
  const restore = ["restore", "-", "--yes", "--passphrase-file", secret];
  expect(await palace.run("palace", restore, { input: readFileSync(file) })).toMatchObject({ code: 0 });
  expect(rowsOf(palace).drawers).toHaveLength(2);
  const verify = ["backup", "verify", "-", "--json", "--passphrase-file", secret];
  const whole = await palace.run("palace", verify, { input: readFileSync(file) });
  expect([whole.code, JSON.parse(whole.stdout)]).toMatchObject([0, { ok: true, file: "-", encrypted: true }]);
  const piped = await palace.run("palace", ["backup", "-"]);
  expect(piped.code).toBe(0);
  expect(piped.stdout).toContain("manifest.json");
  expect(leftovers(palace)).toEqual([]);
});

/** Files the drawers with the numbers below `upTo`. Drawers that the palace already has stay unchanged. */
async function fill(palace: TestPalace, upTo: number): Promise<void> {
  const client = await palace.client();
  for (let number = 0; number < upTo; number++)
    await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: `drawer number ${number}` });
  client.close();
}

/** Files in the home that a finished backup or restore must have removed. */
function leftovers({ config }: TestPalace): string[] {
  return readdirSync(config.paths.home).filter((name) => /^\.(?:backup|restore)-|^restore\.json/.test(name));
}

function rowsOf({ config }: TestPalace): Rows {
  const ledger = new Database(config.paths.ledgerFile, { readonly: true });
  try {
    const number = (table: string): number =>
      ledger.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    return {
      drawers: ledger.prepare<[], string>("SELECT id || text || metadata FROM drawer ORDER BY row").pluck().all(),
      facts: number("kg_triple"),
      links: number("link"),
      events: existsSync(join(config.paths.palaceDir, "logstream.sqlite3"))
        ? count(join(config.paths.palaceDir, "logstream.sqlite3"), "events")
        : 0,
    };
  } finally {
    ledger.close();
  }
}

function count(file: string, table: string): number {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  } finally {
    database.close();
  }
}
