import { spawn } from "node:child_process";
import {
  createReadStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { encrypted } from "../../../src/memory/backup/secret.ts";
import type { Env } from "../../../src/config/env.ts";
import { drawerIds } from "../../../src/memory/drawer/drawer-id.ts";
import type { AuditEntry } from "../../../src/protocol/hygiene.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";
import { contentsOf, drawersIn, everyKind, minedFile, writeDirectly } from "../../helpers/other-memory.ts";

const WAIT = { interval: 20 };
const AT_MS = Date.UTC(2026, 2, 1);

type Answer = { rows: Record<string, { added: number; updated: number; here: number }> } & Record<string, unknown>;

/** Creates a palace whose journal keeps writes for 100 years, because the tests' writes have old dates. */
function createPalace(env: Env = {}): TestPalace {
  return createTestPalace({ env: { MEMPALACE_AUDIT_DAYS: "36500", ...env } });
}

/** Writes drawers into the ledger of a palace that no broker has opened yet. Returns the ledger's path. */
function fill(palace: TestPalace, name: string, drawers: number): string {
  const { ledgerFile } = palace.config.paths;
  mkdirSync(dirname(ledgerFile), { recursive: true });
  writeDirectly(ledgerFile, name, everyKind(name, drawers), AT_MS);
  return ledgerFile;
}

async function bring(palace: TestPalace, from: string, ...more: string[]): Promise<Answer> {
  const { code, stdout, stderr } = await palace.run("palace", ["import", from, "--json", ...more]);
  if (code !== 0) expect.fail(stdout + stderr);
  return JSON.parse(stdout) as Answer;
}

function sum({ rows }: Answer, of: "added" | "updated" | "here"): number {
  return Object.values(rows).reduce((all, row) => all + row[of], 0);
}

async function undo(palace: TestPalace, joined: Answer): Promise<Record<string, unknown>> {
  const { client = "", since = "" } = joined["undo"] as Record<string, string>;
  const args = ["undo", "--client", client, "--since", since, "--yes", "--json"];
  const { code, stdout } = await palace.run("palace", args);
  const { items: _items, ...done } = JSON.parse(stdout) as Record<string, unknown>;
  return { code, ...done };
}

test("two memories merge in both directions, and undo reverts exactly the import", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  const [hostLedger, stackLedger] = [fill(host, "host", 600), fill(stack, "stack", 200)];
  const hostBefore = contentsOf(hostLedger);
  const [hostOwn, stackOwn] = [contentsOf(hostLedger, "host"), contentsOf(stackLedger, "stack")];
  const stackBefore = contentsOf(stackLedger);
  const { home } = host.config.paths;

  const dry = await bring(stack, home, "--dry-run");
  const nothing = { kept: [], keptSources: [], gone: [], beside: [], refused: [] };
  expect(dry).toMatchObject({ dryRun: true, complete: true, kind: "home", ...nothing });
  expect(dry.rows["drawer"]?.added).toBeGreaterThan(600);
  expect(contentsOf(stackLedger)).toEqual(stackBefore);

  const first = await bring(stack, home);
  expect(first.rows).toEqual(dry.rows);
  expect(contentsOf(stackLedger, "host")).toEqual(hostOwn);
  expect(contentsOf(stackLedger, "stack")).toEqual(stackOwn);
  expect(contentsOf(hostLedger)).toEqual(hostBefore);
  const joined = contentsOf(stackLedger);

  const again = await bring(stack, home);
  expect([sum(again, "added"), sum(again, "updated"), sum(again, "here")]).toEqual([0, 0, sum(first, "added") + 1]);
  expect(contentsOf(stackLedger)).toEqual(joined);

  const file = join(host.home, "stack.tar");
  expect((await stack.run("palace", ["backup", file])).code).toBe(0);
  expect(await bring(host, file)).toMatchObject({ kind: "backup", ...nothing });
  expect(contentsOf(hostLedger)).toEqual(joined);

  expect(await undo(stack, first)).toMatchObject({ code: 0, refused: 0, too_old: 0 });
  expect(contentsOf(stackLedger)).toEqual(stackBefore);
  expect(readdirSync(stack.config.paths.cacheDir).filter((name) => name.startsWith("import-"))).toEqual([]);
});

