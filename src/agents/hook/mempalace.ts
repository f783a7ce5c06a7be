/** Answers `mempalace hook run` (palace.md 8.3). It never makes an agent fail: errors go to hook_state/hook.log. */
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import type { Config } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { type HookInput, readInput } from "../claude/events.ts";
import {
  type Checkpoint,
  CHECKPOINT_EVERY,
  countSinceLast,
  localTime,
  noteCount,
  writeCheckpoint,
} from "./checkpoint.ts";
import { mineBeside } from "./mine-beside.ts";
import { saveSettings } from "./save-settings.ts";
import { readJsonObject } from "./stdin-object.ts";
import { projectOf, readTalk, sessionName, themesOf } from "./talk.ts";

export const HOOK_NAMES = ["session-start", "stop", "session-end", "precompact"] as const;
/** Minimum size of a transcript; a smaller file has no conversation. */
const TRANSCRIPT_MIN_BYTES = 100;
/** Maximum time to mine before a compaction, ms. Agents give that hook 90 s. */
const PRECOMPACT_MAX_MS = 60_000;
const PATH_SHOWN_MAX = 200;

type Answer = Record<string, string>;
/** `agent`: owner of the diary. `palace`: the command line of our executable. */
type Asked = {
  config: Config;
  env: Env;
  agent: string;
  palace: readonly string[];
  openLog: (path: string) => (line: string) => void;
};
type Scene = Asked & {
  session: string;
  transcript: string | undefined;
  isGoneOn: boolean;
  stateDir: string;
  logFile: string;
  log: (line: string) => void;
};

export async function answerMempalace(asked: Asked, hook: string): Promise<Answer> {
  const text = await readJsonObject(process.stdin);
  const { settingsDir, home } = asked.config.paths;
  // Does not create a palace for a user who has none or has removed it.
  if (![settingsDir, home].some(isFolder) || !asked.config.hooks.autoSave) return {};
  const stateDir = join(settingsDir, "hook_state");
  const logFile = join(stateDir, "hook.log");
  const write = asked.openLog(logFile);
  const log = (line: string): void => write(`[${new Date().toTimeString().slice(0, 8)}] ${line}\n`);
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    const input = readInput(text);
    const fault = faultOf(text, input);
    if (fault !== "") log(`${hook}: ${fault}`);
    const transcript = input !== undefined && isTranscript(input.transcript) ? input.transcript : undefined;
    const session = sessionName(input?.session ?? "");
    const scene = { ...asked, session, transcript, isGoneOn: input?.isGoneOn === true, stateDir, logFile, log };
    if (hook === "stop") return await stop(scene);
    log(`${hook} of session ${session}`);
    if (hook === "session-start") return {};
    await mineTranscript(scene, undefined);
    // Agents exit within 1.5 s of a session's end, so `palace mine` runs in a process that outlives the hook.
    await mineFolder(scene, hook === "precompact" ? PRECOMPACT_MAX_MS : undefined);
  } catch (error) {
    log(`${hook} failed: ${String(error)}`);
  }
  return {};
}

async function stop(scene: Scene): Promise<Answer> {
  const { config, session, transcript, isGoneOn, agent, log, stateDir } = scene;
  const { autoSave, silentSave } = saveSettings(config);
  if (!autoSave || transcript === undefined || (!silentSave && isGoneOn)) return {};
  const talk = await readTalk(transcript);
  const project = projectOf(talk.cwd, transcript);
  const checkpoint: Checkpoint = { config, stateDir, agent, session, wing: `wing_${project}` };
  const unsaved = countSinceLast(checkpoint, talk);
  log(`session ${session}: ${talk.count} messages, ${unsaved} since the last checkpoint`);
  if (unsaved < CHECKPOINT_EVERY) return {};
  if (silentSave) {
    await writeCheckpoint(checkpoint, talk);
    writeFileAtomic(join(stateDir, "last_checkpoint"), JSON.stringify({ msgs: talk.texts.length, ts: localTime() }));
  } else noteCount(checkpoint, talk);
  await mineTranscript(scene, project);
  await mineFolder(scene);
  if (!silentSave) return { decision: "block", reason: reasonFor(project) };
  const themes = themesOf(talk);
  const of = themes.length > 0 ? ` — ${themes.join(", ")}` : "";
  return { systemMessage: `✦ 1 checkpoint saved — ${talk.texts.length} messages woven into the palace${of}` };
}

async function mineTranscript(scene: Scene, project: string | undefined): Promise<void> {
  const { transcript, log } = scene;
  if (transcript === undefined || (statSync(transcript, { throwIfNoEntry: false })?.size ?? 0) < TRANSCRIPT_MIN_BYTES)
    return;
  const wing = project ?? projectOf((await readTalk(transcript)).cwd, transcript);
  const isBegun = await mineBeside(scene, ["convos", transcript, "--wing", wing]);
  log(isBegun ? `mining ${transcript} into ${wing}` : `${transcript} is being mined already`);
}

async function mineFolder(scene: Scene, waitMs?: number): Promise<void> {
  const { mineDir } = scene.config.hooks;
  if (mineDir === undefined || !isFolder(mineDir)) return;
  const isBegun = await mineBeside(scene, ["projects", mineDir], waitMs);
  scene.log(isBegun ? `mining ${mineDir}` : `${mineDir} is being mined already`);
}

function reasonFor(project: string): string {
  return (
    `Save this session to the palace before you stop: mempalace_diary_write for what was done and learned, and ` +
    `mempalace_add_drawer for what must be kept word for word, in wing ${project}. Then go on.`
  );
}

function isTranscript(path: string): boolean {
  return /\.jsonl?$/.test(path) && !path.split(/[/\\]/).includes("..");
}

/** Returns why the hook's input is unusable; empty if it is usable. The input may lack a transcript. */
function faultOf(text: string, input: HookInput | undefined): string {
  if (text.trim() === "") return "nothing came on stdin, a JSON document was expected";
  if (input === undefined) return `stdin is not a JSON document (${text.length} characters)`;
  const { transcript } = input;
  if (transcript === "" || isTranscript(transcript)) return "";
  return `transcript_path is not a transcript (a .jsonl or .json file): ${JSON.stringify(transcript).slice(0, PATH_SHOWN_MAX)}`;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
