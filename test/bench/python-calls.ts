/** Compares how long an agent waits for our broker and for Python's MemPalace. Both palaces have the same rows and vectors. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { createTestPalace, realModelDir, type TestPalace } from "../helpers/palace.ts";
import { mempalaceBin, mempalaceEnv, type MempalaceVersion, python } from "../helpers/python-mempalace.ts";
import { English } from "./english.ts";
import { CHUNKS, fillLedger } from "./fill-ledger.ts";
import { ms, timeBoth } from "./measure.ts";
import { type Command, openServer, pythonHome, type PythonRow, type Server } from "./python-side.ts";
import { allQuiet } from "./settled.ts";

const SEARCHES = 25;
const ADDS = 25;
const STARTS = 7;
/** Pause between two calls, ms. */
const REST_MS = 100;
/** Time for the work that a broker does after its start. */
const SETTLE_MS = 5_000;
/** Average length of a drawer, characters. */
const CHARACTERS_PER_DRAWER = 540;

/** Writes our rows through upstream's own code. Makes closets as upstream's miner does, because a search uses them too. */
const FILL = `
import hashlib, itertools, json, sys
from mempalace.miner import build_closet_lines, get_closets_collection, upsert_closet_lines
from mempalace.palace import get_collection
collection = get_collection(sys.argv[1], create=True)
rows = [json.loads(line) for line in open(sys.argv[2])]
for start in range(0, len(rows), 500):
    part = rows[start:start + 500]
    collection.add(ids=[r["id"] for r in part], documents=[r["text"] for r in part],
      metadatas=[r["metadata"] for r in part], embeddings=[r["vector"] for r in part])
closets = get_closets_collection(sys.argv[1])
source = lambda row: row["metadata"]["source_file"]
for file, found in itertools.groupby(sorted(rows, key=source), key=source):
    part = sorted(found, key=lambda row: row["metadata"]["chunk_index"])
    metas = [row["metadata"] for row in part]
    wing, room = metas[0]["wing"], metas[0]["room"]
    lines = build_closet_lines(file, [row["id"] for row in part], "\\n\\n".join(row["text"] for row in part), wing, room,
      drawer_metas=metas)
    base = f"closet_{wing}_{room}_{hashlib.sha256(file.encode()).hexdigest()[:24]}"
    upsert_closet_lines(closets, base, lines, {"wing": wing, "room": room, "source_file": file, "drawer_count": len(part)})`;

export async function benchCalls(version: MempalaceVersion, { drawers }: { drawers: number }): Promise<PythonRow[]> {
  if (realModelDir === undefined) throw new Error("there is no model");
  using theirHome = pythonHome();
  await using palace = createTestPalace({ built: true, env: { MEMPALACE_MODEL_DIR: realModelDir } });
  const filled = await fillOurs(palace, drawers);
  const theirPalace = join(theirHome.home, "palace");
  const rowsFile = join(theirHome.home, "rows.jsonl");
  writeRows(palace, rowsFile);
  await python(version, theirHome.home, FILL, [theirPalace, rowsFile]);

  await palace.startBroker();
  const client = await palace.client();
  // MemPalace works only during calls, so our broker first finishes its background work.
  await allQuiet(client);
  const commands = {
    theirs: {
      argv: [mempalaceBin(version, "mempalace-mcp"), "--palace", theirPalace],
      env: mempalaceEnv(theirHome.home),
    },
    ours: { argv: [process.execPath, palace.executable("mp-shim")], env: defined(palace.env) },
  };
  const rows = [await firstReply(commands)];
  const theirs = await openServer(commands.theirs);
  const ours = await openServer(commands.ours);
  rows.push(...(await calls(theirs, ours)));
  await ours[Symbol.asyncDispose]();
  client.close();
  rows.push(await withoutModel(palace, theirs, commands.ours));
  await theirs[Symbol.asyncDispose]();
  return rows.map((row) => ({ ...row, detail: `${row.detail}; ${filled} drawers` }));
}

