/**
 * `mempalace hook run`: coding agents call it when a session begins, when an answer is done and before they compact
 * (palace.md 8.3; words and names as 3.11 has them). It never fails an agent: errors go to hook_state/hook.log.
 */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { PalaceError } from "../../base/errors.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { plural } from "../terminal/output.ts";
import { readJsonObject } from "../terminal/stdin-object.ts";
import { defineVerb } from "../define-verb.ts";
import {
  type Checkpoint,
  CHECKPOINT_EVERY,
  countSinceLast,
  localTime,
  noteCount,
  writeCheckpoint,
} from "./checkpoint.ts";
import { type HookMine, mineBeside } from "./hook-mine.ts";
import { hookSettings } from "./hook-settings.ts";
import { projectOf, readTalk, sessionName, themesOf } from "./transcript.ts";

const HOOKS = ["session-start", "stop", "session-end", "precompact"] as const;
/** Harness → the agent whose diary is written. */
const HARNESSES: Readonly<Record<string, string>> = { "claude-code": "claude", codex: "codex" };
/** Size of the smallest transcript that counts as a conversation. */
const TRANSCRIPT_MIN_BYTES = 100;
/** Agents give a pre-compaction hook 90 s. */
const PRECOMPACT_MAX_MS = 60_000;
const PATH_SHOWN_MAX = 200;

type Input = {
  session: string;
  transcript: string | undefined;
  isAgain: boolean;
  /** Fault of the document on stdin; empty without a fault. */
  fault: string;
};
type Answer = Record<string, string>;
type Scene = Input & { config: Config; agent: string; mine: HookMine; log: (line: string) => void };

const USAGE = `mempalace hook run --hook session-start|stop|session-end|precompact --harness claude-code|codex

For the hooks of coding agents: reads one JSON document from stdin, answers one on stdout. After every ${CHECKPOINT_EVERY} messages of the
user, stop writes a checkpoint to the diary and has the transcript mined; precompact and session-end have it mined.`;

export const verb = defineVerb({
  usage: USAGE,
  options: { hook: { type: "string" }, harness: { type: "string" } },
  args: [0, 1],
  place: "any",
  run: async ({ values: { hook = "", harness = "" }, args: [run], config, env, out }) => {
    if (run === undefined) {
      out.text(USAGE);
      return 0;
    }
    if (run !== "run") throw usage(`hook ${run}: there is only run`);
    if (!HOOKS.some((name) => name === hook)) throw usage(`--hook takes ${HOOKS.join(", ")}, not ${hook}`);
    const agent = Object.hasOwn(HARNESSES, harness) ? HARNESSES[harness] : undefined;
    if (agent === undefined) throw usage(`--harness takes ${Object.keys(HARNESSES).join(", ")}, not ${harness}`);
    const input = parseInput(process.stdin.isTTY ? "" : await readJsonObject(process.stdin));
    out.document(await answer({ ...input, config, agent }, hook, env));
    return 0;
  },
});

async function answer(
  input: Input & { config: Config; agent: string },
  hook: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Answer> {
  const { settingsDir, home } = input.config.paths;
  // A user who has no palace, or has removed it, gets no new one.
  if (![settingsDir, home].some(isFolder) || !input.config.hooks.autoSave) return {};
  const stateDir = join(settingsDir, "hook_state");
  const logPath = join(stateDir, "hook.log");
  const write = logFile(logPath);
  const log = (line: string): void => write(`[${new Date().toTimeString().slice(0, 8)}] ${line}\n`);
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    if (input.fault !== "") log(`${hook}: ${input.fault}`);
    const scene: Scene = { ...input, log, mine: { stateDir, logFile: logPath, env } };
    if (hook === "stop") return await stop(scene);
    log(`${hook} of session ${input.session}`);
    // Agents exit within 1.5 s, so the mine goes on without them.
    if (hook === "session-end") {
      await mineTranscript(scene, undefined);
      await mineFolder(scene);
    }
    if (hook === "precompact") {
      await mineTranscript(scene, undefined);
      await mineFolder(scene, PRECOMPACT_MAX_MS);
    }
  } catch (error) {
    log(`${hook} failed: ${String(error)}`);
  }
  return {};
}

