/** Tests how sessions of opencode 2 are read from new and upgraded databases with opencode's published schema. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openOpencode } from "../../../../src/feeders/session-miner/opencode.ts";
import type { Session, SessionSource } from "../../../../src/feeders/session-miner/session.ts";
import {
  assistant,
  createOpencodeDatabase,
  openOpencode2Database,
  said,
  user,
} from "../../../helpers/opencode-database.ts";

let folder: string;
const file = (): string => join(folder, "opencode.db");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "opencode2-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (includeSubagents = false): Promise<SessionSource> =>
  openOpencode({ file: file(), scratch: join(folder, "scratch"), includeSubagents });

async function readAll(): Promise<(Session | undefined)[]> {
  const source = await open();
  try {
    return source.list().map((head) => source.read(head));
  } finally {
    source.close();
  }
}

const textsOf = (session: Session | undefined): string[] =>
  (session?.turns ?? []).flatMap(({ blocks }) =>
    blocks.map((block) => (block.type === "tool" ? block.name : block.text)),
  );

test("the miner reads texts, reasoning, tools and shell commands of an opencode 2 session, without injected text", async () => {
  const second = openOpencode2Database(file());
  second.addSession({ id: "ses_new", title: "Second", directory: "/home/u/second" });
  second.add("ses_new", "agent-switched", { agent: "build" });
  second.add("ses_new", "system", { text: "the system says" });
  second.add("ses_new", "user", {
    text: "Why does it fail?",
    files: [{ uri: "file:///tmp/log.txt", name: "log.txt", mime: "text/plain" }],
    time: { created: 1 },
  });
  second.add("ses_new", "assistant", {
    ...{ agent: "build", model: { providerID: "p", id: "m" } },
    content: [
      { type: "reasoning", text: "It may be the lock." },
      {
        ...{ type: "tool", id: "call_1", name: "bash" },
        state: { status: "completed", input: { command: "ls" }, content: [{ type: "text", text: "a" }] },
      },
      {
        ...{ type: "tool", id: "call_2", name: "edit" },
        state: { status: "error", input: { filePath: "/x" }, error: { type: "unknown", message: "no such file" } },
      },
      { type: "tool", id: "call_3", name: "read", state: { status: "running", input: {} } },
      { type: "text", text: "The lock was stale." },
    ],
  });
  second.add("ses_new", "synthetic", { text: "injected" });
  second.add("ses_new", "shell", { shellID: "sh_1", command: "npm test", status: "exited", output: "ok" });
  second.add("ses_new", "compaction", { status: "completed", summary: "a summary", recent: "" });
  second.add("ses_new", "assistant", { content: [], error: { type: "provider", message: "overloaded" } });
  second.add("ses_new", "idle", { outcome: "failed" });
  second.addSession({ id: "ses_child", parent: "ses_new" });
  second.add("ses_child", "user", { text: "a subagent's" });
  const [session, ...others] = await readAll();
  second.close();

  expect(others).toEqual([]);
  expect(session).toMatchObject({
    id: "ses_new",
    title: "Second",
    directory: "/home/u/second",
    agent: "opencode 2.2.6",
  });
  expect(session?.turns.map(({ role }) => role)).toEqual(["user", "assistant", "assistant"]);
  expect(session?.turns.map(({ blocks }) => blocks)).toEqual([
    [
      { type: "text", text: "Why does it fail?" },
      { type: "text", text: "[file log.txt]" },
    ],
    [
      { type: "reasoning", text: "It may be the lock." },
      { type: "tool", id: "call_1", name: "bash", input: { command: "ls" }, output: "a" },
      {
        type: "tool",
        id: "call_2",
        name: "edit",
        input: { filePath: "/x" },
        output: "Error: no such file",
        isError: true,
      },
      { type: "tool", id: "call_3", name: "read", input: {} },
      { type: "text", text: "The lock was stale." },
    ],
    [{ type: "tool", id: "sh_1", name: "bash", input: { command: "npm test" }, output: "ok" }],
  ]);
});

test("the miner reads each message of an upgraded database once, and prefers the tables in use to the old tables", async () => {
  const first = createOpencodeDatabase(file());
  const at = Date.UTC(2026, 0, 1);
  for (const id of ["ses_old", "ses_taken_over", "ses_gone_on"]) {
    first.addSession({ id, createdMs: at });
    first.addMessage(id, ...user(`${id} question`), at + 1);
    first.addMessage(id, ...assistant(said(`${id} answer`)), at + 2);
  }
  first.close();
  const second = openOpencode2Database(file());
  second.addSession({ id: "ses_taken_over", createdMs: at });
  second.add("ses_taken_over", "user", { text: "taken over question" }, at + 1);
  second.add("ses_taken_over", "assistant", { content: [{ type: "text", text: "taken over answer" }] }, at + 2);
  second.add("ses_taken_over", "user", { text: "taken over, further" });
  second.addSession({ id: "ses_gone_on", createdMs: at });
  second.add("ses_gone_on", "user", { text: "gone on, further" });
  second.addSession({ id: "ses_new" });
  second.add("ses_new", "user", { text: "new" });
  const source = await open();
  expect(source.list().map(({ id, generation }) => `${id} ${generation}`)).toEqual([
    "ses_old opencode 1",
    "ses_gone_on opencode 2",
    "ses_taken_over opencode 2",
    "ses_new opencode 2",
  ]);
  source.close();
  const texts = (await readAll()).map(textsOf);
  second.close();
  expect(texts).toEqual([
    ["ses_old question", "ses_old answer"],
    ["ses_gone_on question", "ses_gone_on answer", "gone on, further"],
    ["taken over question", "taken over answer", "taken over, further"],
    ["new"],
  ]);
});

test("a new or removed message changes the session's version", async () => {
  const second = openOpencode2Database(file());
  second.addSession({ id: "ses_new" });
  second.add("ses_new", "user", { text: "kept" });
  const versionOf = async (): Promise<string> => {
    const source = await open();
    const [head] = source.list();
    source.close();
    return head?.version ?? "";
  };
  const versions = [await versionOf()];
  const taken = second.add("ses_new", "user", { text: "taken back" });
  versions.push(await versionOf());
  second.revert(taken);
  second.add("ses_new", "user", { text: "instead" });
  versions.push(await versionOf());
  const [session] = await readAll();
  second.close();
  expect(new Set(versions).size).toBe(3);
  expect(textsOf(session)).toEqual(["kept", "instead"]);
});

test("the miner refuses a session_v2 table of unknown form", async () => {
  createOpencodeDatabase(file()).close();
  const database = new Database(file());
  database.exec("CREATE TABLE session_v2 (id text PRIMARY KEY, title text)");
  database.close();
  await expect(open()).rejects.toMatchObject({
    code: "FEEDER_SOURCE_UNREADABLE",
    message: expect.stringMatching(/cannot read: it has no session_v2\.parent_id.*nothing was filed/) as string,
  });
});
