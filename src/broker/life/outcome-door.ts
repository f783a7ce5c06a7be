/**
 * Opens the broker's door at Roampal's port, on this machine's loopback, and tries again while the port is taken or a needed token is
 * missing. A separate process holds the port (door/held-port.ts), because Roampal's clients kill the process at their port when it answers
 * with an error.
 */
import { request } from "node:http";
import type { Log } from "../../base/log.ts";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { PalaceError } from "../../base/errors.ts";
import type { OutcomeDoorReport } from "../../protocol/spec.ts";
import type { OpenDoor } from "../door/door.ts";
import { type HeldPort, holdPort } from "../door/held-port.ts";
import { SERVICE } from "../outcome-api/health.ts";

export type OutcomeDoorOptions = {
  port: number;
  /** Socket to which the port's process passes the connections. */
  path: string;
  /** Opens the door at the socket. May throw any error. */
  open: () => Promise<OpenDoor>;
  /** True if programs of the broker's own user need no token. */
  isLocal: boolean;
  tokens: () => number;
  log: Log;
};

export const OUTCOME_HOST = "127.0.0.1";
const AGAIN_MS = 5_000;
/** Minimum lifetime of the port's process, ms. After a shorter life the broker waits before it restarts the process. */
const LIVED_MIN_MS = 1_000;
const ASK_MAX_MS = 2_000;
const BODY_MAX = 64 * 1024;

export class OutcomeDoor {
  readonly #options: OutcomeDoorOptions;
  #door: OpenDoor | undefined;
  #held: HeldPort | undefined;
  #shut = { why: "it is about to be opened", hint: "" };
  #again: NodeJS.Timeout | undefined;
  #trying: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: OutcomeDoorOptions) {
    this.#options = options;
  }

  report(): OutcomeDoorReport {
    const { port, isLocal } = this.#options;
    return { port, isLocal, ...(this.#held === undefined ? { state: "shut", ...this.#shut } : { state: "open" }) };
  }

  get peers(): number {
    return this.#door?.peers ?? 0;
  }

  /** Opens the door. Never rejects: the broker runs without this door and tries again. */
  open(): Promise<void> {
    return (this.#trying ??= this.#try().finally(() => (this.#trying = undefined)));
  }

  /** Closes the door. The port's process ends last, because it forwards the last answers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#again);
    await this.#trying;
    await this.#door?.close();
    await this.#held?.close();
  }

  async #try(): Promise<void> {
    const { port, isLocal, tokens, log } = this.#options;
    const shut = isLocal || tokens() > 0 ? await this.#listen() : NO_TOKEN;
    if (shut === undefined) return log.info("the door of memory with outcomes is open", { port });
    if (shut.why !== this.#shut.why)
      log.warn("the port for Roampal's programs stays closed", { port, why: shut.why, hint: shut.hint });
    this.#shut = shut;
    this.#tryAgain();
  }

  #tryAgain(): void {
    if (!this.#isClosed) this.#again = setTimeout(() => void this.open(), AGAIN_MS).unref();
  }

  async #listen(): Promise<{ why: string; hint: string } | undefined> {
    const { port, path, open } = this.#options;
    try {
      this.#door ??= await open();
      this.#watch(await holdPort({ host: OUTCOME_HOST, port }, path));
      return undefined;
    } catch (error) {
      if (error instanceof PalaceError) return { why: error.message, hint: error.hint };
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EADDRINUSE")
        return { why: `port ${port} is taken: ${await whoListens(port)}`, hint: makeWay(port) };
      const why = `the broker cannot listen on ${OUTCOME_HOST}:${port} (${code ?? String(error)})`;
      return { why, hint: "MEMPALACE_OUTCOME_PORT=27183 palace restart" };
    }
  }

  #watch(held: HeldPort): void {
    const sinceMs = performance.now();
    this.#held = held;
    void held.ended.then(() => {
      this.#held = undefined;
      if (this.#isClosed) return;
      const { port, log } = this.#options;
      log.warn("the process at the port for Roampal's programs has ended, and is started again", { port });
      this.#shut = { why: "the process at the port has ended, and is started again", hint: "" };
      if (performance.now() - sinceMs > LIVED_MIN_MS) void this.open();
      else this.#tryAgain();
    });
  }
}

const NO_TOKEN = {
  why: "there is no token yet, and no program may connect without one",
  hint: "palace bridge token add NAME --role agent; for Roampal's own hooks, plugins and MCP server: palace outcome door --local",
};

function makeWay(port: number): string {
  const other = port === 27_183 ? 27_184 : 27_183;
  return `ss -ltnp 'sport = :${port}' names the process; end it, and the door opens by itself; or: MEMPALACE_OUTCOME_PORT=${other} palace restart`;
}

/** Describes the program that listens on the port, by its answer to `GET /api/health`. The request has no token. Never rejects. */
async function whoListens(port: number): Promise<string> {
  const answer = await ask(port).catch(() => undefined);
  if (answer === undefined) return "a process that does not answer as an HTTP server does";
  const { status, wants, body } = answer;
  if (isRecord(body) && body["service"] === SERVICE)
    return `a palace broker of another memory (pid ${JSON.stringify(body["pid"])}, ${JSON.stringify(body["data_path"])})`;
  if (wants.includes("Palace")) return "a palace broker of another memory, which asks for a token";
  if (isRecord(body) && "memory_initialized" in body) return "a Roampal server";
  return `an HTTP server that is not a palace broker (GET /api/health: ${status})`;
}

function ask(port: number): Promise<{ status: number; wants: string; body: unknown }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ASK_MAX_MS);
    const asked = request({ host: OUTCOME_HOST, port, path: "/api/health", agent: false, signal }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("error", reject);
      response.on("data", (part: string) => {
        text += part;
        if (text.length > BODY_MAX) response.destroy();
      });
      response.on("close", () => {
        const wants = String(response.headers["www-authenticate"] ?? "");
        resolve({ status: response.statusCode ?? 0, wants, body: parseJson(text) });
      });
    });
    asked.on("error", reject).end();
  });
}
