/**
 * `palace hook`: agents' hooks, the pi extension and the opencode plugin run it. It never fails an agent or delays it by
 * more than one second, counted from the start of the process; then it ends without an answer. stdout carries only the
 * answer; errors go to the log.
 */
import { spawn } from "node:child_process";
import { setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { isRecord } from "../../base/is-record.ts";
import { parseAs } from "../../base/parse-json.ts";
import { connectClient, type Client } from "../../wire/client/client.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { readHarness } from "../../config/harness.ts";
import { isCompacted, markCompacted, unmarkCompacted } from "../../agents/claude/compacted.ts";
import { answer, type Doors, type HookInput, readInput } from "../../agents/claude/events.ts";
import { readTranscriptEnd } from "../../agents/claude/transcript-end.ts";
import { lastExchange } from "../../agents/claude/exchange.ts";
import { fileSession } from "../../agents/filing.ts";
import { askJudge } from "../../agents/judge/judge-model.ts";
import { spoolExchange, worthWaiting } from "../../agents/late-turn.ts";
import { recallText } from "../../agents/recall.ts";
import {
  askBeside,
  type Asking,
  type Beside,
  keepExchange,
  keepJudgment,
  owedScore,
  readTurn,
  type Turn,
} from "../../agents/turn.ts";
import type { Exchange } from "../../agents/signal/signals.ts";
import { wingsOfProject } from "../feeding/project-wings.ts";
import { keepText, keptText, wakeUpText } from "../../agents/wake-up.ts";
import { newKey } from "../../base/ids.ts";
import { within } from "../../base/time-limit.ts";
import type { OwedScore } from "../../protocol/outcome.ts";
import { executable } from "../executable.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { hasPalace } from "../terminal/place.ts";
import { readJsonObject } from "../terminal/stdin-object.ts";
import { savesByItself } from "../upstream/hook-settings.ts";
import { usageError, type Verb } from "../define-verb.ts";

/** Reserved for writing the answer. */
const LEAVING_MS = 50;
/** How long a hook waits for a transcript that is still being written, and how often it looks. */
const LATE_MAX_MS = 300;
const LATE_STEP_MS = 20;
/** How long an exchange is offered to a broker before it is spooled; it begins while its transcript may still be written. */
const OFFER_MAX_MS = LATE_MAX_MS + 300;
/** Reserved for writing down an exchange that no broker has taken. */
const SPOOLING_MS = 100;
/** A session is still filed on a machine where the start alone takes the second. */
const WORK_MIN_MS = 250;
/** Nobody waits for this text: the agent goes on and gets it with its next prompt. */
const WITHIN_MAX_MS = 60_000;
/** Nobody waits for it. */
const EXCHANGE_MAX_MS = 30_000;

const USAGE = `palace hook claude-code [--within MS]
palace hook wake-up [--session ID] [--resumed] [--cwd DIR] [--agent NAME] [--within MS]
palace hook turn --session NAME/ID [--fresh | --compacted] [--agent NAME] [--within MS]
palace hook turn-end --session NAME/ID [--agent NAME]
palace hook judge --session NAME/ID [--agent NAME]
palace hook file --from opencode|claude-code|pi --session ID

For coding agents; \`palace install\` enters it. It never fails an agent and takes a second at most (\`palace config get turn-max-ms\`): without a memory it says nothing.

  claude-code  reads a hook's JSON from stdin: a session that begins is told what the palace says, one that pauses, is about to
               be compacted or ends is filed
  wake-up      prints that text; --resumed: only what the same session was told before; --cwd DIR: the agent's folder, whose
               project comes first
  turn         reads {"prompt", "cwd"} from stdin and prints what memory with outcomes (MEMPALACE_OUTCOMES) says beside that prompt:
               {"scoring", "context"}; --fresh: the agent no longer sees what it was shown before; --compacted: nor what
               was said, whose last exchanges are told
  turn-end     reads {"user", "assistant", "cwd", "signals"} from stdin and keeps that exchange, in 30 s at most: what the
               user says next judges it, and so do signals (docs/explanation/learning.md); without a broker it waits for one on disk
  judge        reads from stdin what turn-end tells of a score that is owed, where the agent has not scored, and has the model of
               MEMPALACE_JUDGE_URL judge it, in 30 s at most (what went wrong stands in hook.log)
  file         files what is new in a session, in one process a session (what went wrong stands in hook.log of the state folder);
               after every 15 messages of the user in opencode, an entry in its diary too
  --within MS  milliseconds it may take (default: the setting turn-max-ms)`;

/** `untilMs`: when it ends without an answer, since the start of the process. */
type Scene = { config: Config; env: Env; log: (line: string) => void; agent: string; untilMs: number };

const OPTIONS = {
  palace: { type: "string" },
  session: { type: "string" },
  resumed: { type: "boolean" },
  cwd: { type: "string" },
  fresh: { type: "boolean" },
  compacted: { type: "boolean" },
  agent: { type: "string" },
  within: { type: "string" },
  from: { type: "string" },
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
} as const;
type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

export const verb: Verb = {
  usage: USAGE,
  execute: async (argv, env) => {
    const { values, positionals } = parse(argv);
    const [what = ""] = positionals;
    if (values.help === true || what === "") {
      process.stdout.write(`${USAGE}\n`);
      return 0;
    }
    if (what === "claude-code") await bounded(values, env, claudeCode);
    else if (what === "wake-up") await bounded(values, env, wakeUp);
    else if (what === "turn") await bounded(values, env, turn);
    else if (what === "turn-end") await bounded(values, env, turnEnd, EXCHANGE_MAX_MS);
    else if (what === "judge") await bounded(values, env, judge, EXCHANGE_MAX_MS);
    else if (what === "file") await file(values, env);
    else process.stderr.write(`palace hook: there is no hook ${what}; palace hook --help\n`);
    return 0;
  },
};

/** An unknown option, from another version's hook entry, must not stop an agent, as exit code 2 would. */
function parse(argv: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    process.stderr.write(`palace hook: ${usageError(USAGE, (error as Error).message).message}\n`);
    return { values: {}, positionals: ["none"] };
  }
}

