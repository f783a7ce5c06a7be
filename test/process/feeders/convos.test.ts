import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { MineReport } from "../../../src/feeders/convo-miner/run.ts";
import { SOURCE_CALL_MAX_BYTES } from "../../../src/protocol/limits.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";
import { chooserOf, claudeCodeLines, transcriptFiles } from "../../helpers/transcripts.ts";

type Report = MineReport & { code: number | null; error?: { code: string; hint: string } };

async function mine(palace: TestPalace, args: string[]): Promise<Report> {
  const { code, stdout, stderr } = await palace.run("palace", ["mine", "convos", ...args, "--json"]);
  expect(stdout, stderr).not.toBe("");
  return { code, ...(JSON.parse(stdout) as MineReport) };
}

type Row = { row: number; id: string; text: string; metadata: Record<string, unknown> };

function rowsOf(palace: TestPalace): Row[] {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger
    .prepare<[], Omit<Row, "metadata"> & { metadata: string }>("SELECT * FROM drawer ORDER BY id")
    .all();
  ledger.close();
  return rows.map(({ row, id, text, metadata }) => ({
    row,
    id,
    text,
    metadata: JSON.parse(metadata) as Row["metadata"],
  }));
}

/** Returns the drawers' ids, texts and metadata, without times. */
function content(palace: TestPalace): unknown[] {
  return rowsOf(palace).map(({ id, text, metadata }) => {
    const {
      filed_at: _filed,
      last_modified: _modified,
      source_dir_ino: _inode,
      source_mtime: _mtime,
      ...rest
    } = metadata;
    return { id, text, ...rest };
  });
}

async function acknowledged(palace: TestPalace): Promise<number> {
  const client = await palace.client();
  const { queue } = await client.call("palace.status", {});
  client.close();
  return queue.acknowledged;
}

function put(root: string, name: string, text: string): string {
  const path = join(root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function createTalks(palace: TestPalace, count = 4): string {
  const root = join(palace.home, "talks");
  for (let index = 0; index < count; index++)
    put(root, `s${index}.jsonl`, `${claudeCodeLines(chooserOf(index + 1), 6).join("\n")}\n`);
  return root;
}

const saidAt = (number: number): string => new Date(Date.UTC(2026, 0, 2, 3, number)).toISOString();

/** Returns transcript lines of `count` exchanges, numbered from `from`. Each exchange becomes one drawer. */
function exchanges(from: number, count: number): string {
  const message = (role: string, text: string, timestamp: string): string =>
    JSON.stringify({ type: role, timestamp, message: { role, content: text } });
  return Array.from({ length: count }, (_, index) => {
    const about = `number ${from + index}`;
    const time = saidAt(from + index);
    return `${message("user", `question ${about} about the broker`, time)}\n${message("assistant", `answer ${about}: ${"word ".repeat(40)}`, time)}\n`;
  }).join("");
}

test("the miner files nothing from an unchanged folder or from a file that was only touched", async () => {
  await using palace = createTestPalace();
  const root = createTalks(palace);
  put(root, "blank.txt", " \n");
  const first = await mine(palace, [root, "--wing", "talks"]);
  expect(first).toMatchObject({ code: 0, wing: "talks", files: 5, filed: 4, unchanged: 0 });
  expect(first.drawers).toBe(rowsOf(palace).length);
  const [rows, writes] = [rowsOf(palace), await acknowledged(palace)];

  expect(await mine(palace, [root, "--wing", "talks"])).toMatchObject({ filed: 0, unchanged: 4, drawers: 0 });
  utimesSync(join(root, "s0.jsonl"), 1_700_000_000, 1_700_000_000);
  expect(await mine(palace, [root, "--wing", "talks"])).toMatchObject({ filed: 0, unchanged: 4, drawers: 0 });
  rmSync(join(palace.home, ".cache/mempalace-convos"), { recursive: true });
  expect(await mine(palace, [root, "--wing", "talks"])).toMatchObject({ filed: 0, unchanged: 4, drawers: 0 });
  expect(rowsOf(palace)).toEqual(rows);
  expect(await acknowledged(palace)).toBe(writes);
});

test("the miner sends only the new part of a longer transcript", async () => {
  await using palace = createTestPalace();
  await using other = createTestPalace();
  const root = join(palace.home, "talks");
  const path = put(root, "grows.jsonl", exchanges(0, 900));
  expect(statSync(path).size).toBeGreaterThan(256 * 1024);
  await mine(palace, [root]);
  const before = new Map(rowsOf(palace).map(({ id, row }) => [id, row]));
  appendFileSync(path, exchanges(900, 5).slice(0, -20));
  expect(await mine(palace, [root])).toMatchObject({ filed: 1, drawers: 5, kept: 900 });
  writeFileSync(path, exchanges(0, 910));
  expect(await mine(palace, [root])).toMatchObject({ filed: 1 });

  // Unchanged drawers keep their rows and therefore their vectors.
  const after = rowsOf(palace);
  expect(after.filter(({ id, row }) => before.get(id) === row)).toHaveLength(900);
  await mine(other, [root]);
  expect(content(palace)).toEqual(content(other));
  expect(after.every(({ metadata }) => metadata["chunk_total"] === 910)).toBe(true);
  const times = after.map(({ text, metadata }) => [/number (\d+)/.exec(text)?.[1], metadata["authored_at"]]);
  expect(times).toEqual(times.map(([number]) => [number, saidAt(Number(number))]));
});

test("a rewritten transcript replaces its drawers, and a drawer that an agent added for the file stays", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "talks");
  const path = put(root, "a.jsonl", exchanges(0, 20));
  await mine(palace, [root]);
  await using agent = await palace.shim();
  await agent.call("mempalace_add_drawer", { wing: "talks", room: "notes", content: "by hand", source_file: path });
  writeFileSync(path, exchanges(100, 3));
  expect(await mine(palace, [root])).toMatchObject({ filed: 1, drawers: 3 });
  const texts = rowsOf(palace).map(({ text }) => text.slice(0, 20));
  expect(texts.sort()).toEqual(
    ["> question number 100", "> question number 101", "> question number 102", "by hand"].map((text) =>
      text.slice(0, 20),
    ),
  );
});

