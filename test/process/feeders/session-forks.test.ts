import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { MineReport } from "../../../src/feeders/convo-miner/run.ts";
import type { SessionReport } from "../../../src/feeders/session-miner/file-sessions.ts";
import { createOpencodeDatabase, type OpencodeDatabase, user } from "../../helpers/opencode-database.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

async function feed(palace: TestPalace, ...more: string[]): Promise<SessionReport> {
  const { stdout, stderr } = await palace.run("mempalace-session", [...more, "--json"]);
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as SessionReport;
}

const times = (palace: TestPalace, word: string): number => filed(palace).split(word).length - 1;

/** Returns all filed text without the headers, because a header names a session by its first words. */
function filed(palace: TestPalace): string {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const texts = ledger.prepare<[], string>("SELECT text FROM drawer").pluck().all();
  ledger.close();
  return texts.map((text) => text.replaceAll(/^> \[session\].*/gm, "")).join("\n");
}

const dayMs = Date.UTC(2026, 1, 3);

/** Opens an opencode database. `talk` adds one message for each word. */
function openTalks(palace: TestPalace): {
  database: OpencodeDatabase;
  talk: (session: string, atMs: number, ...words: string[]) => void;
} {
  const database = createOpencodeDatabase(join(palace.home, ".local/share/opencode/opencode.db"));
  return {
    database,
    talk: (session, atMs, ...words) =>
      words.forEach((text, at) => void database.addMessage(session, ...user(text), atMs + at)),
  };
}

test("a fork is filed without the messages that an earlier session has, and whole if that session is deleted", async () => {
  await using palace = createTestPalace();
  const { database, talk } = openTalks(palace);
  database.addSession({ id: "ses_first", createdMs: dayMs });
  talk("ses_first", dayMs, "ferns", "mosses", "lichens");
  // The copied messages keep the times of the originals.
  database.addSession({ id: "ses_fork", title: "ses_first (fork #1)", createdMs: dayMs + 60_000 });
  talk("ses_fork", dayMs, "ferns", "mosses", "lichens");
  talk("ses_fork", dayMs + 60_000, "horsetails");
  database.addSession({ id: "ses_idle", title: "ses_first (fork #2)", createdMs: dayMs + 70_000 });
  talk("ses_idle", dayMs, "ferns", "mosses", "lichens");
  database.addSession({ id: "ses_last", title: "gone (fork #1)", createdMs: dayMs + 80_000 });
  talk("ses_last", dayMs + 10, "bracken", "polypody", "spleenwort");
  // Messages of a session that is too short to be filed are filed with its fork.
  database.addSession({ id: "ses_short", createdMs: dayMs + 90_000 });
  talk("ses_short", dayMs + 90_000, "selaginella");
  database.addSession({ id: "ses_long", title: "ses_short (fork #1)", createdMs: dayMs + 95_000 });
  talk("ses_long", dayMs + 90_000, "selaginella");
  talk("ses_long", dayMs + 95_000, "quillworts", "whisk");
  expect(await feed(palace)).toMatchObject({ sessions: 6, filed: 4, tooShort: 2 });
  const text = filed(palace);
  for (const word of ["ferns", "mosses", "lichens", "horsetails", "bracken", "polypody", "spleenwort", "selaginella"])
    expect(text.split(word), word).toHaveLength(2);
  database.close();
});

test("after the original session was deleted, its fork is filed with the shared messages: in a new palace, and again in the old one", async () => {
  await using palace = createTestPalace();
  const { database, talk } = openTalks(palace);
  const counts = (): number[] => ["ferns", "mosses", "lichens", "horsetails"].map((word) => times(palace, word));
  database.addSession({ id: "ses_first", createdMs: dayMs });
  talk("ses_first", dayMs, "ferns", "mosses", "lichens");
  database.addSession({ id: "ses_fork", createdMs: dayMs + 60_000 });
  talk("ses_fork", dayMs, "ferns", "mosses", "lichens");
  talk("ses_fork", dayMs + 60_000, "horsetails");
  await feed(palace);
  expect(counts()).toEqual([1, 1, 1, 1]);

  database.remove("ses_first");
  await using other = createTestPalace({
    env: { XDG_CACHE_HOME: join(palace.home, ".cache"), XDG_DATA_HOME: join(palace.home, ".local/share") },
  });
  await feed(other);
  expect(["ferns", "mosses", "lichens", "horsetails"].map((word) => times(other, word))).toEqual([1, 1, 1, 1]);
  await feed(palace);
  expect(counts().every((count) => count > 0)).toBe(true);
  database.close();
});

