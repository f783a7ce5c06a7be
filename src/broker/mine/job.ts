/** Runs `palace mine` as a child process, which sends its writes to the broker like any client and so does not block others. */
import { type ChildProcess, spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import { isRecord, parseAs } from "../../base/parse-json.ts";

/** Command and environment that start a miner. `args`: arguments before the miner's own. */
export type MinerCommand = { command: string; args: readonly string[]; env: NodeJS.ProcessEnv };

export type JobEnd = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  /** Last part of the output on stderr, without progress. */
  stderr: string;
  /** Why the broker ended the mine; undefined if it did not. */
  ended: string | undefined;
};

export type Step = { done: number; total: number; name: string; drawers?: number };

/** Maximum number of bytes of stdout. A report has one line for each skipped file. */
const STDOUT_MAX_BYTES = 32 * 1024 * 1024;
const STDERR_KEPT = 4_000;
const STEPS_KEPT = 60;
/** The broker ends a mine that writes nothing to stderr for this time. A mine reports each file there; the largest file takes seconds. */
const SILENT_MAX_MS = 15 * 60_000;
const JOB_MAX_MS = 12 * 3_600_000;
/** Time between the request to end and the kill. */
const LEAVE_MAX_MS = 5_000;

export class Job {
  readonly end: Promise<JobEnd>;
  /** Last progress reports of the mine, oldest first. */
  readonly steps: Step[] = [];
  readonly listeners = new Set<(step: Step) => void>();
  readonly #child: ChildProcess;
  #ended: string | undefined;
  #silence: NodeJS.Timeout | undefined;

  constructor({ command, args, env }: MinerCommand, more: readonly string[]) {
    const child = spawn(command, [...args, ...more], { env, cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    const { promise, resolve } = Promise.withResolvers<JobEnd>();
    this.end = promise;
    let stdout = "";
    let stderr = "";
    const age = setTimeout(() => this.stop("it took too long"), JOB_MAX_MS);
    const over = (code: number | null, signal: NodeJS.Signals | null): void => {
      clearTimeout(age);
      clearTimeout(this.#silence);
      resolve({ code, signal, stdout, stderr, ended: this.#ended });
    };
    child.stdin.on("error", () => {});
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (stdout.length > STDOUT_MAX_BYTES) this.stop("it printed too much");
    });
    let line = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#listen();
      const lines = (line + text).split("\n");
      line = (lines.pop() ?? "").slice(-STDERR_KEPT);
      for (const one of lines) if (!this.#take(one)) stderr = `${stderr}${one}\n`.slice(-STDERR_KEPT);
    });
    child.on("error", (error) => {
      stderr += `${error.message}\n`;
      if (child.pid === undefined) over(null, null);
    });
    child.on("close", over);
    this.#listen();
    this.#stepBack();
  }

  /** Asks the mine to finish its current work, then kills it. */
  stop(why: string): void {
    if (this.#ended !== undefined || this.#child.exitCode !== null) return;
    this.#ended = why;
    this.#child.kill("SIGTERM");
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), LEAVE_MAX_MS);
    void this.end.then(() => clearTimeout(kill));
  }

  /** Lowers the child's priority, so that other calls come first. */
  #stepBack(): void {
    const { pid } = this.#child;
    try {
      if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // The process has ended, or the system does not allow another priority.
    }
  }

  #listen(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.stop("it made no progress"), SILENT_MAX_MS);
  }

  #take(line: string): boolean {
    if (!line.startsWith('{"done":')) return false;
    const step = parseAs(line, isStep);
    if (step === undefined) return false;
    this.steps.push(step);
    if (this.steps.length > STEPS_KEPT) this.steps.shift();
    for (const listener of this.listeners) listener(step);
    return true;
  }
}

function isStep(value: unknown): value is Step {
  return isRecord(value) && Number.isFinite(value["total"]) && typeof value["name"] === "string";
}
