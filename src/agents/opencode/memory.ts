/** Adds the wake-up text, memories and the question for scores to opencode's sessions, and files the sessions. Serves opencode 1 and 2. */
import type { Env } from "../../config/env.ts";
import type { HarnessSettings } from "../../config/harness.ts";
import { within } from "../../base/time-limit.ts";
import {
  askTurn,
  askWakeUp,
  debugLog,
  endTurn,
  handOver,
  type Hook,
  hookOf,
  readSettings,
  type Session,
} from "../extension/hook.ts";
import { Turns } from "./turns.ts";

export const COMPACTING =
  "Say in the summary that the whole of this session is filed in the memory palace, and that mempalace_search finds what the summary leaves out.";
/** Maximum wait for opencode's answer about a session, ms. */
export const LOOK_MAX_MS = 500;

/** Wake-up text of a session. `isFixed`: a request to the model had the text; later requests get the same text, for prompt caches. */
type Told = { text: Promise<string>; isFixed: boolean };

export type Find = (id: string) => Promise<{ parentID?: string | undefined } | undefined>;

/** `cwd`: the project's folder, if the process runs in another folder. */
export type MemoryParts = { env: Env; find?: Find | undefined; cwd?: string | undefined };

const sessionOf = (id: string): Session => ({ harness: "opencode", id });

export class Memory {
  readonly turns: Turns;
  readonly #settings: HarnessSettings;
  readonly #log: Hook["log"];
  readonly #hook: Hook;
  readonly #find: Find | undefined;
  readonly #told = new Map<string, Told>();
  /** Sessions that began in this process or that `isChild` has looked up. */
  readonly #known = new Set<string>();
  readonly #children = new Set<string>();
  /** Sessions with messages since they were last filed. */
  readonly #unfiled = new Set<string>();
  readonly #asked = new Map<string, Promise<void>>();
  readonly #keeping = new Set<Promise<void>>();

  constructor({ env, find, cwd }: MemoryParts) {
    this.#settings = readSettings(env);
    this.turns = new Turns(this.#settings.testCommands);
    this.#log = debugLog(this.#settings.isDebug);
    const agent = this.#settings.agentName ?? "opencode";
    this.#hook = { ...hookOf(this.#settings, { ...env, MEMPALACE_AGENT_NAME: agent }, agent, this.#log), cwd };
    this.#find = find;
  }

  async safely(what: string, work: () => Promise<void> | void): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log(`${what}: ${String(error)}`);
    }
  }

  /** Registers a new session. A subagent gets no wake-up text, because its caller gives it the task. */
  begun(id: string, parentID: string | undefined): void {
    this.#known.add(id);
    if (parentID !== undefined) this.#children.add(id);
    else if (this.#settings.wakeUp) this.#tell(id, false);
  }

  isKnownChild(id: string): boolean {
    return this.#children.has(id);
  }

  /** Returns true if the session has not asked for its wake-up text. */
  isNew(id: string): boolean {
    return !this.#told.has(id);
  }

  /** Returns true for a subagent's session, even if it began before opencode's last start. */
  async isChild(id: string): Promise<boolean> {
    if (!this.#known.has(id) && this.#find !== undefined) {
      const found = this.#find(id).catch((error: unknown) => void this.#log(`session: ${String(error)}`));
      const data = await within(found, LOOK_MAX_MS);
      if (data !== undefined) this.#known.add(id);
      if (data?.parentID !== undefined) this.#children.add(id);
    }
    return this.#children.has(id);
  }

  /** Prepares the texts for a prompt. `isResumed`: the session began earlier, so it gets only the stored wake-up text. */
  prompted(id: string, message: string | undefined, prompt: string, isResumed: boolean): void {
    this.#unfiled.add(id);
    if (this.#settings.outcomes !== "off" && prompt !== "" && message !== undefined) {
      this.turns.begin(id, message, prompt);
      const asking = askTurn(this.#hook, sessionOf(id), prompt, this.turns.lost(id));
      this.#asked.set(
        id,
        asking
          .then((beside) => this.turns.tell(id, message, beside))
          .catch((error: unknown) => this.#log(`turn: ${String(error)}`)),
      );
    }
    // Asks early, so that the text is ready when opencode calls the model.
    if (this.#settings.wakeUp) this.#tell(id, isResumed);
  }

  /** Returns the wake-up text of a session, always the same bytes; empty if it is not ready in time. */
  async wakeUp(id: string): Promise<string> {
    if (!this.#settings.wakeUp || this.#children.has(id)) return "";
    const kept = this.#tell(id, true);
    const text = kept.isFixed ? await kept.text : ((await within(kept.text, this.#settings.turnMaxMs)) ?? "");
    if (!kept.isFixed) this.#told.set(id, { text: Promise.resolve(text), isFixed: true });
    return text;
  }

  /** Waits for the texts for the last prompt, at most `turnMaxMs`. */
  async asked(id: string): Promise<void> {
    await within(this.#asked.get(id), this.#settings.turnMaxMs);
  }

  /** Files the session, which opencode is about to summarize. The next prompt may show memories again, because the summary drops them. */
  compacting(id: string): void {
    this.turns.compacted(id);
    this.#unfiled.add(id);
    this.#file(id);
  }

  /** Stores the exchange and files the session, because its agent is idle. */
  rested(id: string): void {
    this.#keep(id);
    this.#file(id);
  }

  deleted(id: string): void {
    this.#told.delete(id);
    this.turns.drop(id);
    this.#asked.delete(id);
    this.#known.delete(id);
  }

  async close(): Promise<void> {
    for (const id of this.#unfiled) this.#file(id);
    await Promise.all(this.#keeping);
  }

  #tell(id: string, isResumed: boolean): Told {
    const before = this.#told.get(id);
    if (before !== undefined) return before;
    const fresh = { text: askWakeUp(this.#hook, sessionOf(id), isResumed), isFixed: false };
    this.#told.set(id, fresh);
    return fresh;
  }

  #file(id: string): void {
    if (this.#unfiled.delete(id)) handOver(this.#hook, sessionOf(id));
  }

  #keep(id: string): void {
    const said = this.turns.end(id);
    if (said === undefined) return;
    const kept = endTurn(this.#hook, sessionOf(id), said).finally(() => this.#keeping.delete(kept));
    this.#keeping.add(kept);
  }
}
