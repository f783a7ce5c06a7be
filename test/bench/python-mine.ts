/** Compares our mining of markdown projects with the Python package's, and with embedding the same texts without a palace. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Client } from "../../src/wire/client/client.ts";
import { type LocalEmbedder, openEmbedder } from "../../src/memory/index/embedding/embedder.ts";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import { createTestPalace, realModelDir, type TestPalace } from "../helpers/palace.ts";
import { type MempalaceVersion, runMempalace } from "../helpers/python-mempalace.ts";
import { English } from "./english.ts";
import { median } from "./measure.ts";
import { pythonHome, type PythonRow } from "./python-side.ts";
import { allEmbedded } from "./settled.ts";

/** Approximate number of drawers of one document. A document has DRAWERS_PER_DOCUMENT × CHARACTERS_PER_DRAWER characters. */
const DRAWERS_PER_DOCUMENT = 8;
const CHARACTERS_PER_DRAWER = 500;
const RAW_BATCH = 128;
const THREADS = 2;

type Turn = { theirs: number; searchable: number; embedded: number; raw: number };

export async function benchMine(
  version: MempalaceVersion,
  { drawers, parts, isFull }: { drawers: number; parts: number; isFull: boolean },
): Promise<PythonRow[]> {
  if (realModelDir === undefined) throw new Error("there is no model");
  using python = pythonHome();
  await using palace = createTestPalace({ built: true, env: { MEMPALACE_MODEL_DIR: realModelDir } });
  await palace.startBroker();
  const client = await palace.client();
  await allEmbedded(client);
  const embedder = await openBare(realModelDir);

  const english = new English(7);
  const documents = Math.max(1, Math.round(drawers / parts / DRAWERS_PER_DOCUMENT));
  const projects = Array.from({ length: parts }, (_, part) => makeProject(palace.home, part, documents, english));
  const theirPalace = join(python.home, "palace");
  const theirs = async (folder: string): Promise<void> => {
    const args = ["--palace", theirPalace, "mine", folder];
    const { code, output } = await runMempalace(version, args, { home: python.home });
    if (code !== 0) throw new Error(`mempalace mine: ${output.slice(-2000)}`);
  };
  const empty = join(palace.home, "empty");
  mkdirSync(empty);
  writeFileSync(join(empty, "mempalace.yaml"), "wing: empty\nrooms: []\n");

  const turns: Turn[] = [];
  const starts: number[] = [];
  for (const [part, { folder, wing, lastWord }] of projects.entries()) {
    const turn: Turn = { theirs: 0, searchable: 0, embedded: 0, raw: 0 };
    const steps = [
      async () => (turn.theirs = await took(() => theirs(folder))),
      async () => Object.assign(turn, await oursTook(palace, client, folder, wing, lastWord)),
    ];
    for (const step of part % 2 === 0 ? steps : steps.toReversed()) await step();
    const texts = ourTexts(palace, wing);
    turn.raw = await took(() => embedBare(embedder, texts));
    starts.push(await took(() => theirs(empty)));
    turns.push(turn);
    process.stderr.write(`  part ${part + 1}: ${describe(turn)}\n`);
  }
  await embedder.close();
  const counts = { ours: ourTexts(palace).length, theirs: theirCount(theirPalace) };
  if (Math.abs(counts.ours - counts.theirs) > counts.theirs * 0.02)
    throw new Error(`not the same work: ${counts.ours} drawers of ours, ${counts.theirs} of theirs`);

  const again: { theirs: number; ours: number }[] = [];
  for (const { folder } of projects)
    again.push({ theirs: await took(() => theirs(folder)), ours: await took(() => feed(palace, folder, "unchanged")) });
  client.close();

  const start = Math.min(...starts);
  const seconds = (value: number): string => `${(value / 1000).toFixed(value < 10_000 ? 2 : 0)} s`;
  const row = (name: string, bar: number | undefined, one: number[], other: number[], note = ""): PythonRow => {
    const ratio = median(one.map((value, at) => value / (other[at] ?? Number.NaN)));
    return { name, bar, ratio, detail: `${seconds(median(one))} / ${seconds(median(other))}${note}` };
  };
  const of = (key: keyof Turn): number[] => turns.map((turn) => turn[key]);
  const apart = `, without their start of ${seconds(start)}`;
  return [
    row("mine: everything searchable sooner", 20, of("theirs"), of("searchable"), `; ${counts.ours} drawers`),
    row(
      "mine: everything embedded sooner",
      1.4,
      of("theirs").map((value) => value - start),
      of("embedded"),
      apart,
    ),
    row("mine: everything embedded / the bare embedder", 0.85, of("raw"), of("embedded")),
    row(
      "unchanged re-run faster",
      // A small run has no limit, because both sides spend most of the time on starting.
      isFull ? 5 : undefined,
      again.map((one) => one.theirs),
      again.map((one) => one.ours),
    ),
  ];
}

