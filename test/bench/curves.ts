/**
 * `npm run bench:curves [-- --sizes 1000,10000,50000] [--model] [--sources 5000]` measures how each call's time grows with a palace.
 * Measures each size in turns with the first size, so a slow moment of the machine slows both. Also measures FTS5 alone and an
 * exact scan alone. Prints growth exponents (1 = linear). Exits with an error if a call grows faster than the palace, or if status or
 * list grow. `--model`: drawers have vectors of a tiny model too. `--sources`: number of sources of the largest size, whose drawers have
 * half the usual size. `--home`: folder in which the palace grows and remains; an existing palace is measured as it is. Runs the built
 * package (dist).
 */
import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Client } from "../../src/wire/client/client.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { USUAL_CUT } from "../../src/memory/source/chunk.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { Corpus } from "./corpus.ts";
import { type Cost, Curves } from "./growth.ts";
import { CHUNKS, fillLedger, FIRST_AT_MS, sourceOf, STEP_MS } from "./fill-ledger.ts";
import { lowerQuartile, requireBuild, time } from "./measure.ts";
import { openRawLists, type RawLists } from "./raw-lists.ts";
import { allQuiet } from "./settled.ts";

const DEFAULT_SIZES = "1000,10000,50000";
/** Number of measurements of a call. A slow call is measured for ROUNDS_MAX_MS, but at least ROUNDS_MIN times. */
const ROUNDS = 31;
const ROUNDS_MIN = 5;
const ROUNDS_MAX_MS = 4_000;
const STARTS = 5;
/** Cut of the documents with `--sources`, in characters: half of the usual size. */
const HALF_CUT = { size: 400, overlap: 50, sizeMin: 50 };
/** Approximate number of documents in a time window, at every size. */
const WINDOW_DOCUMENTS = 12;

type Side = { palace: TestPalace; client: Client; raw: RawLists; documents: number; corpus: Corpus };
type Probe = { name: string; flat?: true; rounds?: number; call: (side: Side, round: number) => Promise<unknown> };

const tool = (side: Side, name: string, values: Record<string, string | number>): Promise<unknown> =>
  side.client.callTool(`mempalace_${name}`, values);

function moment(document: number): string {
  return new Date(FIRST_AT_MS + document * STEP_MS).toISOString().slice(0, 19);
}

/** Stages of a broker's start to measure. The first search loads the indexes. */
const STARTED: readonly [string, (client: Client) => Promise<boolean>][] = [
  [
    "open (start to ready)",
    async (client) => {
      const { state, search } = await client.call("palace.status", {});
      return state === "ready" && (!values.model || search.modelState === "ready");
    },
  ],
  [
    "start to the first hits",
    async (client) => (await client.callTool("mempalace_search", { query: "first", limit: 1 })) !== undefined,
  ],
];

