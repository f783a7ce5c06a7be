import { spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { CONVERSATION_PART_DRAWERS_MAX } from "../../../src/protocol/limits.ts";
import { Chooser } from "../../fuzz/chooser.ts";
import { ourRows } from "../../helpers/mined-rows.ts";
import { assistant, createOpencodeDatabase, fillOpencode, said, user } from "../../helpers/opencode-database.ts";
import type { OpencodeDatabase } from "../../helpers/opencode-database.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";
import { seededRandom } from "../../helpers/random.ts";

const KILLS = 5;
/** Fewer kills than for other agents, because miner-kill.test.ts kills miners of general conversations more often. */
const GENERAL_KILLS = 3;
const RUNS_MAX = 30;
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
/** Number of exchanges in a long session: more than one call to the broker may have, so that some kills hit the middle of a session. */
const LONG = CONVERSATION_PART_DRAWERS_MAX + 100;
/** Number of exchanges in a session that no kill needs to hit in the middle. */
const SHORT = 100;

const FAULTS = ["admit.before-queue:3", "commit.after-apply:5", "commit.after-sync:2", "acknowledge.before-reply:4"];

/** Sessions as an agent stores them. `grow(run)` adds messages to the sessions before the run with this number. */
type Sessions = Disposable & { argv: string[]; grow: (run: number) => void };
type Agent = { name: string; open: (folder: string) => Sessions; kills?: number };

const answer = (about: string): string => `we decided on ${about}: ${"word ".repeat(40)}`;

function opencode(folder: string, extract: string, exchanges = LONG): Sessions {
  const file = join(folder, "opencode.db");
  const database = createOpencodeDatabase(file);
  fillOpencode(database, { sessions: 12, messages: 240, seed: SEED });
  database.addSession({ id: "ses_long" });
  talk(database, "ses_long", "the beginning", exchanges);
  return {
    argv: ["mine", "sessions", "--from", "opencode", "--db", file, "--extract", extract],
    grow: (run) => {
      talk(database, "ses_long", `run ${run}`, 3);
      talk(database, `ses_00000${run % 10}`, `run ${run}`, 2);
      database.addSession({ id: `ses_new_${run}` });
      talk(database, `ses_new_${run}`, `run ${run}`, 5);
    },
    [Symbol.dispose]: () => database.close(),
  };
}

function talk(database: OpencodeDatabase, session: string, about: string, exchanges: number): void {
  for (let at = 0; at < exchanges; at++) {
    database.addMessage(session, ...user(`question ${at} about ${about}`));
    database.addMessage(session, ...assistant(said(answer(`${about}, point ${at}`))));
  }
}

/** Makes sessions of an agent that keeps each session in a file with one message per line. */
function files(folder: string, from: string, head: (id: string) => object[], line: Line): Sessions {
  const dir = join(folder, "sessions");
  const place = join(dir, "--home-u-web--");
  mkdirSync(place, { recursive: true });
  const put = (id: string, from: number, count: number): void => {
    const path = join(place, `${id}.jsonl`);
    const lines = Array.from({ length: count }, (_, at) => [
      line(id, 2 * (from + at), "user", `question ${from + at} in ${id}`),
      line(id, 2 * (from + at) + 1, "assistant", answer(`${id}, point ${from + at}`)),
    ]).flat();
    const all = existsSync(path) ? lines : [...head(id), ...lines];
    appendFileSync(path, all.map((one) => `${JSON.stringify(one)}\n`).join(""));
  };
  const lengths = new Map<string, number>();
  const goOn = (id: string, count: number): void => {
    put(id, lengths.get(id) ?? 0, count);
    lengths.set(id, (lengths.get(id) ?? 0) + count);
  };
  for (let at = 0; at < 12; at++) goOn(`session-${at}`, 10);
  goOn("long", LONG);
  return {
    argv: ["mine", "sessions", "--from", from, "--dir", dir],
    grow: (run) => {
      goOn("long", 3);
      goOn(`session-${run % 10}`, 2);
      goOn(`new-${run}`, 5);
    },
    [Symbol.dispose]: () => {},
  };
}

type Line = (id: string, at: number, role: "user" | "assistant", text: string) => object;
const TIME = "2026-05-06T07:08:09.000Z";
const claude: Line = (id, at, role, text) => ({
  ...{ type: role, uuid: `${id}-${at}`, sessionId: id, timestamp: TIME, cwd: "/home/u/web", isSidechain: false },
  message: {
    role,
    content: role === "user" ? text : [{ type: "text", text }],
    ...(role === "assistant" && { id: `m${at}` }),
  },
});
const pi: Line = (_id, at, role, text) => ({
  ...{ type: "message", id: `e${at}`, parentId: at === 0 ? null : `e${at - 1}`, timestamp: TIME },
  message: { role, content: [{ type: "text", text }] },
});
const piHead = (id: string): object[] => [{ type: "session", version: 3, id, timestamp: TIME, cwd: "/home/u/web" }];

const AGENTS: readonly Agent[] = [
  { name: "opencode", open: (folder) => opencode(folder, "exchange") },
  { name: "opencode, general", open: (folder) => opencode(folder, "general"), kills: GENERAL_KILLS },
  { name: "claude-code", open: (folder) => files(folder, "claude-code", () => [], claude) },
  { name: "pi", open: (folder) => files(folder, "pi", piHead, pi) },
];

/** Returns the filed drawers without times, with paths relative to the home. A passage that was filed twice is listed twice. */
function drawersOf(palace: TestPalace): unknown[] {
  const rows = [...ourRows(palace).values()].map(({ text, metadata }) => {
    const { filed_at: _filed, last_modified: _modified, source_dir_ino: _inode, ...rest } = metadata;
    const source = String(rest["source_file"]).slice(palace.home.length);
    return {
      place: `${source} ${rest["extract_mode"]} ${rest["chunk_index"]}`,
      text,
      rest: { ...rest, source_file: source },
    };
  });
  return rows.sort((a, b) => (a.place < b.place ? -1 : 1));
}

/** Returns the staged transcripts with times and hashes, and only the folders of the feeder's note files, which contain the home's path. */
function stagedIn(palace: TestPalace): unknown {
  const home = join(palace.home, ".cache/mempalace-session");
  const found = readdirSync(home, { recursive: true, encoding: "utf8" })
    .sort()
    // Half-written files of killed feeders, which a later run removes (test/regressions/process/killed-feeder-leaves-copies.test.ts).
    .filter((name) => !name.endsWith(".tmp"))
    .map((name) => [name, statSync(join(home, name))] as const)
    .filter(([, stat]) => stat.isFile());
  const [notes, transcripts] = [found.filter(isNote), found.filter((file) => !isNote(file))];
  return {
    notes: notes.map(([name]) => dirname(name)),
    transcripts: transcripts.map(([name, { mtimeMs }]) => [
      name,
      mtimeMs,
      hash("sha256", readFileSync(join(home, name))),
    ]),
  };
}
const isNote = ([name]: readonly [string, unknown]): boolean => name.startsWith(".");

/** Kills a process that may have ended already. */
function killHard(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, "SIGKILL");
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ESRCH");
    return false;
  }
}