test("a fork is filed with the shared messages if its original session was filed without them", async () => {
  await using palace = createTestPalace();
  const { database, talk } = openTalks(palace);
  database.addSession({ id: "ses_first", createdMs: dayMs });
  talk("ses_first", dayMs, "ferns", "mosses", "lichens");
  await feed(palace);
  talk("ses_first", dayMs + 10, "horsetails");
  database.addSession({ id: "ses_fork", createdMs: dayMs + 60_000 });
  talk("ses_fork", dayMs, "ferns", "mosses", "lichens");
  talk("ses_fork", dayMs + 10, "horsetails");
  talk("ses_fork", dayMs + 60_000, "bracken", "polypody");
  await feed(palace, "--session", "ses_fork");
  for (const word of ["ferns", "mosses", "lichens", "horsetails", "bracken"]) expect(times(palace, word), word).toBe(1);
  database.close();
});

test("the common beginning of Claude Code sessions is filed once, also when the sessions continue alternately", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, ".claude/projects/-home-u-app");
  const folder = join(palace.home, "app");
  mkdirSync(root, { recursive: true });
  const write = (session: string, ...said: string[]): void => {
    const lines = said.map((text, at) => {
      const timestamp = new Date(dayMs + at * 1000).toISOString();
      const ids = { uuid: `id-${text}`, parentUuid: null, sessionId: session, timestamp, cwd: folder };
      return JSON.stringify({ ...ids, type: "user", message: { role: "user", content: text } });
    });
    writeFileSync(join(root, `${session}.jsonl`), `${lines.join("\n")}\n`);
  };
  const run = (): Promise<SessionReport> => feed(palace, "--from", "claude-code", "--min-messages", "1");
  const shared = ["ferns", "mosses", "lichens"];
  write("second", ...shared);
  await run();
  // This session is newer, but its name comes first in the alphabet.
  write("first", ...shared, "horsetails");
  write("third", ...shared, "horsetails", "bracken");
  utimesSync(join(root, "third.jsonl"), Date.now() / 1000 + 60, Date.now() / 1000 + 60);
  expect(await run()).toMatchObject({ sessions: 3, filed: 2, unchanged: 1 });
  write("second", ...shared, "quillworts");
  expect(await run()).toMatchObject({ filed: 1 });
  for (const word of [...shared, "horsetails", "bracken", "quillworts"]) expect(times(palace, word), word).toBe(1);

  // The session's project has another wing now, but the session stays in the wing where it was filed.
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "mempalace.yaml"), "wing: renamed\n");
  write("second", ...shared, "quillworts", "whisk");
  expect(await run()).toMatchObject({ filed: 1, wings: ["app"] });
  expect(["ferns", "whisk"].map((word) => times(palace, word))).toEqual([1, 1]);
});

