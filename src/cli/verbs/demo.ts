/** `palace up demo` makes a temporary palace with its own broker, a small project, three searches, two agents. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connectClient } from "../../wire/client/client.ts";
import { findBroker } from "../../wire/client/discover.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { feedDocuments } from "../../feeders/doc-miner/file-documents.ts";
import { DOCS } from "../../feeders/doc-miner/kinds-of-run.ts";
import type { FeedReport } from "../../feeders/doc-miner/run.ts";
import { PalaceError } from "../../base/errors.ts";
import { START_TIMEOUT_MS } from "../../protocol/limits.ts";
import { executable } from "../executable.ts";
import { shownSource } from "../../feeders/came-from.ts";
import { placeOf } from "../feeding/feeding.ts";
import { findOriginal } from "../feeding/original.ts";
import { DEMO_PROJECT, DEMO_QUESTIONS } from "../proof/demo-project.ts";
import { canFind } from "../../wire/proof/proof.ts";
import { openStdioMcp, type StdioMcp } from "../../wire/proof/stdio-mcp.ts";
import { type Output, plural } from "../terminal/output.ts";
import { passageOf } from "../terminal/passage.ts";
import { Progress } from "../terminal/progress.ts";
import { defineVerb } from "../define-verb.ts";

const WING = "demo";
const PASSAGE_ROWS = 5;
const INDENT = "  ";
const SLICES_AROUND = 5;
const POLL_MS = 20;
/** Longest wait for the model: enough to load it and embed the project on two cores. */
const MODEL_MAX_MS = 20_000;
const END_MAX_MS = 10_000;
const CALL_TIMEOUT_MS = 30_000;
const EXIT_INTERRUPTED = 130;

type Answer = { question: string; ms: number; hits: { source: string; room: string; text: string }[] };
type Hit = {
  source_file?: string;
  source_path?: string;
  room?: string;
  text?: string;
  neighbors?: { before: { text: string }[]; after: { text: string }[] };
};

export const verb = defineVerb({
  usage: `palace up demo

Shows the whole product in a temporary folder that is removed at the end: starts a broker of its own, files the documents of
a small example project, asks three questions, and lets two agents write and read each other's memories at the same time.`,
  place: "any",
  run: async ({ config, env, out }) => {
    const folder = mkdtempSync(join(tmpdir(), "palace-demo-"));
    const interrupted = new AbortController();
    const stop = (): void => interrupted.abort();
    process.once("SIGINT", stop);
    process.once("SIGTERM", stop);
    let broker: ChildProcess | undefined;
    try {
      const demoEnv = isolate(env, config, folder);
      const demo = loadConfig(demoEnv);
      shareModels(config, demo);
      say(out, `A throw-away palace in ${folder}`);
      broker = startBroker(demoEnv);
      await waitForBroker(demo, broker, interrupted.signal);
      const result = await show(demo, demoEnv, folder, out, interrupted.signal);
      if (out.isJson) out.document(result);
      return 0;
    } catch (error) {
      if (interrupted.signal.aborted) return EXIT_INTERRUPTED;
      throw error;
    } finally {
      await endBroker(broker);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      say(out, "The palace is gone again.");
    }
  },
});

/** Makes the demo's environment: it does not touch the user's palace, and uses an existing model without a download. */
function isolate(env: Env, config: Config, folder: string): Env {
  const kept = Object.entries(env).filter(([name]) => !/^(?:MEMPALACE_|MEMPAL_|XDG_)/.test(name));
  return {
    ...Object.fromEntries(kept),
    HOME: join(folder, "user"),
    MEMPALACE_PATH: join(folder, "home"),
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CACHE_HOME: join(folder, "cache"),
    ...(config.model.dir === undefined ? {} : { MEMPALACE_MODEL_DIR: config.model.dir }),
    MEMPALACE_OFFLINE: "1",
    MEMPALACE_IDLE_EXIT_MINUTES: "1",
    MEMPALACE_LOG_LEVEL: "error",
  };
}