test("a partly filed source counts as not filed, and the next run completes it", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "talks");
  const path = put(root, "long.jsonl", exchanges(0, 2500));
  await palace.run("palace", ["start"]);
  const client = await palace.client();
  // Sends the first part of an import that was never finished.
  await client.call("conversation.replace", {
    ...{ wing: "talks", room: "technical", sourceFile: path, mtime: 1, sha256: "x", addedBy: "test" },
    ...{ texts: ["> of an older transcript\nthat is longer than thirty characters"], from: 0, total: 2 },
  });
  const { sources } = await client.call("source.list", { wing: "talks" });
  client.close();
  expect(sources).toEqual([]);

  expect(await mine(palace, [root])).toMatchObject({ code: 0, filed: 1, unchanged: 0, drawers: 2500 });
  expect(await mine(palace, [root])).toMatchObject({ filed: 0, unchanged: 1 });
  expect(
    rowsOf(palace)
      .map(({ metadata }) => metadata["chunk_index"])
      .sort((a, b) => Number(a) - Number(b)),
  ).toEqual(Array.from({ length: 2500 }, (_, index) => index));
});

test.each(["SIGKILL", "SIGINT"] as const)(
  "the next run of the miner continues after %s and files each exchange once",
  async (signal) => {
    await using palace = createTestPalace();
    await using other = createTestPalace();
    const root = join(palace.home, "talks");
    for (let index = 0; index < 40; index++) put(root, `${index}.jsonl`, exchanges(index * 1000, 60));
    const child = spawn(process.execPath, [palace.executable("palace"), "mine", "convos", root], {
      cwd: ROOT,
      env: palace.env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    let isSent = false;
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      if (!isSent && stderr.split("\n").length > 5) isSent = child.kill(signal);
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code, stderr).toBe(signal === "SIGKILL" ? null : 130);
    const rest = await mine(palace, [root]);
    expect(rest.code).toBe(0);
    expect(rest.filed + rest.unchanged).toBe(40);
    expect(rest.filed).toBeGreaterThan(0);
    await mine(other, [root]);
    expect(content(palace)).toEqual(content(other));
  },
);

test("a run of the miner survives the broker's death and files each exchange once", async () => {
  await using palace = createTestPalace();
  await using other = createTestPalace();
  const root = join(palace.home, "talks");
  for (let index = 0; index < 6; index++) put(root, `${index}.jsonl`, exchanges(index * 10_000, 1500));
  await palace.run("palace", ["start"]);
  const client = await palace.client();
  const { pid } = await client.call("palace.status", {});
  client.close();
  const child = spawn(process.execPath, [palace.executable("palace"), "mine", "convos", root], {
    env: palace.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let isKilled = false;
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (!isKilled && stderr.split("\n").length > 3) isKilled = process.kill(pid, "SIGKILL");
  });
  const [code] = (await once(child, "close")) as [number | null];
  expect([code, isKilled], stderr).toEqual([0, true]);
  await mine(other, [root]);
  expect(content(palace)).toEqual(content(other));
});

test("a conversation exported under a second name is filed once", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "exports");
  const talk = (about: string): object => ({
    uuid: about,
    chat_messages: [
      { sender: "human", text: `what about ${about} and the palace it is in?` },
      { sender: "assistant", text: `${about} is kept in a drawer of the palace` },
    ],
  });
  put(root, "2026-01.json", JSON.stringify([talk("one"), talk("two")]));
  put(root, "copy/2026-01 (1).json", JSON.stringify([talk("one"), talk("two")]));
  await mine(palace, [root, "--limit", "1"]);
  const again = await mine(palace, [root]);
  expect(again).toMatchObject({ filed: 0, unchanged: 1 });
  expect(again.skipped[0]?.reason).toMatch(/^the same conversation as .*2026-01\.json$/);
  put(root, "2026-02.json", JSON.stringify([talk("one"), talk("two"), talk("three")]));
  expect(await mine(palace, [root])).toMatchObject({ filed: 1, drawers: 1 });
  const texts = rowsOf(palace).map(({ text }) => text);
  for (const about of ["one", "two", "three"])
    expect(texts.filter((text) => text.includes(`what about ${about} `))).toHaveLength(1);
});

