/** `palace up demo` mines a small project into a temporary palace with its own broker, searches three times, and lets two agents write. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, withClient } from "../../wire/client/client.ts";
import { readBrokerFile } from "../../wire/client/discover.ts";
import { ensureBroker } from "../../wire/client/start.ts";
import { stopBroker } from "../../wire/client/stop.ts";
import { type Config, loadConfig } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { feedDocuments } from "../../feeders/doc-miner/file-documents.ts";
import { DOCS } from "../../feeders/doc-miner/kinds-of-run.ts";
import type { FeedReport } from "../../feeders/doc-miner/run.ts";
import { isAlive } from "../../base/alive.ts";
import { unavailable } from "../../base/errors.ts";
import { executable } from "../executable.ts";
import { shownSource } from "../../feeders/came-from.ts";
import { EXIT_INTERRUPTED, placeOf, withInterrupt } from "../feeding/feeding.ts";
import { findOriginal } from "../feeding/original.ts";
import { DEMO_PROJECT, DEMO_QUESTIONS } from "../proof/demo-project.ts";
import { canFind } from "../../wire/proof/proof.ts";
import { openStdioMcp, type StdioMcp } from "../../wire/proof/stdio-mcp.ts";
import { type Output, plural } from "../terminal/output.ts";
import { passageOf } from "../terminal/passage.ts";
import { defineVerb } from "../define-verb.ts";

const WING = "demo";
const PASSAGE_ROWS = 5;
const INDENT = "  ";
const POLL_MS = 20;
/** Time in which the broker may end by itself; after that time the demo kills it. */
const END_MAX_MS = 10_000;
const CALL_TIMEOUT_MS = 30_000;

type Answer = { question: string; ms: number; hits: { source: string; room: string; text: string }[] };
type Hit = {
  source_file?: string;
  source_path?: string;
  room?: string;
  text?: string;
};

export const verb = defineVerb({
  usage: `palace up demo

Shows the whole product in a temporary folder that is removed at the end: starts a broker of its own, files the documents of
a small example project, asks three questions, and lets two agents write and read each other's memories at the same time.`,
  place: "any",
  run: ({ env, out }) =>
    withInterrupt(async (signal) => {
      const folder = mkdtempSync(join(tmpdir(), "palace-demo-"));
      const demoEnv = isolate(env, folder);
      const demo = loadConfig(demoEnv);
      try {
        say(out, `A temporary palace in ${folder}`);
        await ensureBroker(demo);
        const result = await show(demo, demoEnv, folder, out, signal);
        if (out.isJson) out.document(result);
        return 0;
      } catch (error) {
        if (signal.aborted) return EXIT_INTERRUPTED;
        throw error;
      } finally {
        await endBroker(demo).catch((error: unknown) => say(out, String(error)));
        rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
        say(out, "The palace was deleted.");
      }
    }),
});

/** Makes an environment in which commands do not touch the user's palace and download nothing. */
function isolate(env: Env, folder: string): Env {
  const kept = Object.entries(env).filter(([name]) => !/^(?:MEMPALACE_|MEMPAL_|XDG_)/.test(name));
  return {
    ...Object.fromEntries(kept),
    HOME: join(folder, "user"),
    MEMPALACE_PATH: join(folder, "home"),
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CACHE_HOME: join(folder, "cache"),
    MEMPALACE_OFFLINE: "1",
    MEMPALACE_IDLE_EXIT_MINUTES: "1",
    MEMPALACE_LOG_LEVEL: "error",
  };
}

function show(config: Config, env: Env, folder: string, out: Output, signal: AbortSignal): Promise<object> {
  return withClient({ config, agent: "palace demo", start: "never" }, async (client) => {
    const project = join(folder, "harbour");
    const { report, ms } = await fileDocuments(config, client, project, out, signal);
    say(out, "Searching by words and by meaning");
    const searches: Answer[] = [];
    for (const question of DEMO_QUESTIONS) searches.push(await ask(config, client, question, out));
    const agents = await letAgentsMeet(env, out, signal);
    return { filed: { files: report.filed, drawers: report.drawers, ms }, searches, agents };
  });
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

async function ask(config: Config, client: Client, question: string, out: Output): Promise<Answer> {
  const startedAt = performance.now();
  const request = { query: question, wing: WING, limit: 3 };
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
  const { text = "", room = "?", source_file: name = "?", source_path: path = "" } = hit;
  const document = findOriginal(config, path, text);
  const { heading, line, lines } = passageOf(text, question, {
    columns: columns - 2 * INDENT.length,
    rows: PASSAGE_ROWS,
    document,
  });
  const file = path === "" ? name : shownSource(config, path);
  const source = `${file}${line === undefined ? "" : `:${line}`}${heading === undefined ? "" : ` › ${heading}`}`;
  return { source, room, lines, text: lines.map((row) => row.map((piece) => piece.text).join("")).join("\n") };
}

/** Lets two shims write at the same time, as two agents would. Each then searches for the other's text. */
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
    if (found.includes(false)) throw unavailable("one agent did not find the other agent's note", "palace doctor");
    const ms = elapsed(startedAt);
    say(out, `\nTwo agents started, wrote at the same time and found each other's memory in ${ms} ms`);
    return { ms, found: true };
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
}

async function endBroker(demo: Config): Promise<void> {
  const { pid } = readBrokerFile(demo.paths.brokerFile) ?? {};
  await stopBroker(demo);
  const endAtMs = performance.now() + END_MAX_MS;
  while (pid !== undefined && isAlive(pid)) {
    if (performance.now() > endAtMs) process.kill(pid, "SIGKILL");
    await sleep(POLL_MS);
  }
}

function say(out: Output, line: string): void {
  if (!out.isJson) out.text(line);
}

function elapsed(since: number): number {
  return Math.round((performance.now() - since) * 10) / 10;
}
