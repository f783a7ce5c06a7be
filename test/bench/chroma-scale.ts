/**
 * `node test/bench/chroma-scale.ts fill|copy|ask|faults --home FOLDER [--drawers N] [--model FOLDER] [--container NAME]` measures
 * MEMPALACE_VECTORS=chroma with a large palace and a real Chroma server. `fill` makes the palace, whose vectors each mix three of 2,000
 * real ones. `copy` lets the broker send every drawer to the server. `ask` compares both settings, and the server's answers with an exact
 * scan. `faults` disturbs the server while the broker works. `--container`: a container of the compose image `chroma`, whose port 8000 is
 * published at `--port` (18000 by default). A proxy in this process listens at the next port. Runs the built package (dist).
 */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { SILENT_LOG } from "../../src/base/log.ts";
import { openEmbedder } from "../../src/memory/index/embedding/embedder.ts";
import { findModel, type ModelFiles } from "../../src/memory/index/embedding/model-files.ts";
import { openVectorIndex } from "../../src/memory/index/vectors/vector-index.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { createChromaDriver } from "../../src/mempalace/driver/chroma.ts";
import type { Client } from "../../src/wire/client/client.ts";
import { createTestPalace, realModelDir } from "../helpers/palace.ts";
import { seededRandom } from "../helpers/random.ts";
import { Corpus } from "./corpus.ts";
import { fillLedger, FIRST_AT_MS, mixedVector, sourceOf, STEP_MS } from "./fill-ledger.ts";
import { requireBuild } from "./measure.ts";

const CENTRES = 2_000;
const CHUNKS = 200;
const HALF_CUT = { size: 400, overlap: 50, sizeMin: 50 };
const SAMPLE_MS = 15_000;
const FAULT_MS = 15_000;
type Values = Record<string, string | number>;
type Found = { results: { drawer_id: string }[]; vector_disabled_reason?: string };

requireBuild();
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    home: { type: "string" },
    drawers: { type: "string", default: "250000" },
    model: { type: "string", default: realModelDir ?? "" },
    container: { type: "string", default: "" },
    port: { type: "string", default: "18000" },
    only: { type: "string", default: "" },
  },
});
const palace = createTestPalace({ built: true, home: values.home ?? "" });
const { ledgerFile } = palace.config.paths;
const url = `http://127.0.0.1:${values.port}`;

async function modelFiles(): Promise<ModelFiles> {
  const nowhere = "/nonexistent";
  const place = { dir: values.model, url: undefined, offline: true, cacheDir: nowhere, userHome: nowhere };
  const files = await findModel(place);
  if (files === undefined) throw new Error(`no model in ${values.model}`);
  return files;
}

async function fill(): Promise<void> {
  const files = await modelFiles();
  const embedder = await openEmbedder(files, { threads: 1 });
  const corpus = new Corpus(6, true);
  const centres = await embedder.embed(Array.from({ length: CENTRES }, () => corpus.text(60)));
  await embedder.close();
  const random = seededRandom(1);
  const vectorOf = (): Float32Array => mixedVector(centres, random);
  const model = files.identity.id;
  mkdirSync(dirname(ledgerFile), { recursive: true });
  const text = (characters: number): string => corpus.text(characters);
  const to = Math.ceil(Number(values.drawers) / CHUNKS);
  fillLedger({ ledgerFile, model, text, from: 0, to, chunks: CHUNKS, cut: HALF_CUT, vectorOf });
}

/** Starts a broker with MEMPALACE_VECTORS=`vectors`. Resolves when its model answers. */
async function open(vectors: string): Promise<{ client: Client; rss: () => string; end: () => Promise<void> }> {
  const broker = await palace.startBroker({
    MEMPALACE_IDLE_EXIT_MINUTES: "0",
    MEMPALACE_MODEL_DIR: values.model,
    MEMPALACE_VECTORS: vectors,
    MEMPALACE_CHROMA_URL: `http://127.0.0.1:${proxy.port}`,
  });
  const client = await palace.client();
  while ((await client.call("palace.status", {})).search.modelState !== "ready") await delay(50);
  const end = async (): Promise<void> => {
    client.close();
    const ended = new Promise((resolve) => broker.once("exit", resolve));
    broker.kill("SIGTERM");
    await ended;
  };
  return { client, end, rss: () => memoryOf(broker.pid ?? 0) };
}

function memoryOf(pid: number): string {
  const field = (name: string): number =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  return `${field("VmRSS").toFixed(0)} MiB (peak ${field("VmHWM").toFixed(0)})`;
}

async function docker(...args: string[]): Promise<string> {
  return (await promisify(execFile)("docker", args)).stdout.trim();
}