test("a vanished, blank or unreadable transcript keeps its drawers", async () => {
  await using palace = createTestPalace();
  const root = createTalks(palace, 3);
  await mine(palace, [root]);
  const rows = rowsOf(palace);
  rmSync(join(root, "s0.jsonl"));
  writeFileSync(join(root, "s1.jsonl"), "\n");
  expect(await mine(palace, [root])).toMatchObject({ files: 2, filed: 0, unchanged: 1 });
  renameSync(root, `${root}.away`);
  expect(await mine(palace, [root])).toMatchObject({ code: 8, error: { code: "FEEDER_SOURCE_UNREADABLE" } });
  expect(rowsOf(palace)).toEqual(rows);
});

test("a dry run of `mine convos` names the files that a real run would file, starts no broker and writes nothing", async () => {
  await using palace = createTestPalace();
  const root = createTalks(palace, 2);
  put(root, "blank.md", "\n");
  expect(await mine(palace, [root, "--dry-run"])).toMatchObject({ code: 0, wouldFile: ["s0.jsonl", "s1.jsonl"] });
  expect(readdirSync(palace.home)).toEqual(["talks"]);
});

test("the miner skips `.meta.json` files, tool results and subagents, and files a coding agent's own transcripts into the wing `wing_api`", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, ".claude/projects/-work");
  const talk = `${claudeCodeLines(chooserOf(1), 3).join("\n")}\n`;
  for (const name of [
    "s.jsonl",
    "s.meta.json",
    "tool-results/x.txt",
    "s/subagents/a.jsonl",
    "node_modules/x.md",
    "p.png",
  ])
    put(root, name, name === "s.jsonl" ? talk : `${name} has a text that is long enough`);
  expect(await mine(palace, [root])).toMatchObject({ wing: "wing_api", files: 1, filed: 1 });
  expect(await mine(palace, [root, "--include-subagents"])).toMatchObject({ files: 2, filed: 1, unchanged: 1 });
  expect(existsSync(join(root, "s.jsonl"))).toBe(true);
});

test("the miner files a transcript of every format", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "all");
  for (const { name, text } of transcriptFiles(5, 1)) put(root, name, text);
  await mine(palace, [root]);
  const files = new Set(rowsOf(palace).map(({ metadata }) => String(metadata["source_file"]).split("/").at(-1)));
  expect([...files].sort()).toEqual([
    ...[
      "chatgpt.json",
      "claude-ai.json",
      "claude.jsonl",
      "codex.jsonl",
      "continue.json",
      "gemini.jsonl",
      "messages.json",
    ],
    ...["notes.md", "pi.jsonl", "plain.txt", "settings.json", "short.txt", "slack.json"],
  ]);
  expect(readFileSync(join(root, "0/short.txt"), "utf8")).toMatch(/^short/);
});

