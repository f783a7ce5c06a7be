import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, test } from "vitest";
import type { Env } from "../../../src/config/env.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { mempalaceBin, mempalaceEnv, mempalaceMissing } from "../../helpers/python-mempalace.ts";

const VERSION = "3.11.0";
/** Process id that is larger than any that Linux gives. */
const PID_NEVER = 4_194_305;
const TIMEOUT_MS = 120_000;
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: hooks beside ${VERSION} (${missing})`);

function writeTranscript(home: string, messages: number, cwd = "/home/u/git/My App"): string {
  const file = join(home, ".claude/projects/-home-u-git-my-app/s1.jsonl");
  const line = (record: object): string => `${JSON.stringify(record)}\n`;
  const session = { sessionId: "s1", cwd, timestamp: "2026-01-01T00:00:00Z" };
  const said = (role: string, content: unknown, uuid: string): string =>
    line({ ...session, type: role, uuid, message: { role, content } });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    Array.from({ length: messages }, (_, n) => {
      const text = `Please water the ferns, water them again, all of number ${n}`;
      return said("user", text, `u${n}`) + said("assistant", [{ type: "text", text: `Watered ${n}.` }], `a${n}`);
    }).join("") + said("user", "<command-message>clear</command-message>", "c"),
  );
  return file;
}

const input = (transcript: string, more: object = {}): string =>
  JSON.stringify({ session_id: "s/1", transcript_path: transcript, ...more });

type Answer = { code: number | null; answer: unknown };
async function hook(palace: TestPalace, name: string, text: string, env: Env = {}): Promise<Answer> {
  const args = ["hook", "run", "--hook", name, "--harness", "claude-code"];
  const { code, stdout } = await palace.run("mempalace", args, { input: text, env });
  return { code, answer: JSON.parse(stdout) };
}

/** Makes the settings folder, because the hook writes no state if it is missing. Returns the folder of the hook's state. */
function beginHome(palace: TestPalace): string {
  mkdirSync(palace.config.paths.settingsDir, { recursive: true });
  return join(palace.config.paths.settingsDir, "hook_state");
}

function minedInto(palace: TestPalace, wing: string): number {
  const database = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const count = database.prepare("SELECT count(*) FROM drawer WHERE wing = ?").pluck().get(wing) as number;
  database.close();
  return count;
}

type Row = { text: string; wing: string; room: string; agent: string; topic: string };
function diary(file: string): Row[] {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare<[], { text: string; metadata: string }>("SELECT text, metadata FROM drawer").all();
  database.close();
  return rows
    .map(({ text, metadata }) => ({ text, ...(JSON.parse(metadata) as Omit<Row, "text">) }))
    .filter(({ room }) => room === "diary");
}

describe.skipIf(missing !== undefined)(`beside MemPalace ${VERSION}`, () => {
  it(
    "the hook `stop` gives the same answer, and writes the same diary and notes as MemPalace",
    { timeout: TIMEOUT_MS },
    async () => {
      await using palace = createTestPalace();
      await using other = createTestPalace();
      const env = mempalaceEnv(other.home);
      const theirState = beginHome(other);
      const ourState = beginHome(palace);
      const theirs = (text: string): unknown =>
        JSON.parse(
          execFileSync(
            mempalaceBin(VERSION, "mempalace"),
            ["hook", "run", "--hook", "stop", "--harness", "claude-code"],
            {
              env: { ...env, MEMPALACE_PALACE_PATH: other.config.paths.palaceDir },
              input: text,
              stdio: ["pipe", "pipe", "ignore"],
            },
          ).toString(),
        );
      for (const messages of [14, 16, 16, 30, 31]) {
        const [mine, their] = [palace, other].map(({ home }) => input(writeTranscript(home, messages)));
        const expected = theirs(their ?? "");
        expect(await hook(palace, "stop", mine ?? ""), String(messages)).toEqual({ code: 0, answer: expected });
      }
      const saved = (state: string): string => readFileSync(join(state, "s1_last_save"), "utf8");
      expect([saved(ourState), saved(theirState)]).toEqual(["31", "31"]);
      const kept = (state: string): unknown => JSON.parse(readFileSync(join(state, "last_checkpoint"), "utf8"));
      expect(kept(ourState)).toEqual({
        ...(kept(theirState) as object),
        ts: expect.stringMatching(/^[\d-]+T[\d:.]+$/) as string,
      });
      const database = new Database(join(other.config.paths.palaceDir, "chroma.sqlite3"), { readonly: true });
      const value = (key: string): string =>
        `(SELECT string_value FROM embedding_metadata m WHERE m.id = d.id AND m.key = '${key}') AS ${key.replace("chroma:document", "text")}`;
      const columns = ["chroma:document", "wing", "room", "agent", "topic"].map(value).join();
      const entries = database
        .prepare<[], Row>(
          `SELECT ${columns} FROM embedding_metadata d WHERE d.key = 'room' AND d.string_value = 'diary'`,
        )
        .all();
      database.close();
      const ours = diary(palace.config.paths.ledgerFile).map(({ text, wing, room, agent, topic }) => ({
        text,
        wing,
        room,
        agent,
        topic,
      }));
      expect(ours).toHaveLength(2);
      expect(ours).toEqual(entries);
    },
  );
});

test(
  "the hook `stop` starts mining the transcript, and writes its checkpoint once",
  { timeout: TIMEOUT_MS },
  async () => {
    await using palace = createTestPalace();
    const state = beginHome(palace);
    const transcript = writeTranscript(palace.home, 20);
    // A hook was killed after it had made its slot file and before it wrote its pid there.
    const args = ["convos", transcript, "--wing", "my_app"].join("\0");
    const slot = join(state, `mine_pids/mine_${createHash("sha256").update(args).digest("hex").slice(0, 16)}.pid`);
    mkdirSync(dirname(slot), { recursive: true });
    writeFileSync(slot, "");
    utimesSync(slot, new Date(0), new Date(0));
    // The hook removes an old session's count file and an ended mine's slot file. A running mine's slot file and other files stay.
    const old = [
      ["long-ago_last_save", "1"],
      ["mine_pids/mine_0123456789abcdef.pid", `${PID_NEVER} 1`],
      ["mine_pids/mine_fedcba9876543210.pid", `${process.pid} 1`],
      ["somebody-elses", ""],
    ].map(([name = "", text = ""]) => {
      const file = join(state, name);
      writeFileSync(file, text);
      utimesSync(file, new Date(0), new Date(0));
      return file;
    });
    await palace.startBroker();
    expect((await hook(palace, "stop", input(transcript))).answer).toHaveProperty("systemMessage");
    // Simulates a hook that was killed before it recorded its checkpoint.
    rmSync(join(state, "s1_last_save"));
    expect((await hook(palace, "stop", input(transcript))).answer).toHaveProperty("systemMessage");
    expect(diary(palace.config.paths.ledgerFile)).toHaveLength(1);
    await expect.poll(() => minedInto(palace, "my_app"), { timeout: TIMEOUT_MS / 2 }).toBe(20);
    expect(old.map((file) => existsSync(file))).toEqual([false, false, true, true]);
  },
);

test(
  "a session in a folder such as `c++`, which is not a valid name of a wing, gets its checkpoint and is mined",
  { timeout: TIMEOUT_MS },
  async () => {
    await using palace = createTestPalace();
    beginHome(palace);
    await palace.startBroker();
    const transcript = writeTranscript(palace.home, 20, "/home/u/git/c++ (copy)");
    expect((await hook(palace, "stop", input(transcript))).answer).toHaveProperty("systemMessage");
    expect(diary(palace.config.paths.ledgerFile)).toMatchObject([{ wing: "wing_c____copy", topic: "checkpoint" }]);
    await expect.poll(() => minedInto(palace, "c____copy"), { timeout: TIMEOUT_MS / 2 }).toBe(20);
  },
);

test(
  "the hook never fails an agent: without a palace, without a broker, with bad input, or switched off",
  { timeout: TIMEOUT_MS },
  async () => {
    await using palace = createTestPalace();
    const transcript = writeTranscript(palace.home, 20);
    const nothing = { code: 0, answer: {} };
    expect(await hook(palace, "stop", input(transcript))).toEqual(nothing);
    expect(existsSync(palace.config.paths.settingsDir)).toBe(false);
    const state = beginHome(palace);
    expect(await hook(palace, "stop", input(transcript), { MEMPALACE_HOOKS_AUTO_SAVE: "no" })).toEqual(nothing);
    expect(await hook(palace, "stop", input(transcript), { MEMPALACE_BROKER: "unix:/nowhere.sock" })).toEqual(nothing);
    expect(readFileSync(join(state, "hook.log"), "utf8")).toContain("/nowhere.sock");
    expect(existsSync(join(state, "s1_last_save"))).toBe(false);
    for (const text of [
      "",
      "{",
      "[]",
      "null",
      "7",
      '{"transcript_path": 7}',
      input("/etc/passwd"),
      input("/a/../b.jsonl"),
    ])
      expect(await hook(palace, "stop", text), text).toEqual(nothing);
    expect(await hook(palace, "session-start", input(transcript))).toEqual(nothing);
    const wrong = await palace.run("mempalace", ["hook", "run", "--hook", "dance", "--harness", "codex"], {
      input: "",
    });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("--hook takes")]);
  },
);

test("with `silent_save: false` the hook asks the agent once to save", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace();
  beginHome(palace);
  writeFileSync(
    join(palace.config.paths.settingsDir, "config.json"),
    JSON.stringify({ hooks: { silent_save: false } }),
  );
  const transcript = writeTranscript(palace.home, 20);
  const { answer } = await hook(palace, "stop", input(transcript));
  expect(answer).toEqual({ decision: "block", reason: expect.stringContaining("my_app") as string });
  expect(await hook(palace, "stop", input(transcript, { stop_hook_active: true }))).toEqual({ code: 0, answer: {} });
});