async function stop(scene: Scene): Promise<Answer> {
  const { config, session, transcript, isAgain, agent, log, mine } = scene;
  const settings = hookSettings(config);
  if (!settings.autoSave || transcript === undefined) return {};
  if (!settings.silentSave && isAgain) return {};
  const talk = await readTalk(transcript);
  const project = projectOf(talk.cwd, transcript);
  const checkpoint: Checkpoint = { config, stateDir: mine.stateDir, agent, session, wing: `wing_${project}` };
  const unsaved = countSinceLast(checkpoint, talk);
  log(`session ${session}: ${talk.count} messages, ${unsaved} since the last checkpoint`);
  if (unsaved < CHECKPOINT_EVERY) return {};
  if (!settings.silentSave) {
    noteCount(checkpoint, talk);
    await mineTranscript(scene, project);
    await mineFolder(scene);
    return { decision: "block", reason: reasonFor(project) };
  }
  await writeCheckpoint(checkpoint, talk);
  writeFileAtomic(join(mine.stateDir, "last_checkpoint"), JSON.stringify({ msgs: talk.texts.length, ts: localTime() }));
  await mineTranscript(scene, project);
  await mineFolder(scene);
  const themes = themesOf(talk);
  const of = themes.length > 0 ? ` — ${themes.join(", ")}` : "";
  return { systemMessage: `✦ 1 checkpoint saved — ${talk.texts.length} messages woven into the palace${of}` };
}

async function mineTranscript({ transcript, mine, log }: Scene, project: string | undefined): Promise<void> {
  if (transcript === undefined || (statSync(transcript, { throwIfNoEntry: false })?.size ?? 0) < TRANSCRIPT_MIN_BYTES)
    return;
  const wing = project ?? projectOf((await readTalk(transcript)).cwd, transcript);
  const isBegun = await mineBeside(mine, ["convos", transcript, "--wing", wing]);
  log(isBegun ? `mining ${transcript} into ${wing}` : `${transcript} is being mined already`);
}

async function mineFolder({ config, mine, log }: Scene, waitMs?: number): Promise<void> {
  const { mineDir } = config.hooks;
  if (mineDir === undefined || !isFolder(mineDir)) return;
  const isBegun = await mineBeside(mine, ["projects", mineDir], waitMs);
  log(isBegun ? `mining ${mineDir}` : `${mineDir} is being mined already`);
}

function reasonFor(project: string): string {
  return (
    `Save this session to the palace before you stop: mempalace_diary_write for what was done and learned, and ` +
    `mempalace_add_drawer for what must be kept word for word, in wing ${project}. Then go on.`
  );
}

function parseInput(text: string): Input {
  // An input without a document has neither session nor transcript.
  const document = readDocument(text);
  const input = typeof document === "string" ? {} : document;
  const { session_id: id, transcript_path: path, stop_hook_active: again } = input;
  const isOurs = typeof path === "string" && /\.jsonl?$/.test(path) && !path.split(/[/\\]/).includes("..");
  return {
    session: sessionName(typeof id === "string" ? id : ""),
    transcript: isOurs ? path : undefined,
    isAgain: ["true", "1", "yes"].includes(String(again).toLowerCase()),
    fault: typeof document === "string" ? document : faultOf(path, isOurs),
  };
}

/** Returns the document, or its fault. */
function readDocument(text: string): Record<string, unknown> | string {
  if (text.trim() === "") return "nothing came on stdin, a JSON document was expected";
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // The fault is reported below.
  }
  return `what came on stdin is no JSON document (${plural(text.length, "character")})`;
}

/** A session may have no transcript. */
function faultOf(path: unknown, isOurs: boolean): string {
  if (path === undefined || path === null || path === "" || isOurs) return "";
  return `transcript_path is no transcript, a .jsonl or .json file: ${JSON.stringify(path).slice(0, PATH_SHOWN_MAX)}`;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function usage(message: string): PalaceError {
  return new PalaceError("CONFIG_USAGE", message, "mempalace hook --help");
}
