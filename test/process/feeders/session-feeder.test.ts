import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { SessionReport } from "../../../src/feeders/session-miner/file-sessions.ts";
import {
  assistant,
  called,
  createOpencodeDatabase,
  fillOpencode,
  openOpencode2Database,
  type OpencodeDatabase,
  said,
  thought,
  user,
} from "../../helpers/opencode-database.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

type Report = SessionReport & { code: number | null; error?: { code: string; message: string; hint: string } };

async function feed(palace: TestPalace, args: string[] = [], env = {}): Promise<Report> {
  const { code, stdout, stderr } = await palace.run("mempalace-session", [...args, "--json"], { env });
  expect(stdout, stderr).not.toBe("");
  return { code, ...(JSON.parse(stdout) as SessionReport) };
}

const databaseOf = (palace: TestPalace): OpencodeDatabase =>
  createOpencodeDatabase(join(palace.home, ".local/share/opencode/opencode.db"));
const stageOf = (palace: TestPalace, wing: string): string => join(palace.home, ".cache/mempalace-session", wing);

type Row = { row: number; id: string; wing: string; text: string; source_file: string };

function rowsOf(palace: TestPalace): Row[] {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const rows = ledger.prepare<[], Row>("SELECT row, id, wing, text, source_file FROM drawer ORDER BY row").all();
  ledger.close();
  return rows;
}

/** Makes one session with every kind of entry that opencode keeps. */
function addTalk(database: OpencodeDatabase, id: string, directory = "/home/u/My-App"): void {
  database.addSession({ id, title: "Fix the\nbroker", directory });
  database.addMessage(id, { role: "user", agent: "build" }, [
    { type: "text", text: "Why does the broker fail?" },
    { type: "text", text: "injected by a plugin", synthetic: true },
    { type: "file", mime: "text/plain", filename: "log.txt", url: "file:///tmp/log.txt" },
  ]);
  database.addMessage(
    id,
    ...assistant(
      thought("It may be the lock."),
      called("bash", { command: "ls -la" }, "a\nb"),
      called("read", { filePath: "/src/lock.ts", offset: 5, limit: 10 }, "file content"),
      called("palace_search", { query: "lock" }, "found"),
      said("The lock was stale."),
    ),
  );
  database.addMessage(id, ...user("Thanks, fix it."));
  database.addMessage(
    id,
    ...assistant(
      {
        type: "tool",
        tool: "edit",
        callID: "e",
        state: { status: "error", input: { filePath: "/x" }, error: "no such file" },
      },
      { type: "patch", hash: "h", files: ["/x"] },
      { type: "unheard-of", x: 1 },
    ),
  );
  database.addMessage(id, { role: "user" }, [{ type: "compaction", auto: true }]);
  database.addMessage(id, { role: "assistant", summary: true }, [said("a summary of everything")]);
  database.addMessage(id, { role: "assistant", error: { name: "APIError", data: { message: "overloaded" } } }, []);
}