async function oursTook(
  palace: TestPalace,
  client: Client,
  folder: string,
  wing: string,
  lastWord: string,
): Promise<{ searchable: number; embedded: number }> {
  let searchable = 0;
  const embedded = await took(async () => {
    searchable = await took(async () => {
      await feed(palace, folder, "filed");
      const found = await client.callTool("mempalace_search", { query: lastWord, wing, limit: 1 });
      if (!JSON.stringify(found).includes(lastWord)) throw new Error(`${lastWord} is not found`);
    });
    await allEmbedded(client);
  });
  return { searchable, embedded };
}

async function feed(palace: TestPalace, folder: string, expected: "filed" | "unchanged"): Promise<void> {
  const { code, stdout, stderr } = await palace.run("palace", ["mine", "projects", folder, "--json"]);
  const report = code === 0 ? (JSON.parse(stdout) as Record<string, number>) : {};
  if (code !== 0 || report[expected] !== report["files"]) throw new Error(`palace mine projects: ${stdout}${stderr}`);
}

/** Makes a project with documents in docs/. Only the last document contains `lastWord`. */
function makeProject(
  home: string,
  part: number,
  documents: number,
  english: English,
): { folder: string; wing: string; lastWord: string } {
  const wing = `part${part}`;
  const lastWord = `zyx${part}wvu`;
  const folder = join(home, wing);
  mkdirSync(join(folder, "docs"), { recursive: true });
  writeFileSync(join(folder, "mempalace.yaml"), `wing: ${wing}\nrooms:\n  - name: docs\n    description: all of it\n`);
  for (let index = 0; index < documents; index++) {
    const body = english.text(DRAWERS_PER_DOCUMENT * CHARACTERS_PER_DRAWER);
    const last = index === documents - 1 ? `\n\nThe mark of the last one is ${lastWord}.` : "";
    const name = `page-${String(index).padStart(4, "0")}.md`;
    writeFileSync(join(folder, "docs", name), `# ${english.sentence()}\n\n${body}${last}\n`);
  }
  return { folder, wing, lastWord };
}

async function openBare(dir: string): Promise<LocalEmbedder> {
  const nowhere = "/nonexistent";
  const files = await findModel({ dir, url: undefined, offline: true, cacheDir: nowhere, userHome: nowhere });
  if (files === undefined) throw new Error("the model is not whole");
  const embedder = await openEmbedder(files, { threads: THREADS });
  await embedder.backlog.embed(["Not counted: the first batch makes room for the others."]);
  return embedder;
}

async function embedBare(embedder: LocalEmbedder, texts: readonly string[]): Promise<void> {
  for (let start = 0; start < texts.length; start += RAW_BATCH)
    await embedder.backlog.embed(texts.slice(start, start + RAW_BATCH));
}

function ourTexts({ config }: TestPalace, wing?: string): string[] {
  const ledger = new Database(config.paths.ledgerFile, { readonly: true });
  const texts = ledger
    .prepare<(string | null)[], string>("SELECT text FROM drawer WHERE ? IS NULL OR wing = ? ORDER BY row")
    .pluck()
    .all(wing ?? null, wing ?? null);
  ledger.close();
  return texts;
}

/** Counts the drawers in MemPalace's file, without closets. */
function theirCount(palace: string): number {
  const file = join(palace, "chroma.sqlite3");
  if (!existsSync(file)) throw new Error(`no palace: ${readdirSync(palace).join()}`);
  const chroma = new Database(file, { readonly: true });
  const count = chroma
    .prepare<[], number>(
      `SELECT count(*) FROM embeddings e JOIN segments s ON s.id = e.segment_id
         JOIN collections c ON c.id = s.collection WHERE c.name = 'mempalace_drawers'`,
    )
    .pluck()
    .get();
  chroma.close();
  return count ?? 0;
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function describe({ theirs, searchable, embedded, raw }: Turn): string {
  const [a, b, c, d] = [theirs, searchable, embedded, raw].map((value) => (value / 1000).toFixed(1));
  return `theirs ${a} s, ours searchable ${b} s, embedded ${c} s, the bare embedder ${d} s`;
}
