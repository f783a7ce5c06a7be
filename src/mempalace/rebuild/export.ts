/**
 * Exports the ledger as a new palace for MemPalace. It writes a draft, verifies it by count and hash, and renames it, so the folder is
 * either complete or absent.
 */
import { lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { MODEL_NAME } from "../../memory/index/embedding/model-files.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { faultPoint } from "../../base/fault-point.ts";
import { makeFolder, syncPath } from "../../base/folders.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { isDiskFull } from "../../base/state-files.ts";
import type { PalaceDriver, PalaceRecord } from "../../memory/port/public-palace.ts";
import { PalaceError, unavailable, wrongUsage } from "../../base/errors.ts";
import { createChromaDriver } from "../driver/chroma.ts";
import { createFilesDriver } from "../driver/files.ts";
import { PalaceWriter } from "../driver/files/palace-writer.ts";
import { type ChromaServer, startChromaServer } from "./chroma-server.ts";
import { ContentHash } from "./content-hash.ts";
import { copyEvents } from "./event-log.ts";
import { type GraphCounts, writeGraphFiles } from "./graph-files.ts";
import { readOtherCollections } from "./others.ts";
import { Snapshot } from "./snapshot.ts";
import type { Steps } from "../../base/job-progress.ts";
import { verifyCollection } from "./verify.ts";

const BATCH_ROWS = 100;

export type ExportInput = {
  ledgerFile: string;
  /** Folder of the public palace in use. Collections that the ledger does not have are copied from it. */
  palaceDir: string;
  collection: string;
  /** Home folder of this memory. An export into it is refused. */
  home: string;
  /** Part of the draft's name, the same in each export, so that an export finds and removes the draft of a killed export. */
  tag: string;
  dir: string;
  /** A `chroma` executable. Undefined: the first executable that works. Null: the files are written without Chroma. */
  chroma: string | undefined | null;
  /** Row of the newest drawer at the time of the request. Later drawers that have no vector yet are left out without an error. */
  lastRow: number;
  partial: boolean;
};

export type ExportReport = {
  dir: string;
  drawers: number;
  /** Number of drawers up to `lastRow` that were left out because they have no vector. */
  leftOut: number;
  /** Number of drawers after `lastRow` that were left out because they have no vector. */
  later: number;
  hash: string;
  others: { name: string; rows: number; unreadable: number }[];
  graph: GraphCounts;
  events: number;
  writer: "chroma" | "files";
  /** Reason why no Chroma server could write the files. Absent if a server wrote them or the caller wanted none. */
  withoutChroma?: string;
};

/** Exports the palace. A failed export leaves no file. Errors: CONFIG_USAGE, STORE_*, BROKER_CANCELLED. */
export async function exportPalace(input: ExportInput, steps: Steps): Promise<ExportReport> {
  const dir = resolve(input.dir);
  const draft = `${dir}.export-${input.tag}`;
  try {
    assertUsable({ ...input, dir });
    // Removes the draft of a killed export. This is safe because only one export runs at a time.
    rmSync(draft, { recursive: true, force: true });
    makeDraft(draft);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw error instanceof PalaceError || isDiskFull(error)
      ? error
      : unusable(dir, `cannot be made here (${code ?? String(error)})`);
  }
  const snapshot = new Snapshot(input.ledgerFile, input.lastRow);
  try {
    assertExportable(snapshot, input.partial);
    const { collections, why } = readOtherCollections(input.palaceDir, input.collection);
    const total = snapshot.embedded + collections.reduce((sum, { records }) => sum + records.size, 0);
    faultPoint("export.before-server");
    await steps.step("starting Chroma", 0, total);
    const written = await writeCollections({ input, draft, snapshot, collections, total, steps });
    faultPoint("export.before-verify");
    await verifyAll({ input, draft, snapshot, written, total, steps });
    const graph = writeGraphFiles(snapshot, draft);
    const events = await copyEvents(input.palaceDir, draft);
    const names = [input.collection, ...written.others.map(({ name }) => name)];
    if (snapshot.model === MODEL_NAME) writeModelName(draft, names);
    await steps.step("putting it in place", total, total);
    syncFolder(draft);
    faultPoint("export.before-rename");
    // rename(2) also replaces an empty folder, and refuses a folder with files.
    renameSync(draft, dir);
    syncFolder(dirname(dir));
    faultPoint("export.after-rename");
    const { rows: drawers, hex: hash } = written.drawers;
    const leftOut = snapshot.missing;
    return {
      ...{ dir, drawers, leftOut, later: snapshot.drawers - snapshot.embedded - leftOut, hash, graph, events },
      others: [
        ...collections.map(({ name, records, unreadable }) => ({ name, rows: records.size, unreadable })),
        ...(why === undefined ? [] : [{ name: `not read: ${why}`, rows: 0, unreadable: 0 }]),
      ],
      writer: written.writer,
      ...(written.withoutChroma !== undefined && { withoutChroma: written.withoutChroma }),
    };
  } finally {
    snapshot.close();
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Checks that each drawer has a vector, unless `partial` leaves such drawers out. Errors: STORE_UNAVAILABLE. */
function assertExportable({ drawers, embedded, missing }: Snapshot, partial: boolean): void {
  if (drawers > 0 && embedded === 0)
    throw unavailable(
      `none of the ${drawers} drawers has a vector yet, and MemPalace needs vectors: there is nothing to export`,
      "run `palace doctor` to see what the model waits for",
    );
  if (missing > 0 && !partial)
    throw unavailable(
      `${missing} of ${drawers} drawers have no vector yet, and MemPalace needs vectors`,
      "run `palace doctor` to see what the model waits for, or leave them out: --partial",
    );
}

type Collections = ReturnType<typeof readOtherCollections>["collections"];
type Work = { input: ExportInput; draft: string; snapshot: Snapshot; total: number; steps: Steps };
type Written = Pick<ExportReport, "writer" | "withoutChroma"> & {
  drawers: ContentHash;
  others: { name: string; hash: ContentHash; records: Collections[number]["records"] }[];
};

/** Writes the drawers and all other collections. Resolves after the Chroma server has ended. */
async function writeCollections(work: Work & { collections: Collections }): Promise<Written> {
  const { input, draft, snapshot, collections, total, steps } = work;
  const { server, why } = await chromaFor(draft, input.chroma, () => steps.step("starting Chroma", 0, total));
  try {
    const open = (name: string): PalaceDriver => openDriver(draft, server, name);
    const drawers = await fill(open(input.collection), snapshot.pages(), (rows) =>
      steps.step("writing drawers", rows, total),
    );
    // The files driver creates no palace if it has no record to write. A server's driver creates the collection when it is opened.
    if (server === undefined && drawers.rows === 0) createEmpty(draft, input.collection);
    let from = drawers.rows;
    const others: Written["others"] = [];
    for (const { name, records } of collections) {
      if (records.size === 0) continue;
      const hash = await fill(open(name), [[...records.values()]], (rows) =>
        steps.step(`writing ${name}`, from + rows, total),
      );
      others.push({ name, hash, records });
      from += hash.rows;
    }
    return {
      drawers,
      others,
      writer: server === undefined ? "files" : "chroma",
      ...(why !== undefined && { withoutChroma: why }),
    };
  } finally {
    await server?.stop();
  }
}

/** Compares the written collections with their source. Errors: STORE_CORRUPT if rows are missing, added or different. */
async function verifyAll({
  input,
  draft,
  snapshot,
  written,
  total,
  steps,
}: Work & { written: Written }): Promise<void> {
  const { drawers, others } = written;
  const expected = { rows: drawers.rows, hash: drawers.hex, record: (id: string) => snapshot.record(id) };
  await verifyCollection(draft, input.collection, expected, (rows) => steps.step("verifying", rows, total));
  for (const { name, hash, records } of others) {
    const same = { rows: hash.rows, hash: hash.hex, record: (id: string) => records.get(id) };
    await verifyCollection(draft, name, same, () => steps.step(`verifying ${name}`, total, total));
  }
}

/**
 * Starts the Chroma server that writes the files. Returns no server if the caller named none and none works. Errors: STORE_UNAVAILABLE if
 * the named server does not work.
 */
async function chromaFor(
  draft: string,
  chroma: string | undefined | null,
  look: () => Promise<void>,
): Promise<{ server: ChromaServer | undefined; why?: string }> {
  if (chroma === null) return { server: undefined };
  try {
    return { server: await startChromaServer(draft, chroma, look) };
  } catch (error) {
    if (chroma !== undefined || !(error instanceof PalaceError) || error.code !== "STORE_UNAVAILABLE") throw error;
    // Removes the files of a server that started but did not answer.
    rmSync(draft, { recursive: true, force: true });
    makeDraft(draft);
    return { server: undefined, why: error.message };
  }
}

function createEmpty(folder: string, collection: string): void {
  const writer = new PalaceWriter(folder, collection);
  try {
    writer.create();
  } finally {
    writer.close();
  }
}

/** Records which model made the vectors of each collection. Without this file MemPalace 3.11 guesses the model and warns. */
function writeModelName(folder: string, collections: readonly string[]): void {
  const identity = { model_name: "minilm", dimension: 0 };
  const content = Object.fromEntries(collections.map((name) => [name, identity]));
  writeFileAtomic(join(folder, "mempalace_embedder.json"), JSON.stringify(content, null, 2));
}

function openDriver(draft: string, server: ChromaServer | undefined, collection: string): PalaceDriver {
  if (server === undefined) return createFilesDriver({ palaceDir: draft, log: SILENT_LOG, collection });
  const { url } = server;
  const chroma = { url, token: undefined, tenant: "default_tenant", database: "default_database" };
  return createChromaDriver({ chroma, log: SILENT_LOG, collection });
}

async function fill(
  driver: PalaceDriver,
  pages: Iterable<PalaceRecord[]>,
  step: (rows: number) => Promise<void>,
): Promise<ContentHash> {
  const hash = new ContentHash();
  try {
    await driver.open();
    for (const page of pages)
      for (let from = 0; from < page.length; from += BATCH_ROWS) {
        const batch = page.slice(from, from + BATCH_ROWS);
        await driver.upsert(batch);
        for (const record of batch) hash.add(record);
        faultPoint("export.after-page");
        await step(hash.rows);
      }
    return hash;
  } finally {
    await driver.close();
  }
}

function unusable(dir: string, why: string): PalaceError {
  return wrongUsage(`${dir} ${why}`, "name a folder that does not exist yet: palace export DIR");
}

function assertUsable({ dir, home, palaceDir }: ExportInput): void {
  const refuse = (why: string): PalaceError => unusable(dir, why);
  if (dir.includes("\0")) throw refuse("is not a path");
  for (const own of [home, palaceDir]) {
    const within = relative(realOf(own), realOf(dir));
    if (within === "" || (!/^\.\.(?:\/|$)/.test(within) && !isAbsolute(within)))
      throw refuse(`is in this memory's own ${own}`);
  }
  const there = lstatSync(dir, { throwIfNoEntry: false });
  if (there === undefined) return;
  // Refuses even a symbolic link, because the rename would replace it.
  if (!there.isDirectory()) throw refuse(there.isSymbolicLink() ? "is a symbolic link" : "is not a folder");
  if (readdirSync(dir).length > 0) throw refuse("is not empty");
}

/** Resolves the symbolic links in the part of the path that exists. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
}

function makeDraft(path: string): void {
  makeFolder(dirname(path), 0o700);
  mkdirSync(path, { mode: 0o700 });
}

/** Syncs the folder's files and their names, so that they survive a power cut. */
function syncFolder(folder: string): void {
  for (const entry of [...readdirSync(folder, { withFileTypes: true }).filter((one) => one.isFile()), undefined]) {
    syncPath(entry === undefined ? folder : join(folder, entry.name));
  }
}