/** Links the models that this palace and Python's Chroma have fetched into the demo's folders. */
function shareModels({ model }: Config, demo: Config): void {
  const shelf = join(demo.model.userHome, ".cache");
  mkdirSync(shelf, { recursive: true });
  symlinkSync(join(model.userHome, ".cache/chroma"), join(shelf, "chroma"));
  if (!existsSync(model.cacheDir)) return;
  mkdirSync(demo.model.cacheDir, { recursive: true });
  for (const name of readdirSync(model.cacheDir))
    symlinkSync(join(model.cacheDir, name), join(demo.model.cacheDir, name));
}

async function show(config: Config, env: Env, folder: string, out: Output, signal: AbortSignal): Promise<object> {
  const client = await connectClient({ config, agent: "palace demo", start: "never" });
  try {
    const project = join(folder, "harbour");
    const filed = await fileDocuments(config, client, project, out, signal);
    const search = await searchMode(client, out, signal);
    say(
      out,
      `Searching ${search.mode === "hybrid" ? `by words and by meaning (${search.model})` : "by words and by meaning, without the model"}`,
    );
    const answers: Answer[] = [];
    for (const question of DEMO_QUESTIONS) answers.push(await ask(config, client, question, out));
    const agents = await letAgentsMeet(env, out, signal);
    return {
      filed: { files: filed.report.filed, drawers: filed.report.drawers, ms: filed.ms },
      search,
      searches: answers,
      agents,
    };
  } finally {
    client.close();
  }
}