/** Runs the feeder to its end in both palaces, and asserts that they have the same drawers (more than `least`) and files. */
async function assertSame(palace: TestPalace, calm: TestPalace, argv: string[], least: number): Promise<void> {
  for (const one of [palace, calm]) {
    const { code, stderr } = await one.run("palace", argv);
    expect(code, stderr).toBe(0);
  }
  const { stdout } = await palace.run("palace", [...argv, "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ filed: 0, drawers: 0, skipped: [] });
  const mine = drawersOf(palace);
  expect(mine.length).toBeGreaterThan(least);
  expect(mine).toEqual(drawersOf(calm));
  expect(stagedIn(palace)).toEqual(stagedIn(calm));
}

test.each(AGENTS)(
  "$name: a feeder and broker killed many times give the same result as an undisturbed run",
  { timeout: 600_000 },
  async ({ open, kills = KILLS }) => {
    const folder = mkdtempSync(join(tmpdir(), "sessions-"));
    try {
      using sessions = open(folder);
      const { argv, grow } = sessions;
      await using palace = createTestPalace();
      await using calm = createTestPalace();
      const chooser = new Chooser(seededRandom(SEED));
      const began = performance.now();
      expect(await calm.run("palace", argv)).toMatchObject({ code: 0 });
      const wholeMs = performance.now() - began;
      const killed = { feeder: 0, broker: 0 };
      for (let run = 0; run < RUNS_MAX && killed.feeder + killed.broker < kills; run++) {
        if (run % 4 === 3) grow(run);
        // Forces a full run, because a run that finds no change has no step to interrupt.
        const child = spawn(
          process.execPath,
          [palace.executable("palace"), ...argv, ...(run % 2 === 0 ? ["--force"] : [])],
          {
            ...{ cwd: ROOT, env: palace.env, stdio: "ignore" },
          },
        );
        const ended = once(child, "exit");
        await Promise.race([delay(chooser.below(Math.ceil(wholeMs))), ended]);
        if (child.exitCode !== null) continue;
        if (chooser.chance(0.4)) killed.broker += Number(killHard(readBrokerFile(palace.config.paths.brokerFile)?.pid));
        else killed.feeder += Number(child.kill("SIGKILL"));
        await ended;
      }
      // On a quick machine many runs finish before their kill.
      expect(killed.feeder + killed.broker).toBeGreaterThan(kills / 3);
      console.log(`seed ${SEED}: ${killed.feeder} kills of the feeder, ${killed.broker} of the broker`);
      await assertSame(palace, calm, argv, LONG / 2);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test("mempalace-session runs to its end although the broker dies at each step", { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sessions-"));
  try {
    using sessions = opencode(folder, "exchange", SHORT);
    await using calm = createTestPalace();
    for (const fault of FAULTS) {
      await using palace = createTestPalace();
      const died = once(await palace.startBroker({ MEMPALACE_FAULT: fault }), "exit");
      const { code, stdout, stderr } = await palace.run("palace", [...sessions.argv, "--json"]);
      expect(code, `${fault}: ${stderr}`).toBe(0);
      expect(await died, fault).toEqual([null, "SIGKILL"]);
      expect(JSON.parse(stdout), fault).toMatchObject({ sessions: 13, filed: 13, skipped: [] });
      await assertSame(palace, calm, sessions.argv, SHORT);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
