/**
 * Asks the palace from inside an agent's process by running `palace hook`, which limits the time, quotes the text and files the session. No
 * function here throws. The build bundles this file into the extensions that `palace install` copies.
 */
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseRecord } from "../../base/parse-json.ts";
import type { Env } from "../../config/env.ts";
import { harnessEnv, type HarnessSettings, readHarness } from "../../config/harness.ts";
import { within } from "../../base/time-limit.ts";
import type { Exchange } from "../signal/signals.ts";
import { detach } from "./detach.ts";

/** Time to wait for a hook after its time limit, and for a process to read its input, ms. */
const GRACE_MS = 1_000;
/** Maximum wait for the wake-up text, ms. The text may arrive after the first turn. */
const WAKE_UP_MAX_MS = 15_000;
/** Maximum length of a hook's answer, characters. A longer answer counts as empty; `palace hook` itself never prints that much. */
const OUTPUT_MAX_CHARS = 131_072;

export type Hook = {
  argv: readonly string[];
  env: Env;
  agent: string;
  turnMaxMs: number;
  log: (line: string) => void;
  /** Folder of the project, if this process runs in another folder. */
  cwd?: string | undefined;
  /** Processes that are storing an exchange, by session. Each promise resolves when its process has ended. */
  ends: Map<string, Promise<void>>;
};
export type Session = { harness: "opencode" | "pi"; id: string };

/** Commands that start our programs. `palace install` inserts this constant at the top of the copied file. */
declare const PALACE_LAUNCH: { hook: readonly string[]; shim: readonly string[] };
const launch = typeof PALACE_LAUNCH === "undefined" ? undefined : PALACE_LAUNCH;

/** Reads the settings of the palace in PALACE_LAUNCH, or else of the user's own palace. */
export function readSettings(env: Env): HarnessSettings {
  const at = launch?.hook.indexOf("--palace") ?? -1;
  return readHarness(harnessEnv(env, at < 0 ? undefined : launch?.hook[at + 1]));
}

export function hookOf(settings: HarnessSettings, env: Env, agent: string, log: Hook["log"]): Hook {
  const argv = settings.hookCommand ?? launch?.hook ?? [...commandOf("palace"), "hook"];
  return { argv, env, agent, turnMaxMs: settings.turnMaxMs, log, ends: new Map() };
}

export function shimOf(settings: HarnessSettings): readonly string[] {
  return settings.mcpCommand ?? launch?.shim ?? commandOf("mempalace-mcp");
}

/** Returns our executable: from the package that contains this file, or from the PATH if this file is a copy. */
function commandOf(name: "palace" | "mempalace-mcp"): [string] {
  const file = fileURLToPath(new URL(`../../bin/${name === "palace" ? "palace.js" : "mp-shim.cjs"}`, import.meta.url));
  try {
    accessSync(file, constants.X_OK);
    return [file];
  } catch {
    return [name];
  }
}

/** Returns the wake-up text; empty if there is none. With `isResumed`, returns only a text that the session already got. */
export function askWakeUp(hook: Hook, { harness, id }: Session, isResumed: boolean): Promise<string> {
  const args = [
    "wake-up",
    "--session",
    nameOf({ harness, id }),
    "--agent",
    hook.agent,
    "--within",
    String(WAKE_UP_MAX_MS),
  ];
  const more = ["--cwd", hook.cwd ?? process.cwd(), ...(isResumed ? ["--resumed"] : [])];
  return ask(hook, `wake-up text of ${harness} ${id}`, [...args, ...more], WAKE_UP_MAX_MS);
}

/** Texts to add to a prompt: `scoring` asks for the outcome of the last exchange, `context` has the memories. Each may be empty. */
export type Beside = Readonly<{ scoring: string; context: string }>;

/** Texts that the agent no longer sees. `shown`: the memories that we added. `said`: also the conversation, after a compaction. */
export type Lost = "nothing" | "shown" | "said";
const LOST: Readonly<Record<Lost, readonly string[]>> = { nothing: [], shown: ["--fresh"], said: ["--compacted"] };

/**
 * Returns the texts for a prompt. First waits until the last exchange is stored, because the broker takes a prompt for the user's reaction
 * to the newest stored exchange. If that takes over half of a turn's time, returns no texts and does not report the turn to the broker.
 */
export async function askTurn(hook: Hook, session: Session, prompt: string, lost: Lost): Promise<Beside> {
  const name = nameOf(session);
  const startedAtMs = performance.now();
  await within(hook.ends.get(name), hook.turnMaxMs / 2);
  if (hook.ends.has(name)) {
    hook.log(`no turn of ${name}: its last exchange is still being stored`);
    return { scoring: "", context: "" };
  }
  const leftMs = Math.round(hook.turnMaxMs - (performance.now() - startedAtMs));
  const args = ["turn", "--session", name, "--agent", hook.agent, "--within", String(leftMs)];
  const text = await ask(hook, `turn of ${name}`, [...args, ...LOST[lost]], leftMs, {
    prompt,
    cwd: hook.cwd ?? process.cwd(),
  });
  const { scoring = "", context = "" } = parseRecord(text);
  return { scoring: String(scoring), context: String(context) };
}

async function ask(hook: Hook, what: string, args: string[], maxMs: number, input?: object): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const [command = "", ...first] = hook.argv;
  try {
    const child = spawn(command, [...first, ...args], { env: hook.env, stdio: ["pipe", "pipe", "ignore"] });
    // The process may end before it reads its input.
    child.stdin.on("error", () => {}).end(input === undefined ? "" : JSON.stringify(input));
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
    child.once("error", (error) => {
      hook.log(`no ${what}: ${error.message}`);
      resolve("");
    });
    child.once("close", (code) =>
      resolve(code === 0 && text.length <= OUTPUT_MAX_CHARS ? text.replace(/\n$/, "") : ""),
    );
    const answer = await within(promise, maxMs + GRACE_MS);
    if (answer === undefined) child.kill("SIGKILL");
    hook.log(`${what}: ${answer?.length ?? 0} characters`);
    return answer ?? "";
  } catch (error) {
    hook.log(`no ${what}: ${String(error)}`);
    return "";
  }
}

function nameOf({ harness, id }: Session): string {
  return `${harness}/${id}`;
}

/** Sends an exchange to a process that outlives this one. Waits until that process has read it, at most GRACE_MS. */
export async function endTurn(hook: Hook, session: Session, said: Exchange): Promise<void> {
  const { harness, id } = session;
  const name = nameOf(session);
  const args = ["turn-end", "--session", name, "--agent", hook.agent];
  const input = JSON.stringify({ ...said, cwd: hook.cwd ?? process.cwd() });
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended = Promise.all([hook.ends.get(name), promise]).then(() => {
    if (hook.ends.get(name) === ended) hook.ends.delete(name);
  });
  hook.ends.set(name, ended);
  const read = detach([...hook.argv, ...args], {
    ...hook,
    input,
    problem: `an exchange of ${harness} ${id} is not kept`,
    onExit: resolve,
  });
  hook.log(`an exchange of ${harness} ${id} is handed over`);
  await within(read, GRACE_MS);
}

/** Files the new part of a session, in a process that outlives this one. */
export function handOver(hook: Hook, { harness, id }: Session): void {
  const args = ["file", "--from", harness, "--session", id];
  void detach([...hook.argv, ...args], { ...hook, problem: `${harness} ${id} is not filed` });
  hook.log(`${harness} ${id} is handed over`);
}

export function debugLog(isDebug: boolean): (line: string) => void {
  return isDebug ? (line) => void process.stderr.write(`palace: ${line}\n`) : () => {};
}