async function fileDocuments(
  config: Config,
  client: Client,
  project: string,
  out: Output,
  signal: AbortSignal,
): Promise<{ report: FeedReport; ms: number }> {
  for (const [path, text] of Object.entries(DEMO_PROJECT)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  const startedAt = performance.now();
  const report = await feedDocuments({
    options: {
      ...{ front: DOCS, dir: project, wing: WING, dryRun: false, force: false },
      ...{ limit: 0, drawersMax: 0, ignoreFiles: true, include: [] },
      agent: "palace-demo",
      ...placeOf(config),
      ...{ registryFile: config.paths.knownEntitiesFile, filing: config.filing(), avoid: [] },
    },
    connect: async () => client,
    watch: { notice: () => {}, progress: () => {} },
    signal,
  });
  signal.throwIfAborted();
  const ms = elapsed(startedAt);
  say(
    out,
    `Filed ${plural(report.filed, "document")} of a small example project as ${plural(report.drawers, "drawer")} in ${ms} ms`,
  );
  return { report, ms };
}

/** Waits until an existing model is loaded. */
async function searchMode(
  client: Client,
  out: Output,
  signal: AbortSignal,
): Promise<{ mode: string; model: string | null }> {
  const deadline = performance.now() + MODEL_MAX_MS;
  const progress = new Progress({ silent: out.isJson || !process.stderr.isTTY });
  try {
    for (;;) {
      const { mode, model, modelState, pending, embedded } = (await client.call("palace.status", {})).search;
      const isReady = modelState === "loading" ? false : modelState !== "ready" || pending === 0;
      if (isReady || performance.now() > deadline) return { mode, model };
      progress.step(embedded, embedded + pending, "embedding", undefined);
      await sleep(POLL_MS, undefined, { signal });
    }
  } finally {
    progress.end();
  }
}

async function ask(config: Config, client: Client, question: string, out: Output): Promise<Answer> {
  const startedAt = performance.now();
  const request = { query: question, wing: WING, limit: 3, neighbors: SLICES_AROUND };
  const found = (await client.call("drawer.search", request))["results"];
  const ms = elapsed(startedAt);
  const shown = ((found ?? []) as Hit[]).map((hit) => passageIn(config, hit, question, out.columns));
  say(out, `\n"${question}"  ${ms} ms`);
  const [best] = shown;
  if (best === undefined) say(out, `${INDENT}nothing found`);
  else if (!out.isJson) {
    out.text(`${INDENT}${best.source}`);
    if (out.isTerminal) out.styled(best.lines, `${INDENT}${INDENT}`);
    else out.text(best.text.replace(/^/gm, `${INDENT}${INDENT}`));
  }
  return { question, ms, hits: shown.map(({ source, room, text }) => ({ source, room, text })) };
}

/** Returns the passage of a hit. `source`: file, line and heading. `text`: the lines to show. */
function passageIn(config: Config, hit: Hit, question: string, columns: number) {
  const { text = "", room = "?", source_file: name = "?", source_path: path = "", neighbors } = hit;
  const document = findOriginal(config, path, text);
  const { heading, line, lines } = passageOf(text, question, {
    columns: columns - 2 * INDENT.length,
    rows: PASSAGE_ROWS,
    before: (neighbors?.before ?? []).map((slice) => slice.text),
    after: (neighbors?.after ?? []).map((slice) => slice.text),
    document,
  });
  const file = path === "" ? name : shownSource(config, path);
  const source = `${file}${line === undefined ? "" : `:${line}`}${heading === undefined ? "" : ` › ${heading}`}`;
  return { source, room, lines, text: lines.map((row) => row.map((piece) => piece.text).join("")).join("\n") };
}

/** Lets two shims, like those of two agents, write at the same time. Each then searches for the other's text. */
async function letAgentsMeet(env: Env, out: Output, signal: AbortSignal): Promise<{ ms: number; found: boolean }> {
  const open = (name: string): Promise<StdioMcp> =>
    openStdioMcp(executable("mp-shim"), {
      env: { ...env, MEMPALACE_AGENT_NAME: name },
      timeoutMs: CALL_TIMEOUT_MS,
      signal,
    });
  const startedAt = performance.now();
  const [left, right] = await Promise.all([open("agent-a"), open("agent-b")]);
  try {
    const write = (agent: StdioMcp, content: string) =>
      agent.call("mempalace_add_drawer", { wing: WING, room: "agents", content });
    await Promise.all([
      write(left, "Agent A keeps the deployment password in the safe called obsidian."),
      write(right, "Agent B moved the nightly backup to half past three, code word marigold."),
    ]);
    const found = await Promise.all([canFind(left, "marigold", WING), canFind(right, "obsidian", WING)]);
    if (found.includes(false))
      throw new PalaceError("STORE_UNAVAILABLE", "one agent did not find what the other wrote", "palace doctor");
    const ms = elapsed(startedAt);
    say(out, `\nTwo agents started, wrote at the same time and found each other's memory in ${ms} ms`);
    return { ms, found: true };
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

function startBroker(env: Env): ChildProcess {
  const [node, file] = executable("mempalace-broker");
  // The broker's output is not part of the demo; if it does not start, `waitForBroker` reports it.
  return spawn(node, [file, "--foreground"], { env, stdio: "ignore" });
}

/** Waits for the broker. Errors: BROKER_START_FAILED. */
async function waitForBroker(config: Config, broker: ChildProcess, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while ((await findBroker(config)) === undefined) {
    if (broker.exitCode !== null || performance.now() > deadline)
      throw new PalaceError(
        "BROKER_START_FAILED",
        "the demo's broker did not start",
        "to see why: mempalace-broker --foreground",
      );
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function endBroker(broker: ChildProcess | undefined): Promise<void> {
  if (broker === undefined || broker.exitCode !== null || broker.signalCode !== null) return;
  const ended = once(broker, "exit");
  broker.kill("SIGTERM");
  const timer = setTimeout(() => broker.kill("SIGKILL"), END_MAX_MS);
  await ended;
  clearTimeout(timer);
}

function say(out: Output, line: string): void {
  if (!out.isJson) out.text(line);
}

function elapsed(since: number): number {
  return Math.round((performance.now() - since) * 10) / 10;
}