async function firstReply(commands: { theirs: Command; ours: Command }): Promise<PythonRow> {
  const start = (command: Command) => async () => {
    const server = await openServer(command);
    return () => server[Symbol.asyncDispose]();
  };
  const { one, other } = await timeBoth(STARTS, start(commands.theirs), start(commands.ours));
  return ratio("first reply after start", 10, one, other);
}

/** Compares with our search without a model. Our goal is a factor of 16: 3 ms where MemPalace takes 48 ms. */
async function withoutModel(palace: TestPalace, theirs: Server, command: Command): Promise<PythonRow> {
  const env = { MEMPALACE_MODEL_DIR: "", MEMPALACE_OFFLINE: "on" };
  await palace.run("palace", ["stop"]);
  await palace.startBroker(env);
  await delay(SETTLE_MS);
  const ours = await openServer({ ...command, env: { ...command.env, ...env } });
  const { one, other } = await timeBoth(SEARCHES, searches(theirs), searches(ours));
  await ours[Symbol.asyncDispose]();
  return ratio("MCP search p50 by words and static vectors, no rest", 8, one, other);
}

/** Returns a function that asks a server the next question. Both sides get the same questions in the same order, each question once. */
function searches(server: Server, english = new English(9)): () => Promise<void> {
  return async () => {
    const { results } = await server.call("search", { query: english.query() });
    if (!Array.isArray(results) || results.length === 0) throw new Error("a search found nothing");
  };
}

async function calls(theirs: Server, ours: Server): Promise<PythonRow[]> {
  const english = new English(10);
  const texts = Array.from({ length: ADDS + 1 }, () => english.text(400));
  const add =
    (server: Server, added = 0) =>
    async () => {
      const answer = await server.call("add_drawer", { wing: "notes", room: "bench", content: texts[added++] });
      if (answer["success"] !== true) throw new Error(`not added: ${JSON.stringify(answer)}`);
    };
  const rested = await timeBoth(SEARCHES, searches(theirs), searches(ours), REST_MS);
  const atOnce = await timeBoth(SEARCHES, searches(theirs), searches(ours));
  const adds = await timeBoth(ADDS, add(theirs), add(ours), REST_MS);
  return [
    ratio("MCP search p50", 5, rested.one, rested.other),
    ratio("MCP search p50, no rest between calls", 5, atOnce.one, atOnce.other),
    ratio("MCP add_drawer p50", 50, adds.one, adds.other),
  ];
}

function ratio(name: string, bar: number, one: number, other: number): PythonRow {
  return { name, bar, ratio: one / other, detail: `${ms(one)} / ${ms(other)}` };
}

async function fillOurs(palace: TestPalace, drawers: number): Promise<number> {
  const nowhere = "/nonexistent";
  const config = { dir: realModelDir, url: undefined, offline: true, cacheDir: nowhere, userHome: nowhere };
  const files = await findModel(config);
  if (files === undefined) throw new Error("the model is not whole");
  const english = new English(8);
  const { ledgerFile } = palace.config.paths;
  const documents = Math.ceil(drawers / CHUNKS);
  const text = (): string => english.text(CHUNKS * CHARACTERS_PER_DRAWER).slice(0, CHUNKS * CHARACTERS_PER_DRAWER);
  return fillLedger({ ledgerFile, model: files.identity.id, text, from: 0, to: documents });
}

function writeRows({ config }: TestPalace, file: string): void {
  const ledger = new Database(config.paths.ledgerFile, { readonly: true });
  const rows = ledger
    .prepare<[], { id: string; text: string; metadata: string; vector: Buffer }>(
      "SELECT id, text, metadata, vector FROM drawer d JOIN vector v ON v.row = d.row ORDER BY d.row",
    )
    .all();
  ledger.close();
  const lines = rows.map(({ id, text, metadata, vector }) => {
    const floats = [...new Float32Array(Uint8Array.from(vector).buffer)];
    return JSON.stringify({ id, text, metadata: JSON.parse(metadata) as unknown, vector: floats });
  });
  writeFileSync(file, lines.join("\n"));
}

function defined(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}
