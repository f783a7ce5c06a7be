/**
 * Runs a Python that has imported Chroma and forks a process for each question and each command of MemPalace. The import costs seconds, a
 * fork milliseconds. A forked process has no open palace, so it reads everything from disk like a newly started Python. It also ends like
 * one, by leaving the interpreter. python-resident.py is the Python program. Imported by python-mempalace.ts and python-chroma.ts.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";

export type Question = {
  env: Record<string, string>;
  argv: readonly string[];
  /** Time limit, s, after which the process is killed. */
  seconds: number;
  /** Path of a socket at which the caller listens. The process uses the socket as standard input and output. */
  socket?: string;
} & ({ code: string } | { module: string });
export type Ended = { status: number; stdout: string; stderr: string };
/** Started process. `pid` resolves when the process has started, `ended` when it has ended. */
export type Asked = { pid: Promise<number>; ended: Promise<Ended> };

type Message = { id: number } & ({ pid: number } | { status: number; sizes: [number, number] });
type Waiting = { pid: PromiseWithResolvers<number>; ended: PromiseWithResolvers<Ended> };

const PROGRAM = join(import.meta.dirname, "python-resident.py");

class Resident {
  readonly #child: ChildProcessByStdio<Socket, Socket, null>;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #received: Buffer[] = [];
  /** Number of bytes that are still missing from the current message, as far as known. The message's first line gives its length. */
  #lacking = 0;

  constructor(python: string) {
    this.#child = spawn(python, [PROGRAM], {
      // Limits BLAS to one thread, because a fork would not copy other threads.
      env: { PATH: process.env["PATH"], LANG: "C.UTF-8", OPENBLAS_NUM_THREADS: "1" },
      stdio: ["pipe", "pipe", "inherit"],
    }) as ChildProcessByStdio<Socket, Socket, null>;
    this.#child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#child.stdin.on("error", () => {});
    this.#child
      .on("error", (error) => this.#fail(python, error))
      .on("exit", (...how) => this.#fail(python, new Error(`it ended: ${how.join()}`)));
    // This Python ends when its input ends, that is, when the tests' process ends. It does not keep that process alive.
    this.#child.unref();
    this.#child.stdin.unref();
    this.#child.stdout.unref();
  }

  ask(question: Question): Asked {
    const waiting: Waiting = { pid: Promise.withResolvers(), ended: Promise.withResolvers() };
    // A failure also rejects `ended`, so a caller that ignores `pid` still gets it.
    waiting.pid.promise.catch(() => {});
    this.#waiting.set(++this.#asked, waiting);
    this.#child.stdout.ref();
    this.#child.stdin.write(`${JSON.stringify({ id: this.#asked, ...question })}\n`);
    return { pid: waiting.pid.promise, ended: waiting.ended.promise };
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#lacking -= chunk.length;
    // Joins the parts of a large answer only when all of them have arrived.
    while (this.#lacking <= 0) {
      const received = Buffer.concat(this.#received);
      this.#received = [received];
      const end = received.indexOf("\n");
      if (end === -1) return void (this.#lacking = 0);
      const message = JSON.parse(received.toString("utf8", 0, end)) as Message;
      const [out, errors] = "pid" in message ? [0, 0] : message.sizes;
      const [from, to] = [end + 1, end + 1 + out];
      this.#lacking = to + errors - received.length;
      if (this.#lacking > 0) return;
      this.#received = [received.subarray(to + errors)];
      this.#lacking = 0;
      const [stdout, stderr] = [received.toString("utf8", from, to), received.toString("utf8", to, to + errors)];
      this.#tell(message, stdout, stderr);
    }
  }

  #tell(message: Message, stdout: string, stderr: string): void {
    const waiting = this.#waiting.get(message.id);
    if ("pid" in message) return void waiting?.pid.resolve(message.pid);
    this.#waiting.delete(message.id);
    waiting?.ended.resolve({ status: message.status, stdout, stderr });
    if (this.#waiting.size === 0) this.#child.stdout.unref();
  }

  #fail(python: string, error: Error): void {
    if (residents.get(python) === this) residents.delete(python);
    for (const { pid, ended } of this.#waiting.values()) for (const one of [pid, ended]) one.reject(error);
    this.#waiting.clear();
  }
}

const residents = new Map<string, Resident>();

/** Asks a process forked from the Python at that path. The first question starts that Python. */
export function askPython(python: string, question: Question): Asked {
  const resident = residents.get(python) ?? new Resident(python);
  residents.set(python, resident);
  return resident.ask(question);
}