test("a fork in pi is filed without the original session's messages, until the original session continues from an earlier message", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, ".pi/agent/sessions/--home-u-app--");
  mkdirSync(root, { recursive: true });
  let written = 0;
  /** Writes a session with an entry for each word. `mosses < e-ferns`: the parent is `e-ferns`, not the entry before. */
  const write = (session: string, ...said: string[]): void => {
    const head = {
      type: "session",
      version: 3,
      id: session,
      timestamp: new Date(dayMs).toISOString(),
      cwd: "/home/u/app",
    };
    const lines = said.map((text, at) => {
      const [id, parent = null] = text.split(" < ");
      const before = said[at - 1]?.split(" < ")[0];
      const parentId = parent ?? (before === undefined ? null : `e-${before}`);
      const timestamp = new Date(dayMs + at * 1000).toISOString();
      return { type: "message", id: `e-${id}`, parentId, timestamp, message: { role: "user", content: id } };
    });
    const file = join(root, `2026_${session}.jsonl`);
    writeFileSync(file, [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
    const time = Date.now() / 1000 + 60 * ++written;
    utimesSync(file, time, time);
  };
  const run = (): Promise<SessionReport> => feed(palace, "--from", "pi", "--min-messages", "1");
  const counts = (...words: string[]): number[] => words.map((word) => times(palace, word));
  write("one", "ferns", "mosses", "lichens");
  write("two", "ferns", "mosses", "lichens", "horsetails");
  expect(await run()).toMatchObject({ sessions: 2, filed: 2 });
  expect(counts("ferns", "mosses", "lichens", "horsetails")).toEqual([1, 1, 1, 1]);
  expect(await run()).toMatchObject({ filed: 0, unchanged: 2 });
  write("one", "ferns", "mosses", "lichens", "bracken");
  expect(await run()).toMatchObject({ filed: 1, unchanged: 1 });
  expect(counts("ferns", "lichens", "horsetails", "bracken")).toEqual([1, 1, 1, 1]);

  // The first session continues from its first message, so it no longer has the other messages that it shared with the fork.
  write("one", "ferns", "mosses", "lichens", "bracken", "quillworts < e-ferns");
  await run();
  expect(counts("ferns", "mosses", "lichens", "horsetails", "quillworts")).toEqual([1, 1, 1, 1, 1]);
});

test("a transcript is filed without the exchanges that it shares with another transcript, until that transcript leaves the palace", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "talks");
  mkdirSync(root, { recursive: true });
  const write = (session: string, ...said: string[]): void => {
    const lines = said.flatMap((text, at) => {
      const timestamp = new Date(dayMs + at * 60_000).toISOString();
      const line = (type: string, content: string): object => {
        const ids = { uuid: `${type}-${text}`, parentUuid: null, sessionId: session, timestamp };
        return { ...ids, type, message: { role: type, content } };
      };
      return [line("user", `Where do the ${text} grow, and in which soil?`), line("assistant", "In the shade.")];
    });
    writeFileSync(join(root, `${session}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  const run = async (): Promise<MineReport> => {
    const { stdout, stderr } = await palace.run("palace", ["mine", "convos", root, "--wing", "talks", "--json"]);
    expect(stdout, stderr).not.toBe("");
    return JSON.parse(stdout) as MineReport;
  };
  const counts = (...words: string[]): number[] => words.map((word) => times(palace, word));
  write("a", "ferns", "mosses", "lichens");
  write("b", "ferns", "mosses", "lichens", "horsetails");
  write("c", "ferns", "mosses");
  expect(await run()).toMatchObject({
    filed: 2,
    skipped: [{ reason: expect.stringMatching(/all its messages are in .*a\.jsonl/) }],
  });
  expect(counts("ferns", "mosses", "lichens", "horsetails")).toEqual([1, 1, 1, 1]);
  expect(await run()).toMatchObject({ filed: 0 });
  write("a", "ferns", "mosses", "lichens", "bracken");
  write("b", "ferns", "mosses", "lichens", "horsetails", "quillworts");
  // The word `ferns` with another time is another message, so it is filed again.
  write("d", "sundews", "ferns");
  expect(await run()).toMatchObject({ filed: 3 });
  expect(counts("ferns", "lichens", "horsetails", "bracken", "quillworts")).toEqual([2, 1, 1, 1, 1]);

  const client = await palace.client();
  await client.call("source.remove", { wing: "talks", sourceFile: join(root, "a.jsonl") });
  client.close();
  rmSync(join(root, "a.jsonl"));
  expect((await run()).filed).toBeGreaterThan(0);
  await run();
  expect(counts("mosses", "lichens", "horsetails", "bracken")).toEqual([1, 1, 1, 0]);
});