/** Time counts from the start of the process. The answer is written at once and whole. */
async function bounded(
  values: Values,
  env: Env,
  work: (scene: Scene, values: Values) => Promise<string>,
  usualMs?: number,
): Promise<void> {
  let log = (_line: string): void => {};
  try {
    const begun = sceneOf(values, env);
    ({ log } = begun);
    const within = /^\d{1,6}$/.test(values.within ?? "") ? Number(values.within) : usualMs;
    const budgetMs = Math.min(within ?? readHarness(begun.config.settings.env).turnMaxMs, WITHIN_MAX_MS);
    const leftMs = Math.max(budgetMs - LEAVING_MS - performance.now(), WORK_MIN_MS);
    setTimeout(() => {
      log(`nothing was said: it took longer than ${budgetMs} ms`);
      process.exit(0);
    }, leftMs);
    const scene = { ...begun, untilMs: performance.now() + leftMs };
    const text = await work(scene, values);
    if (text !== "") process.stdout.write(`${text}\n`);
  } catch (error) {
    log(String(error));
  }
}

/** Errors: CONFIG_BAD_VALUE. */
function sceneOf(values: Values, env: Env): Scene {
  const config = loadConfig(env, { palace: values.palace });
  const write = logFile(join(config.paths.stateDir, "hook.log"));
  const agent = values.agent ?? config.agentName ?? "palace hook";
  return { config, env, agent, untilMs: Infinity, log: (line) => write(`${new Date().toISOString()} ${line}\n`) };
}