const CLIENT_STEPS = ["import.after-open", "import.after-preview", "import.after-part:2"];
const BROKER_STEPS = [
  ...["admit.before-queue:2", "commit.after-apply:2", "commit.before-commit:3", "commit.after-sync:2"],
  "acknowledge.before-reply:2",
];

test("the next import finishes an import killed at any step, without lost or doubled drawers", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  const [hostLedger, stackLedger] = [fill(host, "host", 250), fill(stack, "stack", 30)];
  const [hostOwn, stackBefore] = [contentsOf(hostLedger, "host"), contentsOf(stackLedger)];
  const { home } = host.config.paths;
  for (const fault of [...CLIENT_STEPS, ...BROKER_STEPS]) {
    const isClient = CLIENT_STEPS.includes(fault);
    if (!isClient) await stack.run("palace", ["stop"]);
    const broker = isClient ? undefined : await stack.startBroker({ MEMPALACE_FAULT: fault });
    const env = isClient ? { MEMPALACE_FAULT: fault } : {};
    const killed = await stack.run("palace", ["import", home, "--json"], { env });
    if (broker === undefined) expect([fault, killed.code]).toEqual([fault, null]);
    else expect([fault, ...(await exitOf(broker))]).toEqual([fault, null, "SIGKILL"]);
    const rest = await bring(stack, home);
    expect([fault, rest["gone"], rest["beside"]]).toEqual([fault, [], []]);
    expect([fault, contentsOf(stackLedger, "host")]).toEqual([fault, hostOwn]);
    expect([fault, await undo(stack, rest)]).toMatchObject([fault, { code: 0, refused: 0 }]);
    expect([fault, contentsOf(stackLedger)]).toEqual([fault, stackBefore]);
  }
  const drafts = (): string[] => readdirSync(stack.config.paths.cacheDir).filter((name) => name.startsWith("import-"));
  expect(drafts()).toEqual([]);
});

