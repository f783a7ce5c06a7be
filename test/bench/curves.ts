/**
 * `npm run bench:curves [--sizes 1000,10000,50000,200000]` measures how the time of each kind of call grows with a palace. The first size
 * has its own palace, whose broker keeps running. Each larger size is measured in turns with the first size, so a slow moment of the
 * machine slows both. Prints the table and the growth exponents (1 = linear). The exit code says whether any call grows faster than
 * the palace, and whether status and list stay flat. Runs the built package (dist).
 */
import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Client } from "../../src/wire/client/client.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { Corpus } from "./corpus.ts";
import { CHUNKS, fillLedger, FIRST_AT_MS, sourceOf, STEP_MS } from "./fill-ledger.ts";
import { lowerQuartile, requireBuild, time } from "./measure.ts";
import { allQuiet } from "./settled.ts";

const DEFAULT_SIZES = "1000,10000,50000,200000";
/** Number of turns of one call. A slow call gets fewer turns. */
const ROUNDS = 31;
const ROUNDS_MIN = 5;
const ROUNDS_MAX_MS = 4_000;
const STARTS = 5;
/** Growth that measurement errors alone can cause, over a whole size step and for calls that must stay flat. */
const LINEAR_MAX = 1.15;
const FLAT_MAX = 1.5;
/** Number of documents in a time window. Every size has about this many. */
const WINDOW_DOCUMENTS = 12;

type Cost = { value: number; unit: "ms" | "MiB" };
type Curve = { name: string; flat: boolean; points: { size: number; cost: Cost; growth: number }[] };
type Side = { palace: TestPalace; client: Client; documents: number; corpus: Corpus };
type Probe = { name: string; flat?: true; call: (side: Side, round: number) => Promise<unknown> };

const tool = (side: Side, name: string, values: Record<string, string | number>): Promise<unknown> =>
  side.client.callTool(`mempalace_${name}`, values);

function moment(document: number): string {
  return new Date(FIRST_AT_MS + document * STEP_MS).toISOString().slice(0, 19);
}