async function claudeCode(scene: Scene): Promise<string> {
  const input = readInput(process.stdin.isTTY ? "" : await readJsonObject(process.stdin));
  if (input === undefined) {
    scene.log("claude-code: what came on stdin is no JSON object");
    return "";
  }
  const agent = scene.config.agentName ?? "claude-code";
  const settings = readHarness(scene.config.settings.env);
  const doors: Doors = {
    wakeUp: () => {
      if (input.source === "compact" && settings.outcomes !== "off") markCompacted(scene.config, input.session);
      return wakeUp({ ...scene, agent }, { session: `claude-code/${input.session}`, cwd: input.cwd });
    },
    recall: async (prompt) => {
      if (!settings.recall) return "";
      const ask = (client: Client): Promise<string> => recallText(client, prompt, settings.injectedMaxBytes);
      return (await withClient({ ...scene, agent }, ask)) ?? "";
    },
    turn: async (prompt) => {
      const hasLost = isCompacted(scene.config, input.session);
      const beside = await tell({ ...scene, agent }, turnOf(input), { prompt, isCompacted: hasLost });
      const told = [beside?.scoring, beside?.context].filter(Boolean).join("\n");
      // An answer that comes too late is empty, and says of nothing that it was shown.
      if (hasLost && told !== "") unmarkCompacted(scene.config, input.session);
      return told;
    },
    turnEnded: () =>
      keep({ ...scene, agent }, turnOf(input), () =>
        exchangeOf(input, scene.untilMs - SPOOLING_MS, settings.testCommands),
      ),
    file: (session) => fileBeside(scene, session),
  };
  return answer(input, doors);
}

async function wakeUp(scene: Scene, { session, resumed, cwd = "" }: Values): Promise<string> {
  const { config } = scene;
  const settings = readHarness(config.settings.env);
  if (!settings.wakeUp) return "";
  if (resumed === true) return session === undefined ? "" : (keptText(config, session) ?? "");
  const project = await wingsOfProject(cwd);
  const text = (await withClient(scene, (client) => wakeUpText({ config, settings, client, project }))) ?? "";
  if (session !== undefined && text !== "") keepText(config, session, text);
  return text;
}

function turnOf({ session, cwd }: HookInput): Turn {
  return { conversation: `claude-code/${session}`, cwd };
}

/** Asks for what is put beside the turn; undefined if outcomes are off or the palace does not exist. */
async function tell(
  scene: Scene,
  turn: Turn,
  asking: Omit<Asking, "isScoped" | "withinMs">,
): Promise<Beside | undefined> {
  const { outcomes } = readHarness(scene.config.settings.env);
  if (outcomes === "off") return undefined;
  return withClient(scene, (client) => {
    const withinMs = Math.max(scene.untilMs - performance.now() - LEAVING_MS, 0);
    return askBeside(client, turn, { ...asking, withinMs, isScoped: outcomes === "project" });
  });
}

/**
 * Reads the transcript's last exchange, for up to `LATE_MAX_MS` until it is whole. The host writes its transcript a
 * moment after it has called the hook: a tool's answer may still be missing.
 */
async function exchangeOf(
  { transcript, lastAnswer }: HookInput,
  untilMs: number,
  testCommands: readonly string[],
): Promise<Exchange> {
  const lateMs = Math.min(performance.now() + LATE_MAX_MS, untilMs - LATE_STEP_MS);
  for (;;) {
    const exchange = lastExchange(readTranscriptEnd(transcript), lastAnswer, testCommands);
    if (exchange.isWhole || performance.now() >= lateMs) return exchange;
    await sleep(LATE_STEP_MS);
  }
}