test("import takes the new version of a drawer that one side changed, and keeps both versions if both sides changed it", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  const notes = ["same", "edited here", "edited there", "edited on both sides", "deleted here later"].map(
    (content) => ({
      ...{ method: "add_drawer", params: { wing: "w", room: "r", content } },
    }),
  );
  const idOf = (content: string): string => drawerIds("v3", "w", "r", content)[0];
  const edit = (content: string, to: string) => ({
    ...{ method: "update_drawer", params: { drawer_id: idOf(content), content: to } },
  });
  const long = (side: string): string => `${side} version `.repeat(200);
  const file = (side: string, mtime: number) =>
    minedFile("/src/a.md", `# Title\n\n${side} text of a file. `.repeat(80), mtime);
  const fact = { subject: "Max", predicate: "works at", object: "Acme", valid_from: "2025-01-01" };
  const worked = (content: string) => ({
    ...{ method: "score_memories", params: { outcome: "unknown", memory_scores: { [idOf(content)]: "worked" } } },
  });
  const open = (atMs: number, palace: TestPalace, calls: Parameters<typeof writeDirectly>[2]): void => {
    mkdirSync(dirname(palace.config.paths.ledgerFile), { recursive: true });
    writeDirectly(palace.config.paths.ledgerFile, "agent", calls, atMs);
  };
  open(AT_MS, host, [
    ...notes,
    ...[edit("edited there", "edited, over there"), edit("edited on both sides", long("their"))],
    ...[file("their", 10), { method: "kg_add", params: fact }],
    { method: "kg_invalidate", params: { ...fact, ended: "2026-01-01" } },
    ...[worked("same"), worked("edited there")],
  ]);
  open(AT_MS + 86_400_000, stack, [
    ...notes.filter(({ params }) => params.content !== "deleted here later"),
    ...[edit("edited here", "edited, over here"), edit("edited on both sides", long("our"))],
    ...[file("our", 20), { method: "kg_add", params: fact }],
    worked("edited there"),
  ]);
  const dry = await bring(stack, host.config.paths.home, "--dry-run");
  const joined = await bring(stack, host.config.paths.home);
  expect(joined["rows"]).toEqual(dry.rows);
  expect(joined).toMatchObject({
    kept: [idOf("edited here"), idOf("edited there")],
    keptSources: ["/src/a.md"],
    beside: [{ id: idOf("edited on both sides") }],
    rows: {
      standing: { added: 1, updated: 0 },
      drawer: { updated: 1 },
      triple: { added: 0, updated: 1 },
      source: { added: 0 },
      closet: { added: 0 },
    },
  });
  await using shim = await stack.shim();
  const text = async (id: string): Promise<unknown> =>
    (await shim.call("mempalace_get_drawer", { drawer_id: id }))["content"];
  const { stdout } = await stack.run("palace", ["history", "--json", "--limit", "100"]);
  const { entries } = JSON.parse(stdout) as { entries: AuditEntry[] };
  const [theirs, ours] = [true, false].map((isTheirs) =>
    entries.filter(({ agent, imported_from: from }) => agent === "agent" && (from !== undefined) === isTheirs),
  );
  expect([theirs?.length, ours?.length, theirs?.[0]?.imported_from]).toEqual([12, 9, host.config.paths.home]);
  expect(entries.map(({ at_ms: atMs }) => atMs)).toEqual(
    entries.map(({ at_ms: atMs }) => atMs).toSorted((a, b) => b - a),
  );
  const listed = await stack.run("palace", ["history", "--tool", "kg_invalidate"]);
  expect(listed.stdout).toContain(`subject Max, predicate works at, object Acme`);
  expect(listed.stdout).toContain(`imported from ${host.config.paths.home}`);
  const [{ as: beside }] = joined["beside"] as [{ as: string }];
  expect(
    await Promise.all([...["edited here", "edited there", "edited on both sides"].map(idOf), beside].map(text)),
  ).toEqual([...["edited, over here", "edited, over there", long("our"), long("their")]]);
  expect(await shim.call("mempalace_kg_query", { entity: "Max" })).toMatchObject({ count: 1, active_facts: [] });
  const state = contentsOf(stack.config.paths.ledgerFile);
  expect(state.source).toMatch(/^1 /);

  // Importing back into the host adds no row that came from the host, and keeps both texts of the drawer that both sides edited.
  const back = await bring(host, stack.config.paths.home);
  expect(back).toMatchObject({ beside: [{ id: idOf("edited on both sides") }], rows: { standing: { updated: 1 } } });
  expect([sum(await bring(stack, host.config.paths.home), "added"), contentsOf(stack.config.paths.ledgerFile)]).toEqual(
    [0, state],
  );

  await shim.call("mempalace_delete_drawer", { drawer_id: idOf("deleted here later") });
  expect(await bring(stack, host.config.paths.home)).toMatchObject({
    ...{ gone: [idOf("deleted here later")], rows: { drawer: { added: 0 } } },
  });
});

test("import keeps the newer drawers of a mined file, adds a note about that file, and refuses only rows with invalid metadata", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  const text = (side: string): string => `# Title\n\n${side} text of a file. `.repeat(80);
  const note = (content: string) => ({
    ...{ method: "add_drawer", params: { wing: "w", room: "r", content, source_file: "/src/a.md" } },
  });
  for (const [palace, calls] of [
    [host, [minedFile("/src/a.md", text("their"), 10), ...["mine", "null", "nan"].map(note)]],
    [stack, [minedFile("/src/a.md", text("our"), 20)]],
  ] as const) {
    mkdirSync(dirname(palace.config.paths.ledgerFile), { recursive: true });
    writeDirectly(palace.config.paths.ledgerFile, "agent", calls, AT_MS);
  }
  const ledger = new Database(host.config.paths.ledgerFile);
  const spoil = ledger.prepare("UPDATE drawer SET metadata = rtrim(metadata, '}') || ? WHERE text = ?");
  // SQLite reads NaN, which Python writes, but JSON.parse does not.
  expect([spoil.run(',"odd":null}', "null").changes, spoil.run(',"odd":NaN}', "nan").changes]).toEqual([1, 1]);
  ledger.close();
  const joined = await bring(stack, host.config.paths.home);
  const why = "its metadata cannot be read";
  expect(joined).toMatchObject({
    ...{ keptSources: ["/src/a.md"], rows: { drawer: { added: 1, updated: 0 } } },
    refused: ["null", "nan"].map((content) => ({ id: drawerIds("v3", "w", "r", content)[0], why })),
  });
});