/** Calls to measure. They use a room, a wing and a window that exist at every size. */
const PROBES: readonly Probe[] = [
  {
    name: "add",
    call: (side, round) =>
      tool(side, "add_drawer", { wing: "wing1", room: "added", content: `${round} ${side.corpus.text(400)}` }),
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
  // The room that the first probe files into has only a few drawers, also in a large palace.
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
    call: (side) => tool(side, "list_drawers", { offset: (side.documents - 1) * CHUNKS }),
  },
  {
    name: "list in a wing, last page",
    call: (side) => tool(side, "list_drawers", { wing: "wing1", offset: Math.floor((side.documents / 8) * CHUNKS) }),
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
];

requireBuild();
const { values } = parseArgs({ options: { sizes: { type: "string", default: DEFAULT_SIZES } } });
const sizes = values.sizes.split(",").map(Number);
if (sizes.length < 2 || sizes.some((size, at) => !(size > (sizes[at - 1] ?? CHUNKS * 24)))) {
  process.stderr.write(`--sizes: two or more numbers of drawers, rising, from ${CHUNKS * 24 + 1} on\n`);
  process.exit(2);
}
process.exit((await measure(sizes)) ? 0 : 1);

async function measure([smallest = 0, ...larger]: number[]): Promise<boolean> {
  await using reference = createTestPalace({ built: true });
  await using grown = createTestPalace({ built: true });
  const folder = writeTinyModel(`${reference.home}/model`);
  const nowhere = "/nonexistent";
  const files = await findModel({ dir: folder, url: undefined, offline: true, cacheDir: nowhere, userHome: nowhere });
  if (files === undefined) throw new Error("the tiny model is not whole");
  const model = files.identity.id;
  const env = { MEMPALACE_MODEL_DIR: folder, MEMPALACE_IDLE_EXIT_MINUTES: "0" };

  const fill = (palace: TestPalace, corpus: Corpus, from: number, size: number): number => {
    const to = Math.ceil(size / CHUNKS);
    const startedAt = performance.now();
    const { ledgerFile } = palace.config.paths;
    const drawers = fillLedger({ ledgerFile, model, text: (characters) => corpus.text(characters), from, to });
    const seconds = (performance.now() - startedAt) / 1000;
    process.stderr.write(`${drawers} drawers, filled in ${seconds.toFixed(0)} s\n`);
    return to;
  };

  const curves = new Map<string, Curve>();
  const note = (name: string, size: number, one: Cost, base: Cost, flat = false): void => {
    const curve = curves.get(name) ?? { name, flat, points: [{ size: smallest, cost: base, growth: 1 }] };
    curves.set(name, curve);
    curve.points.push({ size, cost: one, growth: one.value / base.value });
  };

  const smallCorpus = new Corpus(6);
  const smallDocuments = fill(reference, smallCorpus, 0, smallest);
  const corpus = new Corpus(6);
  let documents = 0;
  for (const size of larger) {
    documents = fill(grown, corpus, documents, size);
    const starts = await inTurns(
      STARTS,
      () => coldStart(grown, env),
      () => coldStart(reference, env),
    );
    note("open (cold start to ready)", size, milliseconds(starts.one), milliseconds(starts.other));

    const brokers = [await grown.startBroker(env), await reference.startBroker(env)] as const;
    const large: Side = { palace: grown, client: await grown.client(), documents, corpus };
    const small: Side = {
      ...{ palace: reference, client: await reference.client(), documents: smallDocuments, corpus: smallCorpus },
    };
    // Waits until the public palace has every row, so that sending rows does not disturb a measured search.
    await Promise.all([allQuiet(large.client), allQuiet(small.client)]);
    for (const { name, flat, call } of PROBES) {
      const { one, other } = await inTurns(
        ROUNDS,
        (round) => timed(() => call(large, round)),
        (round) => timed(() => call(small, round)),
      );
      note(name, size, milliseconds(one), milliseconds(other), flat);
    }
    note("memory of the broker", size, resident(brokers[0]), resident(brokers[1]));
    note("disk", size, ledgerSize(grown), ledgerSize(reference));
    large.client.close();
    small.client.close();
    for (const broker of brokers) await stop(broker);
  }
  return print([...curves.values()]);
}

/** Runs both sides alternately. A slow call gets fewer turns. */
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
  // Other work on the machine makes some turns longer and none shorter.
  return { one: lowerQuartile(ones), other: lowerQuartile(others) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const [took] = await time(1, work, 0);
  return took ?? Number.NaN;
}

/** Measures the time from spawning the broker until a hybrid search works. */
async function coldStart(palace: TestPalace, env: Record<string, string>): Promise<number> {
  const startedAt = performance.now();
  const broker = await palace.startBroker(env);
  const client = await palace.client();
  await ready(client);
  const took = performance.now() - startedAt;
  client.close();
  await stop(broker);
  return took;
}

async function ready(client: Client): Promise<void> {
  for (;;) {
    const { search } = await client.call("palace.status", {});
    if (search.modelState === "ready") return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
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

/** Prints the curves. Returns true if no call grows faster than the palace, and the calls that must stay flat are flat. */
function print(curves: readonly Curve[]): boolean {
  const shown = ({ value, unit }: Cost): string => `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
  const header = curves[0]?.points.map(({ size }) => `${size}`.padStart(11)).join("") ?? "";
  process.stdout.write(`${"drawers".padEnd(30)}${header}   growth exponents\n`);
  let misses = 0;
  for (const { name, flat, points } of curves) {
    const exponents = points
      .slice(1)
      .map(({ size, growth }, at) => exponent(points[at] as Curve["points"][number], { size, growth }));
    const last = points.at(-1)?.growth ?? 1;
    const fails = flat ? last > FLAT_MAX : exponents.some((one) => one > LINEAR_MAX);
    if (fails) misses += 1;
    const verdict = fails ? (flat ? "NOT FLAT" : "WORSE THAN LINEAR") : flat ? "flat" : "";
    const costs = points.map(({ cost }) => shown(cost).padStart(11)).join("");
    const steps = exponents.map((one) => one.toFixed(2).padStart(6)).join("");
    process.stdout.write(`${name.padEnd(30)}${costs}   ${steps}  × ${last.toFixed(1)}  ${verdict}\n`);
  }
  process.stdout.write(
    `growth is against the ${curves[0]?.points[0]?.size} drawers measured in turns with each size (the first column is of the first turn); ` +
      `${misses === 0 ? "nothing is worse than linear, what shall be flat is" : `${misses} curves miss`}\n`,
  );
  return misses === 0;
}

function exponent(from: { size: number; growth: number }, to: { size: number; growth: number }): number {
  return Math.log(to.growth / from.growth) / Math.log(to.size / from.size);
}
