/** Runs a Python that has imported Chroma, which takes seconds, and forks a process in milliseconds for each question. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";

export type Question = {
  env: Record<string, string>;
  argv: readonly string[];
  /** Time limit, s. The process is then killed. */
  seconds: number;
  /** Path of a socket at which the caller listens. The process uses it as standard input and output. */
  socket?: string;
} & ({ code: string } | { module: string });
export type Ended = { status: number; stdout: string; stderr: string };
/** Forked process. `pid` resolves when the process has started, `ended` when it has ended. */
export type Asked = { pid: Promise<number>; ended: Promise<Ended> };

type Message = { id: number } & ({ pid: number } | { status: number; sizes: [number, number] });
type Waiting = { pid: PromiseWithResolvers<number>; ended: PromiseWithResolvers<Ended> };

const PROGRAM = join(import.meta.dirname, "python-resident.py");

class Resident {
  readonly #child: ChildProcessByStdio<Socket, Socket, null>;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #received: Buffer[] = [];
  /** Number of bytes still missing from the current message; 0 until the message's first line, which gives its length, has arrived. */
  #lacking = 0;

  constructor(python: string) {
    this.#child = spawn(python, [PROGRAM], {
      // Limits BLAS to one thread, because a fork does not copy other threads.
      env: { PATH: process.env["PATH"], LANG: "C.UTF-8", OPENBLAS_NUM_THREADS: "1" },
      stdio: ["pipe", "pipe", "inherit"],
    }) as ChildProcessByStdio<Socket, Socket, null>;
    this.#child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#child.stdin.on("error", () => {});
    this.#child
      .on("error", (error) => this.#fail(python, error))
      .on("exit", (...how) => this.#fail(python, new Error(`it ended: ${how.join()}`)));
    // The resident does not keep the tests' process alive, and ends when its input ends.
    this.#child.unref();
    this.#child.stdin.unref();
    this.#child.stdout.unref();
  }

  ask(question: Question): Asked {
    const waiting: Waiting = { pid: Promise.withResolvers(), ended: Promise.withResolvers() };
    // A failure also rejects `ended`, so a caller need not wait for `pid`.
    waiting.pid.promise.catch(() => {});
    this.#waiting.set(++this.#asked, waiting);
    this.#child.stdout.ref();
    this.#child.stdin.write(`${JSON.stringify({ id: this.#asked, ...question })}\n`);
    return { pid: waiting.pid.promise, ended: waiting.ended.promise };
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#lacking -= chunk.length;
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

/** Asks the resident of that Python, which the first question starts. */
export function askPython(python: string, question: Question): Asked {
  const resident = residents.get(python) ?? new Resident(python);
  residents.set(python, resident);
  return resident.ask(question);
}
