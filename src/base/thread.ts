/** Typed calls to a worker thread. `startThread` and `lazyThread` run in the parent, `serveThread` in the thread. */
import { basename, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { parentPort, Worker } from "node:worker_threads";
import { type ErrorCode, isErrorCode, PalaceError, unavailable } from "./errors.ts";
import { isDiskFull } from "./state-files.ts";

/** Maximum number of open calls of one thread; a further call fails. The broker's own queues are shorter. */
const CALLS_MAX = 4096;

// With `never`, a method with any parameters fits this type.
export type Methods = Record<string, (...args: never[]) => unknown>;

export type Thread<M extends Methods> = {
  call<K extends keyof M & string>(method: K, ...args: Parameters<M[K]>): Promise<Awaited<ReturnType<M[K]>>>;
  close(): Promise<void>;
};

type Request = { id: number; method: string; args: unknown[] };
type Failure = { code: ErrorCode; message: string; hint: string };
type Reply = { id: number; value?: unknown; failure?: Failure };

/** Limit of a thread's young generation. An idle thread may keep 192 MB with V8's default, and keeps 16 MB with this limit. */
const YOUNG_MAX_MIB = 24;

/** Id of the thread's first message, which reports the result of `open`. */
const OPENED = 0;

/** Returns a thread's file, beside its caller and with the same extension (`.ts` or `.js`). `owner`: the caller's import.meta.url. */
export function threadFile(owner: string, name: string): URL {
  return new URL(`./${name}${extname(fileURLToPath(owner))}`, owner);
}

/** Starts a thread and waits for its `open`. Errors: the errors of `open`; STORE_UNAVAILABLE if the thread ended. */
export async function startThread<M extends Methods>(file: URL, workerData: unknown): Promise<Thread<M>> {
  const name = nameOf(file);
  const worker = new Worker(file, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MAX_MIB } });
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = OPENED;
  let ended: PalaceError | undefined;

  const end = (cause: unknown): void => {
    ended ??= unavailable(`the ${name} thread ended`, "palace restart", cause);
    for (const one of waiting.values()) one.reject(ended);
    waiting.clear();
  };
  worker.on("error", end);
  worker.on("exit", (exitCode) => end(new Error(`exit code ${exitCode}`)));
  worker.on("message", (reply: Reply) => {
    const one = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.failure === undefined) one?.resolve(reply.value);
    else one?.reject(new PalaceError(reply.failure.code, reply.failure.message, reply.failure.hint));
  });

  const expect = (id: number): Promise<unknown> => {
    const one = Promise.withResolvers<unknown>();
    waiting.set(id, one);
    return one.promise;
  };
  const close = async (): Promise<void> => {
    await worker.terminate();
  };
  await expect(OPENED).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    close,
    async call(method, ...args) {
      if (ended !== undefined) throw ended;
      if (waiting.size >= CALLS_MAX)
        throw unavailable(`too many calls wait for the ${name} thread`, "try again in a moment");
      const id = ++lastId;
      const reply = expect(id);
      worker.postMessage({ id, method, args } satisfies Request);
      return (await reply) as never;
    },
  };
}

function nameOf(file: URL): string {
  const path = fileURLToPath(file);
  return basename(path, extname(path)).replace(/-thread$/, "");
}

export type LazyThread<M extends Methods> = Thread<M> & {
  isStarted(): boolean;
  start(): Promise<Thread<M>>;
};

/** Returns a thread that starts with its first call. If the start fails, the call fails, and the next call tries again. */
export function lazyThread<M extends Methods>(file: URL, workerData: unknown): LazyThread<M> {
  let thread: Promise<Thread<M>> | undefined;
  let isClosed = false;
  const start = async (): Promise<Thread<M>> => {
    if (isClosed) throw unavailable("the thread has ended and takes no more work", "palace restart");
    thread ??= startThread<M>(file, workerData).catch((error: unknown) => {
      thread = undefined;
      throw error;
    });
    return thread;
  };
  return {
    isStarted: () => thread !== undefined,
    start,
    call: async (method, ...args) => (await (await start()).call(method, ...args)) as never,
    close: async () => {
      isClosed = true;
      await (await thread?.catch(() => undefined))?.close();
    },
  };
}

/** Calls `open`, reports its result to the parent, then starts the calls in the order of their arrival. Runs in the thread. */
export async function serveThread<M extends Methods>(open: () => M | Promise<M>): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error("broken invariant: a thread entry runs in a worker thread");
  const answer = async (id: number, work: () => unknown): Promise<void> => {
    try {
      port.postMessage({ id, value: await work() } satisfies Reply);
    } catch (error) {
      port.postMessage({ id, failure: describeFailure(error) } satisfies Reply);
    }
  };
  let methods: M;
  await answer(OPENED, async () => {
    methods = await open();
    port.on("message", ({ id, method, args }: Request) => {
      void answer(id, () => methods[method]?.(...(args as never[])));
    });
  });
}

/** Converts an error for the parent. Some of SQLite's codes become ours; other unknown errors become STORE_UNAVAILABLE. */
function describeFailure(error: unknown): Failure {
  if (error instanceof PalaceError) return { code: error.code, message: error.message, hint: error.hint };
  const code = String((error as { code?: unknown } | null)?.code ?? "");
  const message = error instanceof Error ? error.message : String(error);
  if (code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB")
    return { code: "STORE_CORRUPT", message: `the ledger cannot be read: ${message}`, hint: "palace doctor" };
  if (code === "SQLITE_FULL" || isDiskFull(error))
    return { code: "STORE_DISK_FULL", message: `the disk is full: ${message}`, hint: "free some space and try again" };
  if (code.startsWith("SQLITE_CANTOPEN"))
    return { code: "PALACE_GONE", message: `the ledger cannot be opened: ${message}`, hint: "palace doctor" };
  return { code: isErrorCode(code) ? code : "STORE_UNAVAILABLE", message, hint: "palace doctor" };
}
