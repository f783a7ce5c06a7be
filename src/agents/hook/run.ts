/** Implements `palace hook`. Each hook returns its answer, which may be empty; errors go to the log. */
import { isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { newKey } from "../../base/ids.ts";
import { isRecord, parseAs } from "../../base/parse-json.ts";
import { projectNames } from "../../base/project-names.ts";
import { readTail } from "../../base/regular-file.ts";
import { within } from "../../base/time-limit.ts";
import { readHarness } from "../../config/harness.ts";
import type { OwedScore } from "../../protocol/outcome.ts";
import type { Client } from "../../wire/client/client.ts";
import { context, type HookInput, isBeginning, isSessionId, readInput } from "../claude/events.ts";
import { lastExchange } from "../claude/exchange.ts";
import { detach } from "../extension/detach.ts";
import { askJudge } from "../judge/judge-model.ts";
import { spoolExchange, worthWaiting } from "../late-turn.ts";
import { recallText } from "../recall.ts";
import type { Exchange } from "../signal/signals.ts";
import { askBeside, type Asking, type Beside, keepExchange, keepJudgment, owedScore, readTurn } from "../turn.ts";
import type { Turn } from "../turn.ts";
import { dropNote, keepNote, keptNote } from "../session-note.ts";
import { wakeUpText } from "../wake-up.ts";
import { saveSettings } from "./save-settings.ts";
import { type Scene, type Values, withHookClient } from "./scene.ts";
import { readJsonObject } from "./stdin-object.ts";
import { orElse } from "../../base/or-else.ts";

/** Time reserved to write the answer. */
const LEAVING_MS = 50;
/** Maximum wait for a transcript that the agent is still writing; it is read every `LATE_STEP_MS`. */
const LATE_MAX_MS = 300;
const LATE_STEP_MS = 20;
/** Bytes to read from the end of a transcript, enough for the last exchange. */
const TRANSCRIPT_READ_BYTES = 2 * 1024 ** 2;
/** Maximum time to offer an exchange to a broker before it is spooled. This time includes the wait for an incomplete transcript. */
const OFFER_MAX_MS = LATE_MAX_MS + 300;
/** Time reserved to spool an exchange that no broker has taken. */
const SPOOLING_MS = 100;
/** Minimum time for a hook's work. A hook that starts too late to answer in time still files the session. */
const WORK_MIN_MS = 250;
/** Maximum time limit of a hook, also with `--within`. */
const WITHIN_MAX_MS = 60_000;
/** Time limit of the hooks for which no agent waits. */
const EXCHANGE_MAX_MS = 30_000;

/** `untilMs`: time after the start of the process at which the hook ends without an answer. */
type Timed = Scene & { untilMs: number };
type Hook = (scene: Timed, values: Values) => Promise<string>;

/** Maps each hook to its work and its time limit. `--within` overrides the limit. A hook without a limit here has a turn's limit. */
const HOOKS: Readonly<Record<string, readonly [work: Hook, usualMs?: number]>> = {
  "claude-code": [claudeCode],
  "wake-up": [wakeUp],
  turn: [turn],
  "turn-end": [turnEnd, EXCHANGE_MAX_MS],
  judge: [judge, EXCHANGE_MAX_MS],
};

export function isHook(what: string): boolean {
  return Object.hasOwn(HOOKS, what);
}

/** Returns the hook's answer. Ends the process without an answer if the limit, counted from the process's start, is over. Never throws. */
export async function runHook(what: string, scene: Scene, values: Values): Promise<string> {
  const [work = turn, usualMs] = HOOKS[what] ?? [];
  const named = /^\d{1,6}$/.test(values.within ?? "") ? Number(values.within) : usualMs;
  const budgetMs = Math.min(named ?? readHarness(scene.config.settings.env).turnMaxMs, WITHIN_MAX_MS);
  const leftMs = Math.max(budgetMs - LEAVING_MS - performance.now(), WORK_MIN_MS);
  setTimeout(() => {
    scene.log(`printed nothing: it took longer than ${budgetMs} ms`);
    process.exit(0);
  }, leftMs);
  try {
    return await work({ ...scene, untilMs: performance.now() + leftMs }, values);
  } catch (error) {
    scene.log(String(error));
    return "";
  }
}

async function claudeCode(scene: Timed): Promise<string> {
  const input = readInput(await readJsonObject(process.stdin));
  if (input === undefined) {
    scene.log("claude-code: stdin is not a JSON object");
    return "";
  }
  const { event, session, prompt, isSubagent, isGoneOn } = input;
  switch (event) {
    case "SessionStart":
      return isBeginning(input) ? context(event, await begin(scene, input)) : "";
    case "UserPromptSubmit":
      return prompt === "" || isSubagent ? "" : context(event, await besidePrompt(scene, input));
    case "Stop":
      fileBeside(scene, session);
      if (!isSubagent && !isGoneOn) await keep(scene, turnOf(input), () => exchangeOf(scene, input));
      return "";
    case "PreCompact":
    case "SessionEnd":
      fileBeside(scene, session);
      return "";
    default:
      return "";
  }
}

function begin(scene: Timed, { source, session, cwd }: HookInput): Promise<string> {
  const { config } = scene;
  if (source === "compact" && readHarness(config.settings.env).outcomes !== "off")
    keepNote(config, "compacted", session);
  return wakeUp(scene, { session: `claude-code/${session}`, cwd });
}

async function besidePrompt(scene: Timed, input: HookInput): Promise<string> {
  const { prompt, session } = input;
  const hasLost = keptNote(scene.config, "compacted", session) !== undefined;
  const told = await tell(scene, turnOf(input), { prompt, isCompacted: hasLost }, true);
  const { scoring = "", context = "", drawers = "" } = told ?? {};
  // Without texts, for example because the broker answered too late, the note stays, and the next prompt tries again.
  if (hasLost && (scoring !== "" || context !== "")) dropNote(scene.config, "compacted", session);
  return [scoring, context, drawers].filter(Boolean).join("\n");
}

async function wakeUp(scene: Scene, { session, resumed, cwd = "" }: Values): Promise<string> {
  const { config } = scene;
  const settings = readHarness(config.settings.env);
  if (!settings.wakeUp) return "";
  if (resumed === true) return session === undefined ? "" : (keptNote(config, "wake-up", session) ?? "");
  const names = projectNames(cwd, config.model.userHome);
  // The wing of a diary has the project's name after `wing_`.
  const project = names.flatMap((name) => [name, `wing_${name}`]);
  const text = (await withHookClient(scene, (client) => wakeUpText({ config, settings, client, project }))) ?? "";
  if (session !== undefined && text !== "") keepNote(config, "wake-up", session, text);
  return text;
}

function turnOf({ session, cwd }: HookInput): Turn {
  return { conversation: `claude-code/${session}`, cwd };
}

/** Returns the texts for a prompt; with `canRecall` also drawers. Undefined if no palace exists or the settings turn everything off. */
async function tell(
  scene: Timed,
  turn: Turn,
  asking: Omit<Asking, "isScoped" | "withinMs">,
  canRecall = false,
): Promise<(Partial<Beside> & { drawers: string }) | undefined> {
  const { outcomes, recall, injectedMaxBytes } = readHarness(scene.config.settings.env);
  const isRecalling = canRecall && recall;
  if (outcomes === "off" && !isRecalling) return undefined;
  const ask = async (client: Client): Promise<Partial<Beside> & { drawers: string }> => {
    const withinMs = Math.max(scene.untilMs - performance.now() - LEAVING_MS, 0);
    const isScoped = outcomes === "project";
    const [beside, drawers] = await Promise.all([
      outcomes === "off" ? undefined : askBeside(client, turn, { ...asking, withinMs, isScoped }),
      isRecalling ? recallText(client, asking.prompt, injectedMaxBytes) : "",
    ]);
    return { ...beside, drawers };
  };
  return withHookClient(scene, ask, isRecalling ? projectNames(turn.cwd, scene.config.model.userHome) : []);
}

/** Waits up to `LATE_MAX_MS` for the results of all tools, because the host may write the transcript's end just after it calls the hook. */
async function exchangeOf({ config, untilMs }: Timed, { transcript, lastAnswer }: HookInput): Promise<Exchange> {
  const { testCommands } = readHarness(config.settings.env);
  const lateMs = Math.min(performance.now() + LATE_MAX_MS, untilMs - SPOOLING_MS - LATE_STEP_MS);
  for (;;) {
    const exchange = lastExchange(endOf(transcript), lastAnswer, testCommands);
    if (exchange.isWhole || performance.now() >= lateMs) return exchange;
    await sleep(LATE_STEP_MS);
  }
}

/** Returns an empty text if the path is relative or the file is unreadable. */
function endOf(transcript: string): string {
  return orElse(() => (isAbsolute(transcript) ? readTail(transcript, TRANSCRIPT_READ_BYTES) : ""), "");
}

/** Offers an exchange to a broker, and spools it if no broker takes it in time. The offer continues until the hook's time is over. */
async function keep(scene: Timed, turn: Turn, say: () => Exchange | Promise<Exchange>): Promise<void> {
  const { outcomes, judge } = readHarness(scene.config.settings.env);
  const { config, agent, untilMs, log, host } = scene;
  if (outcomes === "off" || !host.hasPalace(config)) return;
  const [said, key, atMs] = [Promise.resolve(say()), newKey(), Date.now()];
  // Prevents an "unhandled rejection" until the code below awaits `said`.
  said.catch(() => {});
  const offer = withHookClient(scene, async (client) => {
    const exchange = await said;
    const owed = judge === undefined ? null : await owedScore(client, turn, exchange.user);
    await keepExchange(client, turn, exchange, key);
    if (owed !== null) await judgeBeside(scene, turn, owed);
    return "kept" as const;
  }).catch(worthWaiting);
  const end = await within(offer, Math.min(untilMs - performance.now() - SPOOLING_MS, OFFER_MAX_MS));
  if (end === "kept") return;
  let waiting: { remove: () => void } | undefined;
  try {
    waiting = spoolExchange({ config, agent, turn, exchange: await said, key, atMs });
    log(`an exchange of ${turn.conversation} waits for a broker: ${String(end ?? "none has answered")}`);
  } catch (error) {
    log(`an exchange of ${turn.conversation} cannot wait for a broker: ${String(error)}`);
  }
  if ((await within(offer, untilMs - performance.now() - LEAVING_MS)) === "kept") waiting?.remove();
}

/** Asks the judge model in a separate process, because the model may take longer than an agent waits. */
function judgeBeside(scene: Scene, { conversation }: Turn, owed: OwedScore): Promise<void> {
  const { config, agent, host } = scene;
  const args = ["judge", ...config.handedOn().palace, "--session", conversation, "--agent", agent];
  const input = JSON.stringify(owed);
  return detach([...host.palace, "hook", ...args], { ...scene, input, problem: "an exchange is not judged" });
}

async function judge(scene: Scene, { session = "" }: Values): Promise<string> {
  const { judge: settings } = readHarness(scene.config.settings.env);
  if (settings === undefined || session === "") return "";
  const owed = parseAs(await readJsonObject(process.stdin), isOwed);
  if (owed === undefined) return "";
  const judgment = await askJudge(settings, owed);
  const turn = { conversation: session, cwd: "" };
  const judged = await withHookClient(scene, (client: Client) => keepJudgment(client, turn, owed, judgment));
  scene.log(`${settings.model} has judged ${judged ?? 0} of ${session}`);
  return "";
}

async function turn(scene: Timed, { session = "", fresh = false, compacted = false }: Values): Promise<string> {
  const { prompt, cwd } = readTurn(await readJsonObject(process.stdin));
  if (prompt.trim() === "" || session === "") return "";
  const beside = await tell(scene, { conversation: session, cwd }, { prompt, isFresh: fresh, isCompacted: compacted });
  return beside === undefined ? "" : JSON.stringify({ scoring: beside.plainScoring, context: beside.context });
}

async function turnEnd(scene: Timed, { session = "" }: Values): Promise<string> {
  const said = readTurn(await readJsonObject(process.stdin));
  if (session !== "") await keep(scene, { conversation: session, cwd: said.cwd }, () => said);
  return "";
}

function fileBeside(scene: Scene, session: string): void {
  const { config, host } = scene;
  if (!isSessionId(session) || !host.hasPalace(config) || !saveSettings(config).autoSave) return;
  const args = ["file", ...config.handedOn().palace, "--from", "claude-code", "--session", session];
  void detach([...host.palace, "hook", ...args], { ...scene, problem: "a session could not be filed" });
}

function isOwed(value: unknown): value is OwedScore {
  return isRecord(value) && typeof value["reply"] === "string" && Array.isArray(value["memories"]);
}