/** Describes the memory and processor time of the server's process. */
async function server(): Promise<string> {
  const pid = Number(await docker("inspect", "-f", "{{.State.Pid}}", values.container));
  if (pid === 0) return "server stopped";
  const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ").slice(13, 15).map(Number);
  return `server ${memoryOf(pid)}, ${((user + system) / 100).toFixed(0)} s of processor time`;
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const startedAt = performance.now();
  const value = await work();
  return { ms: performance.now() - startedAt, value };
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(0);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, slowest ${at(1)} ms`;
}

const search = (client: Client, query: string, more: Values = {}): Promise<Found> =>
  client.callTool("mempalace_search", { query, limit: 10, ...more }) as Promise<Found>;
let added = 0;
const add = (client: Client): Promise<unknown> =>
  client.callTool("mempalace_add_drawer", {
    wing: "wing1",
    room: "added",
    content: `a note of the bench, ${process.pid} ${added++}`,
  });

/** Prints a row every SAMPLE_MS until the server has every drawer. */
async function copy(): Promise<void> {
  const corpus = new Corpus(8, true);
  const { client, rss, end } = await open("chroma");
  const startedAt = performance.now();
  for (let before: number | undefined; ;) {
    const status = await timed(() => client.call("palace.status", {}));
    const { lag, state, detail } = status.value.driver;
    const seconds = (performance.now() - startedAt) / 1000;
    const rate = before === undefined ? "" : `${(((before - lag) / SAMPLE_MS) * 1000).toFixed(0)}/s`;
    before = lag;
    const found = await timed(() => search(client, corpus.query(5)));
    const filed = await timed(() => add(client));
    console.log(
      `${seconds.toFixed(0)} s: ${lag} left ${rate} ${state} ${detail}; status ${status.ms.toFixed(0)}, search ${found.ms.toFixed(0)} ` +
        `${found.value.vector_disabled_reason ?? "with Chroma"}, add ${filed.ms.toFixed(0)} ms; broker ${rss()}; ${await server()}`,
    );
    if (lag <= 1 && state !== "unreachable") break;
    await delay(SAMPLE_MS);
  }
  await end();
}

async function ask(): Promise<void> {
  const corpus = new Corpus(7, true);
  const documents = Math.ceil(Number(values.drawers) / CHUNKS);
  const since = new Date(FIRST_AT_MS + (documents / 2) * STEP_MS).toISOString().slice(0, 19);
  const kinds: Record<string, Values> = {
    "the whole palace": {},
    "in a wing": { wing: "wing1" },
    "in a room of a wing": { wing: "wing1", room: "room0" },
    "in a source": { source_file: sourceOf(documents - 1) },
    "half of the time": { since },
  };
  const questions = Array.from({ length: 120 }, () => corpus.query(5));
  const hits = new Map<string, string[][]>();
  for (const vectors of ["local", "chroma", "local", "chroma"]) {
    const { client, rss, end } = await open(vectors);
    const before = rss();
    const first = await timed(() => search(client, "first"));
    for (let at = 0; at < 10; at++) await search(client, corpus.query(5));
    for (const [kind, more] of Object.entries(kinds)) {
      const answers: { ms: number; value: Found }[] = [];
      for (const question of kind === "the whole palace" ? questions : questions.slice(0, 15))
        answers.push(await timed(() => search(client, question, more)));
      const ids = answers.map(({ value }) => value.results.map((hit) => hit.drawer_id));
      const other = hits.get(`${kind} ${vectors === "chroma" ? "local" : "chroma"}`);
      hits.set(`${kind} ${vectors}`, ids);
      const without = answers.filter(({ value }) => value.vector_disabled_reason !== undefined).length;
      console.log(
        `${vectors}, ${kind}: ${spread(answers.map(({ ms }) => ms))}, without vectors ${without}, same hits ${other === undefined ? "" : overlap(ids, other)}`,
      );
    }
    console.log(
      `${vectors}: first ${first.ms.toFixed(0)} ms, broker before ${before}, after ${rss()}; ${await server()}`,
    );
    await end();
  }
  await raw(questions);
}

function overlap(ones: string[][], others: string[][]): string {
  const shared = ones.map((ids, at) => ids.filter((id) => others[at]?.includes(id)).length);
  const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0);
  return `${((100 * sum(shared)) / sum(others.map((ids) => ids.length))).toFixed(1)} %`;
}

/** Compares the server's nearest drawers with an exact scan's, for each question. */
async function raw(questions: readonly string[]): Promise<void> {
  const embedder = await openEmbedder(await modelFiles(), { threads: 1 });
  const driver = createChromaDriver({ chroma: { ...palace.config.chroma, url }, log: SILENT_LOG });
  await driver.open();
  const reader = new SqliteLedgerReader(ledgerFile);
  const index = openVectorIndex({ ledgerFile });
  const times: Record<string, number[]> = { embed: [], server: [], scan: [] };
  const lists: Record<string, string[][]> = { server: [], scan: [] };
  for (const question of questions) {
    const { ms, value } = await timed(() => embedder.embed([question]));
    times["embed"]?.push(ms);
    const [vector = new Float32Array()] = value;
    const theirs = await timed(() => driver.query(vector, {}, 100));
    const ours = await timed(() => index.nearest(vector, {}, 100));
    times["server"]?.push(theirs.ms);
    times["scan"]?.push(ours.ms);
    lists["server"]?.push(theirs.value.map(({ id }) => id));
    lists["scan"]?.push(reader.drawersByRow(ours.value.map(({ row }) => row)).map(({ id }) => id));
  }
  for (const [name, ones] of Object.entries(times)) console.log(`${name} alone: ${spread(ones)}`);
  for (const count of [10, 100]) {
    const first = (name: string): string[][] => (lists[name] ?? []).map((ids) => ids.slice(0, count));
    console.log(`the server has ${overlap(first("server"), first("scan"))} of the nearest ${count}`);
  }
}

/** Proxy in front of the Chroma server. `mode`: passes requests, delays them, or answers them wrongly. */
const proxy = { mode: "pass" as "pass" | "slow" | "wrong" | "garbage", port: Number(values.port) + 1 };

function startProxy(): Promise<void> {
  const passing = createServer((incoming, outgoing) => {
    const forward = (): void => {
      const { method, url: path, headers } = incoming;
      const onward = httpRequest({ port: Number(values.port), host: "127.0.0.1", method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    };
    const isQuery = incoming.url?.endsWith("/query") === true;
    if (proxy.mode === "slow") setTimeout(forward, 3_000);
    else if (proxy.mode === "garbage") outgoing.writeHead(200).end("<html>");
    else if (proxy.mode === "wrong" && isQuery)
      outgoing
        .writeHead(200, { "content-type": "application/json" })
        .end('{"ids":[["nobody"]],"distances":[[0.1]],"include":["distances"]}');
    else forward();
  });
  return new Promise((resolve) => passing.listen(proxy.port, "127.0.0.1", resolve));
}

async function faults(): Promise<void> {
  const { client, end } = await open("chroma");
  const container = values.container;
  const mode = (name: typeof proxy.mode) => (): Promise<void> => Promise.resolve(void (proxy.mode = name));
  const ways: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    ["nothing", mode("pass"), mode("pass")],
    ["kill -9", () => docker("kill", container), () => docker("start", container)],
    ["pause", () => docker("pause", container), () => docker("unpause", container)],
    ["each answer 3 s late", mode("slow"), mode("pass")],
    ["answers are HTML", mode("garbage"), mode("pass")],
    ["hits that nobody filed", mode("wrong"), mode("pass")],
    ["a server without its data", loseData, mode("pass")],
  ];
  for (const [name, begin, mend] of ways.filter(([way]) => values.only === "" || way.startsWith(values.only))) {
    await begin();
    await disturbed(client, name);
    await mend();
    if (begin === loseData) continue;
    const back = await timed(() => recovered(client));
    console.log(
      `${name}: ${(back.ms / 1000).toFixed(1)} s until a search uses Chroma again and the server has every note`,
    );
  }
  await end();
}

/** Deletes the collection. The bench does not wait until the broker has sent every drawer again. */
async function loseData(): Promise<void> {
  const place = `${url}/api/v2/tenants/default_tenant/databases/default_database/collections/mempalace_drawers`;
  await fetch(place, { method: "DELETE" });
}

async function disturbed(client: Client, name: string): Promise<void> {
  const corpus = new Corpus(Date.now(), true);
  const times: Record<string, number[]> = { search: [], add: [], duplicate: [], checkpoint: [] };
  const reasons = new Set<string>();
  for (const until = performance.now() + FAULT_MS; performance.now() < until;) {
    const found = await timed(() => search(client, corpus.query(5)));
    reasons.add(found.value.vector_disabled_reason ?? "with Chroma");
    times["search"]?.push(found.ms);
    times["add"]?.push((await timed(() => add(client))).ms);
    times["duplicate"]?.push(
      (await timed(() => client.callTool("mempalace_check_duplicate", { content: corpus.text(100) }))).ms,
    );
    const items = Array.from({ length: 3 }, () => ({ wing: "wing1", room: "added", content: corpus.text(100) }));
    times["checkpoint"]?.push((await timed(() => client.callTool("mempalace_checkpoint", { items }))).ms);
  }
  for (const [call, ones] of Object.entries(times)) console.log(`${name}: ${ones.length} × ${call} ${spread(ones)}`);
  console.log(`${name}: ${[...reasons].join("; ")}`);
}

async function recovered(client: Client): Promise<void> {
  for (;;) {
    const { driver, search: state } = await client.call("palace.status", {});
    const found = await search(client, "first");
    if (found.vector_disabled_reason === undefined && driver.lag === 0 && state.pending === 0) return;
    await delay(100);
  }
}

const COMMANDS: Record<string, () => Promise<void>> = { fill, copy, ask, faults };
await startProxy();
await COMMANDS[positionals[0] ?? ""]?.();
process.exit(0);