test("an admin's token may import an encrypted backup over TCP, and an agent's token may not", async () => {
  const port = await freePort();
  await using host = createPalace();
  await using stack = createPalace({ MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` });
  const hostOwn = contentsOf(fill(host, "host", 60), "host");
  const secret = { MEMPALACE_BACKUP_PASSPHRASE: "a b c" };
  const [plain, file] = [join(host.home, "b.tar"), join(host.home, "b.tar.age")];
  expect(await host.run("palace", ["backup", plain])).toMatchObject({ code: 0 });
  // Derives the key in few rounds: with the usual number of rounds, each of the four reads below would take seconds.
  await writeFile(file, await encrypted(createReadStream(plain), secret.MEMPALACE_BACKUP_PASSPHRASE, 10));
  await stack.startBroker();
  const elsewhere = async (role: string): Promise<Env> => {
    const { stdout } = await stack.run("palace", ["token", "add", role, "--role", role, "--json"]);
    const { token } = JSON.parse(stdout) as { token: string };
    return {
      HOME: join(stack.home, "elsewhere"),
      MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
      MEMPALACE_TOKEN: token,
    };
  };
  const bringAs = async (env: Env): Promise<{ code: number | null; answer: Answer }> => {
    const { code, stdout } = await stack.run("palace", ["import", file, "--json"], { env });
    return { code, answer: JSON.parse(stdout) as Answer };
  };
  const agent = await elsewhere("agent");
  expect(await bringAs({ ...agent, ...secret })).toMatchObject({ answer: { error: { code: "BROKER_DENIED" } } });
  const admin = await elsewhere("admin");
  expect(await bringAs({ ...admin, MEMPALACE_BACKUP_PASSPHRASE: "other" })).toMatchObject({ answer: { error: {} } });
  const done = await bringAs({ ...admin, ...secret });
  expect(done).toMatchObject({
    code: 0,
    answer: { kind: "backup", undo: { client: expect.stringMatching(/^admin:/) as string } },
  });
  expect(contentsOf(stack.config.paths.ledgerFile, "host")).toEqual(hostOwn);
  expect(await undo(stack, done.answer)).toMatchObject({ code: 0, refused: 0 });
  expect(contentsOf(stack.config.paths.ledgerFile, "host").drawer).toMatch(/^0 /);
});

test("import refuses its own palace, a memory of a newer version, a damaged memory and a path without a memory", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  const [hostLedger, stackLedger] = [fill(host, "host", 60), fill(stack, "stack", 10)];
  const before = contentsOf(stackLedger);
  const refusedWith = async (from: string): Promise<unknown> => {
    const { code, stdout } = await stack.run("palace", ["import", from, "--json"]);
    const { error } = JSON.parse(stdout) as { error?: { code: string; hint: string } };
    expect([from, code === 0, error?.hint]).toEqual([from, false, expect.stringContaining(" ")]);
    expect(contentsOf(stackLedger)).toEqual(before);
    return error?.code;
  };
  const own = stack.config.paths;
  expect(await refusedWith(own.home)).toBe("CONFIG_USAGE");
  expect(await refusedWith(join(host.home, "absent"))).toBe("CONFIG_USAGE");
  expect(await refusedWith(host.home)).toBe("CONFIG_USAGE");
  const file = join(host.home, "cut.tar");
  await host.run("palace", ["backup", file]);
  await host.run("palace", ["stop"]);
  truncateSync(file, statSync(file).size - 2048);
  expect(await refusedWith(file)).toBe("STORE_CORRUPT");
  const ledger = new Database(hostLedger);
  const version = Number(ledger.pragma("user_version", { simple: true }));
  ledger.pragma(`user_version = ${version + 1}`);
  expect(await refusedWith(host.config.paths.home)).toBe("PROTOCOL_VERSION_MISMATCH");
  ledger.pragma(`user_version = ${version}`);
  ledger.pragma("journal_mode = DELETE");
  ledger.close();
  const bytes = readFileSync(hostLedger);
  writeFileSync(hostLedger, bytes.fill(0x5a, 4096, 4096 * 12));
  expect(await refusedWith(host.config.paths.home)).toBe("STORE_CORRUPT");
  expect(readFileSync(hostLedger).equals(bytes)).toBe(true);
});

test("import reads a consistent snapshot while agents write, and after Ctrl-C the next import brings the rest", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  fill(host, "host", 500);
  await host.startBroker();
  await using writer = await host.shim();
  const filed: string[] = [];
  let isOver = false;
  const write = async (): Promise<void> => {
    const note = { wing: "live", room: "r", content: `live ${filed.length}` };
    filed.push(String((await writer.call("mempalace_add_drawer", note))["drawer_id"]));
  };
  await write();
  const load = (async () => {
    while (!isOver) await write();
  })();
  await stack.startBroker();
  const { ledgerFile } = stack.config.paths;
  const cut = spawn(process.execPath, [stack.executable("palace"), "import", host.config.paths.home], {
    ...{ env: stack.env, stdio: "ignore" },
  });
  // Waits until the import has begun to write, or has already finished on a fast machine.
  await expect.poll(() => cut.exitCode !== null || drawersIn(ledgerFile) > 0, WAIT).toBe(true);
  cut.kill("SIGINT");
  expect([0, 130]).toContain((await exitOf(cut))[0]);
  await bring(stack, host.config.paths.home);
  isOver = true;
  await load;
  expect(contentsOf(ledgerFile, '"live"').drawer).not.toMatch(/^0 /);
  expect(await bring(stack, host.config.paths.home)).toMatchObject({ complete: true, kept: [], beside: [] });
  expect(contentsOf(ledgerFile)).toEqual(contentsOf(host.config.paths.ledgerFile));
});

test("an import from an export and from MemPalace's own palace brings drawers, facts and tunnels; an import from a home brings everything else too", async () => {
  await using host = createPalace();
  await using stack = createPalace();
  fill(host, "host", 60);
  const { home, ledgerFile } = host.config.paths;
  await host.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(join(host.home, "model")) });
  const dir = join(host.home, "copy");
  const made = await host.run("palace", ["export", dir, "--without-chroma", "--json"]);
  const { drawers, graph } = JSON.parse(made.stdout) as { drawers: number; graph: { facts: number; tunnels: number } };
  const before = statSync(join(dir, "chroma.sqlite3")).mtimeMs;
  const exported = await bring(stack, dir);
  expect(exported).toMatchObject({
    kind: "mempalace",
    rows: { drawer: { added: drawers }, triple: { added: graph.facts }, tunnel: { added: graph.tunnels } },
  });
  expect([drawers > 60, graph.facts, graph.tunnels]).toEqual([true, 2, 1]);
  expect([statSync(join(dir, "chroma.sqlite3")).mtimeMs, readdirSync(dir).includes("ledger.sqlite3")]).toEqual([
    before,
    false,
  ]);

  // The home has data that MemPalace does not keep: outcomes and filing records.
  const whole = await bring(stack, home);
  expect(whole).toMatchObject({
    beside: [],
    rows: {
      drawer: { added: 0 },
      triple: { added: 0 },
      tunnel: { added: 0 },
      standing: { added: 2 },
      source: { added: 2 },
    },
  });
  expect(contentsOf(stack.config.paths.ledgerFile, "host").standing).toEqual(contentsOf(ledgerFile, "host").standing);

  await expect.poll(() => host.run("palace", ["status", "--json"]).then(({ stdout }) => lagOf(stdout)), WAIT).toBe(0);
  await host.run("palace", ["stop"]);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${ledgerFile}${suffix}`, { force: true });
  expect(await bring(stack, home)).toMatchObject({
    ...{ kind: "mempalace", beside: [], rows: { drawer: { added: 0, here: drawers }, triple: { added: 0 } } },
  });
});

function lagOf(status: string): number {
  const { driver, graph } = JSON.parse(status) as Record<"driver" | "graph", { lag: number }>;
  return driver.lag + graph.lag;
}
