/**
 * A Python that has imported Chroma and forks a process for each question: the import costs seconds, a fork milliseconds, and
 * a forked process knows nothing of what another one has opened, so that each question is read from disk anew, as by a Python
 * started for it. It ends like one, too: by leaving the interpreter. Imported by python-chroma.ts.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { mempalaceBin, mempalaceEnv, type MempalaceVersion } from "./python-mempalace.ts";

export type Question = { home: string; code: string; args: readonly string[] };
type Answer = { status: number; stdout: string; stderr: string };

const QUESTION_MAX_S = 300;

/**
 * A line with a question in, a line with the status and both lengths out, then both outputs. Only what Chroma has read of HOME
 * while it was imported is told of the question's HOME: where its model lies.
 */
const SERVER = `
import json, os, signal, sys
from pathlib import Path
import chromadb
from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2 as model

def ask():
    for line in sys.stdin.buffer:
        outputs = [os.memfd_create(name) for name in ("stdout", "stderr")]
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, output in enumerate(outputs, 1): os.dup2(output, number)
            return json.loads(line)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sizes = [os.fstat(output).st_size for output in outputs]
        sys.stdout.buffer.write(json.dumps([status, *sizes]).encode() + b"\\n")
        for output, size in zip(outputs, sizes):
            with open(output, "rb") as file: sys.stdout.buffer.write(os.pread(file.fileno(), size, 0))
        sys.stdout.buffer.flush()
    sys.exit()

question = ask()
signal.alarm(${QUESTION_MAX_S})
os.environ["HOME"] = question["home"]
model.DOWNLOAD_PATH = Path.home() / ".cache" / "chroma" / "onnx_models" / model.MODEL_NAME
sys.argv = ["-c", *question["args"]]
exec(compile(question["code"], "<question>", "exec"), {"__name__": "__main__"})`;

class Resident {
  readonly #child: ChildProcessByStdio<Socket, Socket, null>;
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  #received: Buffer[] = [];
  /** Bytes that the answer at hand still lacks; unknown before its first line. */
  #lacking = 0;

  constructor(version: MempalaceVersion, home: string) {
    this.#child = spawn(mempalaceBin(version, "python"), ["-c", SERVER], {
      env: mempalaceEnv(home),
      stdio: ["pipe", "pipe", "inherit"],
    }) as ChildProcessByStdio<Socket, Socket, null>;
    this.#child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#child.stdin.on("error", () => {});
    this.#child
      .on("error", (error) => this.#fail(error))
      .on("exit", (...how) => this.#fail(new Error(`it ended: ${how.join()}`)));
    // It ends with its input, that is with the process of the tests, and does not keep that one.
    this.#child.unref();
    this.#child.stdin.unref();
    this.#child.stdout.unref();
  }

  ask(question: Question): Promise<Answer> {
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting.push(waiting);
    this.#child.stdout.ref();
    this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    return waiting.promise;
  }

  #take(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#lacking -= chunk.length;
    // A large answer is put together once.
    while (this.#lacking <= 0) {
      const received = Buffer.concat(this.#received);
      this.#received = [received];
      const end = received.indexOf("\n");
      if (end === -1) return void (this.#lacking = 0);
      const [status = 0, out = 0, errors = 0] = JSON.parse(received.toString("utf8", 0, end)) as number[];
      const [from, to] = [end + 1, end + 1 + out];
      this.#lacking = to + errors - received.length;
      if (this.#lacking > 0) return;
      this.#received = [received.subarray(to + errors)];
      this.#lacking = 0;
      const [stdout, stderr] = [received.toString("utf8", from, to), received.toString("utf8", to, to + errors)];
      this.#waiting.shift()?.resolve({ status, stdout, stderr });
      if (this.#waiting.length === 0) this.#child.stdout.unref();
    }
  }

  #fail(error: Error): void {
    residents.forEach((resident, version) => resident === this && residents.delete(version));
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

const residents = new Map<MempalaceVersion, Resident>();

/** What the code prints. Errors: what it says on stderr, if it ends with an error or is killed. */
export async function askPython(version: MempalaceVersion, question: Question): Promise<string> {
  mempalaceEnv(question.home);
  const resident = residents.get(version) ?? new Resident(version, question.home);
  residents.set(version, resident);
  const { status, stdout, stderr } = await resident.ask(question);
  if (status !== 0) throw new Error(`python of mempalace ${version} ended with ${status}:\n${stderr}`);
  return stdout;
}