test("in a palace of MemPalace 3.3.6 a conversation's drawers get ids as 3.3.6 makes them", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "talks");
  const path = put(root, "a.jsonl", exchanges(0, 3));
  const broker = await palace.startBroker();
  broker.kill("SIGTERM");
  await once(broker, "exit");
  const ledger = new Database(palace.config.paths.ledgerFile);
  ledger.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('id_recipe', 'bare')").run();
  ledger.close();
  expect(await mine(palace, [root])).toMatchObject({ filed: 1, drawers: 3 });
  expect(await mine(palace, [root, "--force"])).toMatchObject({ drawers: 0, kept: 3 });
  const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 24);
  const rows = rowsOf(palace);
  expect(rows.map(({ id }) => id).sort()).toEqual(
    [0, 1, 2].map((index) => `drawer_talks_${rows[0]?.metadata["room"]}_${hash(`${path}:exchange:${index}`)}`).sort(),
  );
  expect(rows.filter(({ metadata }) => "id_recipe" in metadata)).toEqual([]);
});

test("exchanges and memories of one transcript are filed side by side, each once", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "talks");
  const path = put(root, "a.txt", "> which one\nWe decided on Postgres because the approach is better than the rest\n");
  expect(await mine(palace, [root])).toMatchObject({ filed: 1, drawers: 1 });
  expect(await mine(palace, [root, "--extract", "general"])).toMatchObject({ filed: 1, drawers: 1 });
  for (const more of [[], ["--extract", "general"]])
    expect(await mine(palace, [root, ...more])).toMatchObject({ filed: 0, unchanged: 1 });
  const modes = (): unknown[] => rowsOf(palace).map(({ metadata }) => [metadata["extract_mode"], metadata["room"]]);
  expect(modes().sort()).toEqual([
    ["exchange", expect.any(String)],
    ["general", "decision"],
  ]);
  // The new text has nothing memorable, so its memories are deleted. Its exchange is filed again.
  writeFileSync(path, "> which one\nNothing of any note was said by anybody in here at all\n");
  expect(await mine(palace, [root, "--extract", "general"])).toMatchObject({ filed: 1, drawers: 0 });
  expect(await mine(palace, [root, "--extract", "general"])).toMatchObject({ filed: 0, unchanged: 1 });
  expect(modes()).toEqual([["exchange", expect.any(String)]]);
  await using agent = await palace.shim();
  await mine(palace, [root]);
  await agent.call("mempalace_delete_by_source", { source_file: path, dry_run: false });
  expect(await mine(palace, [root])).toMatchObject({ filed: 1 });
});

test("a session that the transcript miner and the session miner find is filed once, whichever runs first", async () => {
  const uuid = "0f8b6b60-5a0e-4c59-9d51-0a5f3a1f2b3c";
  for (const first of ["convos", "sessions"] as const) {
    await using palace = createTestPalace();
    const projects = join(palace.home, ".claude/projects");
    put(join(projects, "-home-u-app"), `${uuid}.jsonl`, exchanges(0, 5));
    const convos = (): Promise<Report> => mine(palace, [projects]);
    const sessions = async (): Promise<Report> => {
      const { code, stdout, stderr } = await palace.run("mempalace-session", ["--from", "claude-code", "--json"]);
      expect(stdout, stderr).not.toBe("");
      return { code, ...(JSON.parse(stdout) as MineReport) };
    };
    const [one, other] = first === "convos" ? [convos, sessions] : [sessions, convos];
    expect(await one()).toMatchObject({ code: 0, filed: 1 });
    const filed = content(palace);
    const second = await other();
    expect(second).toMatchObject({ code: 0, filed: 0, drawers: 0 });
    expect(second.skipped).toEqual([
      { file: expect.stringContaining(uuid), reason: expect.stringContaining("the session is filed already, from /") },
    ]);
    expect(content(palace)).toEqual(filed);
    // Each miner continues with the sessions that it filed.
    writeFileSync(join(projects, "-home-u-app", `${uuid}.jsonl`), exchanges(0, 7));
    expect(await one()).toMatchObject({ filed: 1, drawers: 2 });
  }
});

test("a sweep names the message that it cannot file, and files all others", { timeout: 120_000 }, async () => {
  await using palace = createTestPalace();
  const said = (uuid: string, content: string): string =>
    JSON.stringify({
      ...{ type: "user", uuid, sessionId: "s", timestamp: "2026-01-02T03:04:05Z" },
      message: { role: "user", content },
    });
  const long = "x".repeat(SOURCE_CALL_MAX_BYTES + 1);
  const root = put(palace.home, "sessions/a.jsonl", [said("one", "short"), said("two", long)].join("\n"));
  const { code, stdout } = await palace.run("palace", ["mine", "sweep", root]);
  expect(stdout).toMatch(/skipped +a\.jsonl: message two is too long\n1 transcript, 2 messages: 1 added/);
  expect(code).toBe(0);
});