/** Calls to measure. They use a room, a wing and a time window that exist at every size. */
const PROBES: readonly Probe[] = [
  {
    name: "add",
    call: (side, round) =>
      tool(side, "add_drawer", { wing: "wing1", room: "added", content: `${round} ${side.corpus.text(400)}` }),
  },
  { name: "FTS5 alone", call: async (side) => side.raw.words(side.corpus.query(5)) },
  { name: "exact scan alone", call: async (side) => side.raw.scan(side.corpus.query(5)) },
  {
    name: "search by words",
    call: (side) => side.client.call("drawer.search", { query: side.corpus.query(5), mode: "lexical" }),
  },
  { name: "search", call: (side) => tool(side, "search", { query: side.corpus.query(5) }) },
  { name: "search in a wing", call: (side) => tool(side, "search", { query: side.corpus.query(5), wing: "wing1" }) },
  {
    name: "search in a room of a wing",
    call: (side) => tool(side, "search", { query: side.corpus.query(5), wing: "wing1", room: "room0" }),
  },
  {
    name: "search in a source",
    call: (side) => tool(side, "search", { query: side.corpus.query(5), source_file: sourceOf(side.documents - 1) }),
  },
  {
    name: "search of the last moments",
    call: (side) =>
      tool(side, "search", { query: side.corpus.query(5), since: moment(side.documents - WINDOW_DOCUMENTS) }),
  },
  {
    name: "search of half of the time",
    call: (side) => tool(side, "search", { query: side.corpus.query(5), since: moment(side.documents / 2) }),
  },
  // Only the probe `add` files into this room, so it has few drawers even in a large palace.
  {
    name: "search in a tiny room",
    call: (side) => tool(side, "search", { query: side.corpus.query(5), room: "added" }),
  },
  { name: "list", flat: true, call: (side) => tool(side, "list_drawers", {}) },
  { name: "list in a wing", flat: true, call: (side) => tool(side, "list_drawers", { wing: "wing1" }) },
  { name: "list in a room", flat: true, call: (side) => tool(side, "list_drawers", { room: "room0" }) },
  {
    name: "list in a room of a wing",
    flat: true,
    call: (side) => tool(side, "list_drawers", { wing: "wing1", room: "room0" }),
  },
  {
    name: "list, last page",
    call: (side) => tool(side, "list_drawers", { offset: (side.documents - 1) * chunks }),
  },
  {
    name: "list in a wing, last page",
    call: (side) => tool(side, "list_drawers", { wing: "wing1", offset: Math.floor((side.documents / 8) * chunks) }),
  },
  {
    name: "list of the last moments",
    call: (side) => tool(side, "list_drawers", { since: moment(side.documents - WINDOW_DOCUMENTS) }),
  },
  { name: "status", flat: true, call: (side) => tool(side, "status", {}) },
  { name: "palace.status", flat: true, call: (side) => side.client.call("palace.status", {}) },
  { name: "taxonomy", flat: true, call: (side) => tool(side, "get_taxonomy", {}) },
  { name: "duplicate check", call: (side) => tool(side, "check_duplicate", { content: side.corpus.text(400) }) },
  { name: "room graph", call: (side) => tool(side, "find_tunnels", {}) },
  { name: "backup", rounds: 1, call: backup },
];

requireBuild();
const { values } = parseArgs({
  options: {
    sizes: { type: "string", default: DEFAULT_SIZES },
    sources: { type: "string" },
    model: { type: "boolean", default: false },
    home: { type: "string" },
  },
});
const sizes = values.sizes.split(",").map(Number);
const chunks = values.sources === undefined ? CHUNKS : Math.ceil((sizes.at(-1) ?? 0) / Number(values.sources));
const cut = values.sources === undefined ? USUAL_CUT : HALF_CUT;
if (sizes.length < 2 || !(chunks > 0) || sizes.some((size, at) => !(size > (sizes[at - 1] ?? chunks * 24)))) {
  process.stderr.write(`--sizes: two or more numbers of drawers, rising, from ${chunks * 24 + 1} on\n`);
  process.exit(2);
}
process.exit((await measure(sizes)) ? 0 : 1);

async function measure([smallest = 0, ...larger]: number[]): Promise<boolean> {
  await using reference = createTestPalace({ built: true });
  await using grown = createTestPalace({ built: true, ...(values.home !== undefined && { home: values.home }) });
  const { env, model } = await settings(reference);
  const smallCorpus = new Corpus(6, true);
  const corpus = new Corpus(6, true);
  const curves = new Curves(smallest);
  const smallDocuments = fill(reference, { corpus: smallCorpus, model, from: 0, size: smallest });
  let documents = 0;
  for (const size of larger) {
    documents = fill(grown, { corpus, model, from: documents, size });
    for (const [name, isReady] of STARTED) {
      const starts = await inTurns(
        STARTS,
        () => start(grown, env, isReady),
        () => start(reference, env, isReady),
      );
      curves.note(name, size, milliseconds(starts.one), milliseconds(starts.other));
    }
    const brokers = [await grown.startBroker(env), await reference.startBroker(env)] as const;
    await using large = await openSide(grown, documents, corpus);
    await using small = await openSide(reference, smallDocuments, smallCorpus);
    for (const { name, flat, rounds, call } of PROBES) {
      const { one, other } = await inTurns(
        rounds ?? ROUNDS,
        (round) => timed(() => call(large, round)),
        (round) => timed(() => call(small, round)),
      );
      curves.note(name, size, milliseconds(one), milliseconds(other), flat);
    }
    curves.note("memory of the broker", size, resident(brokers[0]), resident(brokers[1]));
    curves.note("disk", size, ledgerSize(grown), ledgerSize(reference));
    for (const broker of brokers) await stop(broker);
  }
  return curves.print();
}