test("a session becomes a transcript with a header turn, tool pairs and reasoning, and a search finds it", async () => {
  await using palace = createTestPalace();
  const database = databaseOf(palace);
  addTalk(database, "ses_one");
  const report = await feed(palace);
  database.close();
  expect(report).toMatchObject({ code: 0, sessions: 1, tooShort: 0, wings: ["my_app"], filed: 1 });

  const folder = stageOf(palace, "my_app");
  expect(readdirSync(folder)).toEqual(["opencode-2026-01-02-ses_one.jsonl"]);
  const lines = readFileSync(join(folder, "opencode-2026-01-02-ses_one.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; message: { content: unknown } });
  const [header, question] = lines;
  expect(header).toMatchObject({ type: "user", sessionId: "ses_one", parentUuid: null, cwd: "/home/u/My-App" });
  expect(header?.message.content).toBe(
    "[session] Fix the broker\nAgent: opencode 1.18.33\nProject: /home/u/My-App\nStarted: 2026-01-02T03:04:06.000Z\nSession: ses_one",
  );
  expect(question?.message.content).toBe("Why does the broker fail?\n[file log.txt]");
  const blocks = lines.slice(2).flatMap(({ message }) => message.content as Record<string, unknown>[]);
  const calls = blocks.filter(({ type }) => type === "tool_use");
  expect(calls.map(({ name }) => name)).toEqual(["Bash", "Read", "palace_search", "Edit"]);
  expect(calls[1]?.["input"]).toEqual({ file_path: "/src/lock.ts", offset: 5, limit: 10 });
  const results = blocks.filter(({ type }) => type === "tool_result");
  expect(results.map((result) => result["tool_use_id"])).toEqual(calls.map(({ id }) => id));
  expect(results.map((result) => result["is_error"])).toEqual([false, false, false, true]);

  const text = rowsOf(palace)
    .map((row) => row.text)
    .join("\n\n");
  expect(text).toContain(
    '[reasoning] It may be the lock.\n[Bash] ls -la\n→ a\n→ b\n[Read /src/lock.ts:5-15]\n[palace_search] {"query":"lock"}\n→ found\nThe lock was stale.',
  );
  expect(text).not.toMatch(/injected|a summary|secret|file content|overloaded/);
  await using agent = await palace.shim();
  const { results: hits } = (await agent.call("mempalace_search", { query: "stale lock", wing: "my_app" })) as {
    results: { text: string }[];
  };
  expect(hits[0]?.text).toContain("The lock was stale.");
});

test("sessions of opencode 2 and of 1.x are filed once, and the report counts each kind", async () => {
  await using palace = createTestPalace();
  const first = databaseOf(palace);
  first.addSession({ id: "ses_old" });
  for (let at = 0; at < 3; at++) first.addMessage("ses_old", ...user(`the old one says ${at}`));
  const second = openOpencode2Database(first.file);
  second.addSession({ id: "ses_new" });
  for (let at = 0; at < 3; at++) second.add("ses_new", "user", { text: `the new one says ${at}` });
  expect(await feed(palace)).toMatchObject({ filed: 2, generations: { "opencode 1": 1, "opencode 2": 1 } });
  second.add("ses_new", "user", { text: "and one more thing" });
  const { stdout } = await palace.run("mempalace-session", []);
  expect(stdout).toContain("1 of opencode 1 and 1 of opencode 2");
  second.close();
  first.close();
  const texts = rowsOf(palace).map(({ text }) => text);
  for (const said of ["the old one says 2", "the new one says 2", "and one more thing"])
    expect(
      texts.filter((text) => text.includes(said)),
      said,
    ).toHaveLength(1);
});

test("sessions that have not changed are not filed again, and only the new part of a continued session is filed", async () => {
  await using palace = createTestPalace();
  const database = databaseOf(palace);
  fillOpencode(database, { sessions: 6, messages: 60, seed: 3 });
  const first = await feed(palace, ["--wing", "talks"]);
  expect(first).toMatchObject({ sessions: 6, filed: 6, unchanged: 0 });
  const [rows, names] = [rowsOf(palace), readdirSync(stageOf(palace, "talks"))];
  const times = names.map((name) => statSync(join(stageOf(palace, "talks"), name)).mtimeMs);
  expect(await feed(palace, ["--wing", "talks"])).toMatchObject({ filed: 0, unchanged: 6, drawers: 0 });
  expect(rowsOf(palace)).toEqual(rows);

  database.addMessage("ses_000002", ...user("One more thing about the palace and its drawers."));
  const running = {
    type: "tool",
    tool: "bash",
    callID: "c",
    state: { status: "running", input: { command: "sleep 1" } },
  };
  const message = database.addMessage("ses_000002", { role: "assistant" }, [running]);
  const grown = await feed(palace, ["--wing", "talks"]);
  expect(grown).toMatchObject({ filed: 1, unchanged: 5 });
  expect(grown.drawers).toBeLessThanOrEqual(2);
  // Changes only a part of a message. The session's own time stays the same.
  database.endTool(message, { status: "completed", input: { command: "sleep 1" }, output: "slept well" });
  expect(await feed(palace, ["--wing", "talks"])).toMatchObject({ filed: 1, unchanged: 5 });
  expect(rowsOf(palace).filter(({ text }) => text.includes("→ slept well"))).toHaveLength(1);
  const kept = new Set(rowsOf(palace).map(({ row }) => row));
  expect(rows.filter(({ row }) => !kept.has(row)).length).toBeLessThanOrEqual(1);

  // Deletes the staging area. The feeder makes the same files again, one with another time, and sends no session again.
  const bytes = names.map((name) => readFileSync(join(stageOf(palace, "talks"), name), "utf8"));
  rmSync(join(palace.home, ".cache/mempalace-session"), { recursive: true });
  expect(await feed(palace, ["--wing", "talks"])).toMatchObject({ filed: 0, unchanged: 6 });
  expect(readdirSync(stageOf(palace, "talks"))).toEqual(names);
  expect(names.map((name) => readFileSync(join(stageOf(palace, "talks"), name), "utf8"))).toEqual(bytes);
  const again = names.map((name) => statSync(join(stageOf(palace, "talks"), name)).mtimeMs);
  expect(again.filter((time, index) => time !== times[index])).toHaveLength(1);
  database.close();
});

test("filters choose sessions, and subagents are left out unless asked for", async () => {
  await using palace = createTestPalace();
  const database = databaseOf(palace);
  addTalk(database, "ses_long");
  database.addSession({ id: "ses_short" });
  database.addMessage("ses_short", ...user("hello there, broker"));
  database.addMessage("ses_short", ...assistant(said("hello to you")));
  database.addSession({ id: "ses_child", parent: "ses_long" });
  for (let index = 0; index < 4; index++) database.addMessage("ses_child", ...user(`question ${index} of a subagent`));
  database.addSession({ id: "ses_old", createdMs: Date.UTC(2024, 0, 1) });
  for (let index = 0; index < 4; index++)
    database.addMessage("ses_old", ...user(`old question ${index} about it`), Date.UTC(2024, 0, 1, 1));
  database.close();
  const names = async (...args: string[]): Promise<string[]> =>
    (await feed(palace, ["--dry-run", ...args])).wouldFile ?? [];
  expect(await names()).toHaveLength(2);
  expect(await names("--min-messages", "2")).toHaveLength(3);
  expect(await names("--min-messages", "2", "--session", "ses_short")).toEqual([
    "project: Session ses_short (2 messages)",
  ]);
  expect(await names("--since", "2025-01-01")).toEqual(["my_app: Fix the\nbroker (4 messages)"]);
  expect(await names("--include-subagents", "--wing", "x")).toHaveLength(3);
  expect(readdirSync(palace.home).sort()).toEqual([".local"]);
  expect(await feed(palace, ["--no-repair"])).toMatchObject({ sessions: 3, tooShort: 1, filed: 2 });
  // A session that was too short is filed when --min-messages allows it.
  expect(await feed(palace, ["--min-messages", "1"])).toMatchObject({ tooShort: 0, filed: 1, unchanged: 2 });
  expect(await feed(palace, ["--session", "nobody"])).toMatchObject({ code: 2, error: { code: "CONFIG_BAD_VALUE" } });
  expect(await feed(palace, ["--since", "yesterday"])).toMatchObject({ code: 2, error: { code: "CONFIG_USAGE" } });
});

test("mempalace-session reads the database while opencode writes it, and never changes the database", async () => {
  await using palace = createTestPalace();
  const database = databaseOf(palace);
  fillOpencode(database, { sessions: 30, messages: 300, seed: 4 });
  // The database file has only its first page: after a normal run of opencode all data is still in the write-ahead log.
  expect(statSync(database.file).size).toBe(4096);
  const before = readFileSync(database.file);
  let isDone = false;
  const writing = (async () => {
    for (let index = 0; !isDone; index++) {
      database.addMessage(
        `ses_${String(index % 30).padStart(6, "0")}`,
        ...user(`meanwhile, remark ${index} on the palace`),
      );
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  const report = await feed(palace, ["--wing", "busy"]);
  isDone = true;
  await writing;
  expect(report).toMatchObject({ code: 0, sessions: 30, filed: 30 });
  expect(readFileSync(database.file)).toEqual(before);
  expect(await feed(palace, ["--wing", "busy"])).toMatchObject({ code: 0, sessions: 30 });
  const remarks = rowsOf(palace).flatMap(({ text }) => text.match(/meanwhile, remark \d+ /g) ?? []);
  expect(new Set(remarks).size).toBe(remarks.length);
  expect(await feed(palace, ["--wing", "busy"])).toMatchObject({ filed: 0, unchanged: 30 });
  database.close();
});

test("a database in a folder without write permission is read from a copy", async () => {
  await using palace = createTestPalace();
  const database = databaseOf(palace);
  addTalk(database, "ses_one");
  const copy = join(palace.home, "elsewhere");
  mkdirSync(copy);
  for (const suffix of ["", "-wal"]) writeFileSync(join(copy, `o.db${suffix}`), readFileSync(database.file + suffix));
  database.close();
  // Root may write everywhere, so a dangling link in place of the -shm file stops SQLite instead.
  symlinkSync("/nowhere/at/all", join(copy, "o.db-shm"));
  chmodSync(copy, 0o500);
  expect(await feed(palace, ["--db", join(copy, "o.db")])).toMatchObject({ code: 0, filed: 1 });
  expect(readdirSync(join(palace.home, ".cache/mempalace-session/.scratch"))).toEqual([]);
  chmodSync(copy, 0o700);
});

test.each([
  ["there is no database", undefined, /there is no opencode database at/],
  ["the database belongs to another program", "other", /has no table session, message, part/],
  ["the file is not a database", "noise", /cannot be read: file is not a database/],
])("the error names the problem and the command to type if %s", async (_title, kind, message) => {
  await using palace = createTestPalace();
  const file = join(palace.home, "some.db");
  if (kind === "noise") writeFileSync(file, "x".repeat(10_000));
  if (kind === "other") new Database(file).exec("CREATE TABLE x (y)").close();
  const report = await feed(palace, ["--db", file]);
  expect(report).toMatchObject({
    code: 8,
    error: { code: "FEEDER_SOURCE_UNREADABLE", message: expect.stringMatching(message) },
  });
  expect(report.error?.hint).toContain("mine sessions --db FILE");
});

test("the same sessions from another home directory count as the same sources", async () => {
  await using palace = createTestPalace();
  const database = databaseOf(palace);
  addTalk(database, "ses_one");
  await feed(palace);
  const { doors } = JSON.parse(readFileSync(palace.config.paths.brokerFile, "utf8")) as { doors: { path: string }[] };
  const container = {
    HOME: join(palace.home, "container"),
    MEMPALACE_BROKER: `unix:${doors[0]?.path ?? ""}`,
    OPENCODE_DB: database.file,
  };
  expect(await feed(palace, [], container)).toMatchObject({ filed: 0, unchanged: 1 });
  database.addMessage("ses_one", ...user("And once more from the container, please."));
  database.close();
  expect(await feed(palace, [], container)).toMatchObject({ filed: 1 });
  expect(await feed(palace)).toMatchObject({ filed: 0, unchanged: 1 });
  expect(new Set(rowsOf(palace).map((row) => row.source_file)).size).toBe(1);
});

function put(path: string, lines: readonly object[]): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

test("for Claude Code, meta lines, commands, side chains and summaries are left out, and a message over several lines counts once", async () => {
  await using palace = createTestPalace();
  const line = (type: string, content: unknown, more: object = {}): object => ({
    ...{
      type,
      uuid: `u${Math.random()}`,
      timestamp: "2026-05-06T07:08:09.000Z",
      cwd: "/home/u/tool",
      isSidechain: false,
    },
    message: { role: type, content, ...(type === "assistant" && { id: "msg_1" }) },
    ...more,
  });
  put(join(palace.home, ".claude/projects/-home-u-tool/abc-1.jsonl"), [
    { type: "mode", mode: "x" },
    line("user", "Caveat: below", { isMeta: true }),
    line("user", "<command-name>/clear</command-name>"),
    line("user", "How do drawers work?"),
    line("assistant", [{ type: "thinking", thinking: "Let me look." }]),
    line("assistant", [{ type: "tool_use", id: "t", name: "Bash", input: { command: "cat x" } }]),
    line("user", [{ type: "tool_result", tool_use_id: "t", content: "x is here" }]),
    line("assistant", [{ type: "text", text: "They hold text." }]),
    line("user", "in a side chain", { isSidechain: true }),
    line("user", "a summary", { isCompactSummary: true }),
    line("user", "Good."),
  ]);
  expect(await feed(palace, ["--from", "claude-code"])).toMatchObject({ sessions: 1, filed: 1, wings: ["tool"] });
  expect(readdirSync(stageOf(palace, "tool"))).toEqual(["claude-code-2026-05-06-abc-1.jsonl"]);
  expect(rowsOf(palace).map(({ text }) => text)).toEqual([
    "> [session] How do drawers work?\nAgent: Claude Code\nProject: /home/u/tool\nStarted: 2026-05-06T07:08:09.000Z\nSession: abc-1",
    "> How do drawers work?\n[reasoning] Let me look.\n[Bash] cat x\n→ x is here\nThey hold text.\n\n> Good.",
  ]);
  expect(await feed(palace, ["--from", "claude-code"])).toMatchObject({ filed: 0, unchanged: 1 });
});

test("for pi, the conversation is the path from the root of the session's tree to its last entry", async () => {
  await using palace = createTestPalace();
  const entry = (id: string, parentId: string | null, message: object): object => ({
    ...{ type: "message", id, parentId, timestamp: "2026-06-07T08:09:10.000Z", message },
  });
  put(join(palace.home, ".pi/agent/sessions/--home-u-web--/2026_x.jsonl"), [
    { type: "session", version: 3, id: "pi-1", timestamp: "2026-06-07T08:00:00.000Z", cwd: "/home/u/web" },
    entry("a", null, { role: "user", content: [{ type: "text", text: "Where is the index page?" }] }),
    entry("b", "a", { role: "assistant", content: [{ type: "text", text: "given up" }] }),
    entry("c", "a", {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Read it." },
        { type: "toolCall", id: "t", name: "read", arguments: { path: "/web/index.html" } },
      ],
    }),
    entry("d", "c", {
      role: "toolResult",
      toolCallId: "t",
      toolName: "read",
      content: [{ type: "text", text: "<html>" }],
    }),
    { type: "custom_message", id: "e", parentId: "d", customType: "wake-up", content: "injected" },
    entry("f", "e", { role: "assistant", content: [{ type: "text", text: "In the folder web." }] }),
    entry("g", "f", { role: "user", content: "Thank you." }),
    { type: "session_info", id: "h", parentId: "g", name: "Index page" },
  ]);
  expect(await feed(palace, ["--from", "pi"])).toMatchObject({ sessions: 1, filed: 1, wings: ["web"] });
  const text = rowsOf(palace)
    .map((row) => row.text)
    .join("\n");
  expect(text).toMatch(/^> \[session\] Index page\nAgent: pi\n/);
  expect(text).toContain("[reasoning] Read it.\n[Read /web/index.html]\nIn the folder web.");
  expect(text).not.toMatch(/given up|injected/);
});

test("palace mine sessions files a session into the wing that the project's mempalace.yaml names", async () => {
  await using palace = createTestPalace();
  const project = join(palace.home, "src/app");
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "mempalace.yaml"), "wing: the_app\n");
  const database = databaseOf(palace);
  addTalk(database, "ses_one", project);
  database.close();
  const { code, stdout } = await palace.run("palace", ["mine", "sessions", "--from", "opencode"]);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^1 session in 1 wing, 1 filed \(\d+ drawers new or changed, 0 kept\), 0 unchanged/),
  ]);
  expect(new Set(rowsOf(palace).map(({ wing }) => wing))).toEqual(new Set(["the_app"]));
});
