/** Runs one child process that speaks newline-delimited JSON-RPC, in its own process group. It forwards messages and reports the exit. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { CommandConfig } from "../../config/engine.ts";
import type { Log } from "../../base/log.ts";
import { within } from "../../base/time-limit.ts";
import { decodeFrame, FrameSplitter } from "../../wire/transport/frame.ts";
import { type ChildLock, signal } from "./lock.ts";

export type ProcessOptions = {
  config: CommandConfig;
  lock: ChildLock;
  generation: number;
  log: Log;
  onMessage: (message: unknown) => void;
  /** Called when a message over the frame limit was skipped. */
  onOversize: () => void;
  /** Called once, after the last message. `why` is the end of a sentence for people, such as "ended with exit code 1". */
  onGone: (why: string) => void;
};

/** Time between SIGTERM and SIGKILL. */
const TERM_MAX_MS = 2_000;
/** Maximum time after the exit to read the rest of the pipes. A grandchild may keep them open for ever. */
const LAST_WORDS_MS = 200;
const LINE_MAX_CHARS = 500;
const LINE_SIZE_MAX_BYTES = 64 * 1024;
const LAST_LINES = 3;
/** Maximum number of a child's lines to log in one window; further lines are only counted. */
const LOG_LINES_MAX = 50;
const LOG_WINDOW_MS = 5_000;

export class ServerProcess {
  readonly #options: ProcessOptions;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #gone = Promise.withResolvers<void>();
  readonly startedAtMs = Date.now();
  #isGone = false;
  #lastLines: string[] = [];
  #logged = { count: 0, sinceMs: 0 };

  constructor(options: ProcessOptions) {
    this.#options = options;
    const { config, lock } = options;
    const [program, ...args] = config.argv;
    // In its own process group, the child ends with all its children, and Ctrl-C does not end the child before the broker has drained.
    this.#child = spawn(program, args, {
      env: config.env,
      cwd: "/",
      detached: true,
      stdio: ["pipe", "pipe", "pipe", lock.fd],
    }) as ChildProcessByStdio<Writable, Readable, Readable>;
    const { pid } = this.#child;
    if (pid === undefined) lock.drop();
    else lock.handOver(pid);
    this.#listen();
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get pid(): number | undefined {
    return this.#isGone ? undefined : this.#child.pid;
  }

  /** Last lines on stderr, for an error message. */
  get lastWords(): string {
    return this.#lastLines.join(" | ");
  }

  /** Writes a message to the child's stdin. No queue is needed, because the caller has at most one call open. */
  send(message: object): void {
    if (!this.#isGone) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Closes stdin, so that the child can exit by itself; then does the same as `kill`. Resolves when the child is gone. */
  async end(leaveMaxMs: number): Promise<void> {
    this.#child.stdin.end();
    await this.#goneWithin(leaveMaxMs);
    await this.kill();
  }

  /** Sends SIGTERM, then SIGKILL, which also ends a stopped process. Resolves when the child is gone. */
  async kill(): Promise<void> {
    this.#signal("SIGTERM");
    await this.#goneWithin(TERM_MAX_MS);
    this.#signal("SIGKILL");
    await this.#gone.promise;
  }

  killNow(): void {
    this.#signal("SIGKILL");
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this;
    if (pid !== undefined) signal(-pid, name);
  }

  async #goneWithin(maxMs: number): Promise<void> {
    await within(this.#gone.promise, maxMs);
  }

  #listen(): void {
    const child = this.#child;
    const messages = new FrameSplitter();
    child.stdout.on("data", (chunk: Buffer) => {
      for (const frame of messages.push(chunk)) {
        if ("oversize" in frame) this.#options.onOversize();
        else this.#onLine(frame.bytes);
      }
    });
    const lines = new FrameSplitter(LINE_SIZE_MAX_BYTES);
    child.stderr.on("data", (chunk: Buffer) => {
      for (const frame of lines.push(chunk))
        this.#onWords("bytes" in frame ? frame.bytes.toString("utf8") : "(too long)");
    });
    // A pipe breaks when the child exits; the exit is reported below.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on("error", () => {});
    child.on("error", (error) => {
      if (child.pid === undefined) this.#end(`cannot be started: ${error.message}`);
    });
    child.on("exit", (code, by) => {
      const why = by === null ? `ended with exit code ${code}` : `was ended by ${by}`;
      const timer = setTimeout(() => this.#end(why), LAST_WORDS_MS);
      child.on("close", () => {
        clearTimeout(timer);
        this.#end(why);
      });
    });
  }

  #onLine(bytes: Buffer): void {
    if (this.#isGone) return;
    const decoded = decodeFrame(bytes);
    if (decoded.ok) this.#options.onMessage(decoded.message);
    else if (decoded.why !== "") this.#onWords(`(no message) ${bytes.toString("utf8")}`);
  }

  #onWords(text: string): void {
    const line = text.trimEnd().slice(0, LINE_MAX_CHARS);
    if (line === "") return;
    this.#lastLines = [...this.#lastLines, line].slice(-LAST_LINES);
    const { log, generation } = this.#options;
    const nowMs = Date.now();
    if (nowMs - this.#logged.sinceMs > LOG_WINDOW_MS) {
      const left = this.#logged.count - LOG_LINES_MAX;
      if (left > 0) log.info("the engine printed more lines", { generation, lines: left });
      this.#logged = { count: 0, sinceMs: nowMs };
    }
    this.#logged.count += 1;
    if (this.#logged.count <= LOG_LINES_MAX) log.info("engine says", { generation, line });
  }

  #end(why: string): void {
    if (this.#isGone) return;
    // The child's descendants must end with it, because they would keep the palace's lock.
    this.#signal("SIGKILL");
    this.#isGone = true;
    for (const pipe of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) pipe.destroy();
    this.#gone.resolve();
    this.#options.onGone(why);
  }
}