/** Returns the brokers' environment, and the tiny model's identity if drawers have its vectors. */
async function settings(palace: TestPalace): Promise<{ env: Record<string, string>; model: string | undefined }> {
  const forever = { MEMPALACE_IDLE_EXIT_MINUTES: "0" };
  // A public palace accepts no drawers without vectors, so without the model these brokers write no public palace.
  if (!values.model) return { env: { ...forever, MEMPALACE_DRIVER: "none" }, model: undefined };
  const dir = writeTinyModel(`${palace.home}/model`);
  const nowhere = "/nonexistent";
  const files = await findModel({ dir, url: undefined, offline: true, cacheDir: nowhere, userHome: nowhere });
  if (files === undefined) throw new Error("the tiny model is not whole");
  return { env: { ...forever, MEMPALACE_MODEL_DIR: dir }, model: files.identity.id };
}

type Fill = { corpus: Corpus; model: string | undefined; from: number; size: number };

/** Fills the palace up to `size`, unless it already exists. Returns its number of documents. */
function fill({ config }: TestPalace, { corpus, model, from, size }: Fill): number {
  const { ledgerFile } = config.paths;
  const to = Math.ceil(size / chunks);
  if (from === 0 && existsSync(ledgerFile)) return to;
  mkdirSync(dirname(ledgerFile), { recursive: true });
  const startedAt = performance.now();
  const drawers = fillLedger({
    ledgerFile,
    model,
    text: (characters) => corpus.text(characters),
    from,
    to,
    chunks,
    cut,
  });
  const seconds = (performance.now() - startedAt) / 1000;
  process.stderr.write(`${drawers} drawers, filled in ${seconds.toFixed(0)} s\n`);
  return to;
}

/** Connects to the palace's broker. With a model, waits for the public palace, whose filling would disturb a search. */
async function openSide(palace: TestPalace, documents: number, corpus: Corpus): Promise<Side & AsyncDisposable> {
  const client = await palace.client();
  if (values.model) await allQuiet(client);
  const raw = openRawLists(palace.config.paths.ledgerFile);
  const close = async (): Promise<void> => {
    raw[Symbol.dispose]();
    client.close();
  };
  return { palace, client, raw, documents, corpus, [Symbol.asyncDispose]: close };
}

/** Runs both sides alternately, fewer times if a call is slow. */
async function inTurns(
  rounds: number,
  one: (round: number) => Promise<number>,
  other: (round: number) => Promise<number>,
): Promise<{ one: number; other: number }> {
  const ones: number[] = [];
  const others: number[] = [];
  const startedAt = performance.now();
  await Promise.all([one(-1), other(-1)]);
  for (let round = 0; round < rounds; round++) {
    if (round >= ROUNDS_MIN && performance.now() - startedAt > ROUNDS_MAX_MS) break;
    ones.push(await one(round));
    others.push(await other(round));
  }
  // Returns the lower quartile, because other work on the machine only makes calls slower.
  return { one: lowerQuartile(ones), other: lowerQuartile(others) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const [took] = await time(1, work, 0);
  return took ?? Number.NaN;
}

/** Returns the time from spawning the broker until it is ready, ms. */
async function start(
  palace: TestPalace,
  env: Record<string, string>,
  isReady: (client: Client) => Promise<boolean>,
): Promise<number> {
  const startedAt = performance.now();
  const broker = await palace.startBroker(env);
  const client = await palace.client();
  while (!(await isReady(client))) await delay(2);
  const took = performance.now() - startedAt;
  client.close();
  await stop(broker);
  return took;
}

async function backup({ palace }: Side): Promise<void> {
  const file = `${palace.home}/curves.tar`;
  const { code, stderr } = await palace.run("palace", ["backup", file]);
  rmSync(file, { force: true });
  if (code !== 0) throw new Error(`no backup: ${stderr}`);
}

async function stop(broker: ChildProcess): Promise<void> {
  broker.kill("SIGTERM");
  if (broker.exitCode === null) await once(broker, "exit");
}

function milliseconds(value: number): Cost {
  return { value, unit: "ms" };
}

function resident({ pid = 0 }: ChildProcess): Cost {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return { value: Number(kib) / 1024, unit: "MiB" };
}

function ledgerSize({ config }: TestPalace): Cost {
  const { ledgerFile } = config.paths;
  const bytes = [ledgerFile, `${ledgerFile}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return { value: bytes.reduce((sum, size) => sum + size, 0) / 2 ** 20, unit: "MiB" };
}