/** Spools an exchange that no broker takes in time; while time is left it is offered on. */
async function keep(scene: Scene, turn: Turn, say: () => Exchange | Promise<Exchange>): Promise<void> {
  const { outcomes, judge } = readHarness(scene.config.settings.env);
  const { config, agent, untilMs, log } = scene;
  if (outcomes === "off" || !hasPalace(config)) return;
  const [said, key, atMs] = [Promise.resolve(say()), newKey(), Date.now()];
  // A rejection reaches those who await `said` below; this handler keeps it from being unhandled until then.
  said.catch(() => {});
  const offer = withClient(scene, async (client) => {
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

/** Has the judge model asked in a process of its own: it may take longer than anybody waits. */
function judgeBeside(scene: Scene, { conversation }: Turn, owed: OwedScore): Promise<void> {
  const { config, agent } = scene;
  const args = ["judge", ...config.handedOn().palace, "--session", conversation, "--agent", agent];
  return detach(scene, args, "an exchange is not judged", JSON.stringify(owed));
}

async function judge(scene: Scene, { session = "" }: Values): Promise<string> {
  const { judge: settings } = readHarness(scene.config.settings.env);
  if (settings === undefined || session === "") return "";
  const owed = parseAs(await readJsonObject(process.stdin), isOwed);
  if (owed === undefined) return "";
  const judgment = await askJudge(settings, owed);
  const turn = { conversation: session, cwd: "" };
  const judged = await withClient(scene, (client) => keepJudgment(client, turn, owed, judgment));
  scene.log(`${settings.model} has judged ${judged ?? 0} of ${session}`);
  return "";
}

async function turn(scene: Scene, { session = "", fresh = false, compacted = false }: Values): Promise<string> {
  const { prompt, cwd } = readTurn(await readJsonObject(process.stdin));
  if (prompt.trim() === "" || session === "") return "";
  const beside = await tell(scene, { conversation: session, cwd }, { prompt, isFresh: fresh, isCompacted: compacted });
  return beside === undefined ? "" : JSON.stringify({ scoring: beside.plainScoring, context: beside.context });
}

async function turnEnd(scene: Scene, { session = "" }: Values): Promise<string> {
  const said = readTurn(await readJsonObject(process.stdin));
  if (session !== "") await keep(scene, { conversation: session, cwd: said.cwd }, () => said);
  return "";
}

/** Calls `ask` with a client; returns undefined if the palace does not exist, since a look must not begin one. */
async function withClient<T>({ config, agent }: Scene, ask: (client: Client) => Promise<T>): Promise<T | undefined> {
  if (!hasPalace(config)) return undefined;
  const client = await connectClient({ config, agent, start: "auto" });
  return ask(client).finally(() => client.close());
}

/** Files in a process of its own, which outlives the hook and the agent. */
function fileBeside(scene: Scene, session: string): void {
  const { config } = scene;
  if (!hasPalace(config) || !savesByItself(config)) return;
  const args = ["file", ...config.handedOn().palace, "--from", "claude-code", "--session", session];
  void detach(scene, args, "a session could not be filed");
}

/** Runs another hook, which outlives this one and the agent. Resolves when it has all of its input. */
async function detach({ env, log }: Scene, args: readonly string[], problem: string, input = ""): Promise<void> {
  const [command, palace] = executable("palace");
  const stdio = ["pipe", "ignore", "ignore"] as const;
  const child = spawn(command, [palace, "hook", ...args], { env, stdio: [...stdio], detached: true, cwd: "/" });
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once("error", (error) => {
    log(`${problem}: ${error.message}`);
    resolve();
  });
  child.unref();
  child.stdin.on("error", () => resolve()).end(input, () => resolve());
  await promise;
}

async function file(values: Values, env: Env): Promise<void> {
  const { from = "", session = "" } = values;
  const scene = sceneOf(values, env);
  const { config, log } = scene;
  if (session === "" || !hasPalace(config) || !savesByItself(config)) return;
  try {
    // The agent's own turn has priority.
    setPriority(10);
    await fileSession({
      folder: join(config.paths.stateDir, "filing"),
      harness: from,
      session: `${config.paths.home}\0${session}`,
      mine: async () => {
        await mine(config, env, from, session);
        if (from === "opencode") await keepDiary(scene, session);
      },
    });
  } catch (error) {
    log(`${from} ${session} is not filed, the next time it will be: ${String(error)}`);
  }
}

async function mine(config: Config, env: Env, from: string, session: string): Promise<void> {
  const { verb: sessions } = await import("./sessions.ts");
  await sessions.execute([...config.handedOn().palace, "--from", from, "--session", session, "--quiet"], env);
}

/** In pi the user asks for an entry, and for Claude Code MemPalace has a hook of its own. Never throws: the session is filed. */
async function keepDiary({ config, agent, log }: Scene, session: string): Promise<void> {
  try {
    const { diaryOfOpencode } = await import("../feeding/diary.ts");
    const count = await diaryOfOpencode(config, agent, session);
    if (count !== undefined) log(`opencode ${session}: after ${count} messages, an entry in the diary of ${agent}`);
  } catch (error) {
    log(`opencode ${session}: no entry in the diary of ${agent}, the next time there will be: ${String(error)}`);
  }
}

function isOwed(value: unknown): value is OwedScore {
  return isRecord(value) && typeof value["reply"] === "string" && Array.isArray(value["memories"]);
}
