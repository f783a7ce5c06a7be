/** Copies the stack's volumes to the host while no process writes. `snapshot.json` is written last: only a complete copy has it. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform } from "node:stream";
import { finished } from "node:stream/promises";
import { isRecord, readRecord } from "../base/parse-json.ts";
import { namesIn } from "../base/read-folder.ts";
import { makeDraft, removeDrafts } from "../memory/backup/draft.ts";
import { unpackVerified } from "../memory/backup/verify.ts";
import { damaged, type PalaceError } from "../base/errors.ts";
import { type Counts, countCommand, parseCounts } from "./counts.ts";
import { boxesOf, type Engine } from "./engine.ts";
import { HOME, type HomeTree, parseTree, treeCommand } from "./home-tree.ts";
import { isDiskFull, writeFailure } from "../base/state-files.ts";
import { writeState } from "./note.ts";
import { askOneOff, asRoot, type Program, runOneOff } from "./one-off.ts";

export type Source = Readonly<{
  engine: Engine;
  project: string;
  /** Name of the volume with the devbox's home. */
  data: string;
  broker: Readonly<{ id: string; imageId: string }>;
  devbox: Readonly<{ imageId: string }>;
  cacheDir: string;
  log: (line: string) => void;
}>;

export type Snapshot = Readonly<{ counts: Counts; palace: FileSum; home: FileSum }>;
type FileSum = Readonly<{ bytes: number; sha256: string }>;

/** Maximum number of files to name in one command; for more, all files are restored. */
const NAMED_MAX = 1_000;
const DRAFT = "devbox-verify-";
/**
 * Command for a temporary container: starts a broker, makes a backup, stops it. ASIDE keeps the broker's state files out of the volumes.
 */
const BACKUP = "palace backup - && palace stop >&2";
const ASIDE = ["XDG_STATE_HOME=/tmp/state", "XDG_RUNTIME_DIR=/tmp/run", "MEMPALACE_IDLE_EXIT_MINUTES=5"];

/** Takes a snapshot. No container of the stack may write meanwhile. Errors: STORE_CORRUPT for an incomplete copy, STORE_DISK_FULL; Docker's. */
export async function takeSnapshot(source: Source, folder: string): Promise<Snapshot> {
  rmSync(folder, { recursive: true, force: true });
  removeOldSnapshots(dirname(folder), Infinity);
  try {
    return await copyInto(source, folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw isDiskFull(error) ? writeFailure(folder, error) : error;
  }
}

async function copyInto(source: Source, folder: string): Promise<Snapshot> {
  const { log } = source;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  log("copying the memory ...");
  const counts = await countStopped(source, 0);
  const alike = await likeBroker(source, await besideChroma(source));
  const palace = await intoFile(source, join(folder, "palace.tar"), { ...alike, command: ["sh", "-c", BACKUP] });
  log("verifying that copy ...");
  await verifyPalace(source, join(folder, "palace.tar"), counts);
  log("copying the home ...");
  const home = await intoFile(source, join(folder, "home.tar"), { ...besideHome(source, true), command: TAR });
  writeState(folder, "home.json", await homeTree(source));
  const snapshot = { counts, palace, home };
  writeState(folder, "snapshot.json", snapshot);
  return snapshot;
}

/** Counts the rows of the memory in a temporary container of the old image, without a broker. */
export async function countStopped(source: Source, upTo: number): Promise<Counts> {
  const program = { ...(await likeBroker(source)), command: countCommand(upTo) };
  return parseCounts(await askOneOff(source.engine, source.project, program));
}

const TAR = ["tar", "--create", "--sort=name", "--numeric-owner", "--directory", HOME, "--file", "-", "."];

export async function homeTree(source: Pick<Source, "engine" | "project" | "data" | "devbox">): Promise<HomeTree> {
  const { engine, project } = source;
  return parseTree(await askOneOff(engine, project, { ...besideHome(source, true), command: treeCommand() }));
}

export function readTree(folder: string): HomeTree {
  return parseTree(readFileSync(join(folder, "home.json"), "utf8"));
}

/** Restores the memory. Errors: STORE_CORRUPT, before any change, for a copy whose bytes have changed. */
export async function restorePalace(source: Source, folder: string): Promise<void> {
  await assertWritten(folder, "palace");
  await putPalace(source, join(folder, "palace.tar"));
}

/** Replaces the stack's memory by a verified backup. The old memory is kept in the volume as `before-restore-…`. The stack must not run. */
export async function putPalace(source: Source, file: string): Promise<void> {
  const alike = await likeBroker(source);
  const script = `cat > $MEMPALACE_PATH/.put-back.tar && palace restore $MEMPALACE_PATH/.put-back.tar --yes >&2
    code=$?; rm -f $MEMPALACE_PATH/.put-back.tar; palace stop >&2; exit $code`;
  await fromFile(source, file, { ...alike, command: ["sh", "-c", script] });
}

/** Restores the named files, or all files if more than `NAMED_MAX` are named. An existing file is kept as NAME.~1~. */
export async function restoreHome(source: Source, folder: string, paths: readonly string[]): Promise<void> {
  const named = paths.length > NAMED_MAX ? [] : paths.map((path) => `./${path}`);
  const keep = ["--backup=numbered", "--no-recursion", "--numeric-owner", "--same-permissions", "--same-owner"];
  const command = ["tar", "--extract", ...keep, "--directory", HOME, "--file", "-", "--", ...named];
  await assertWritten(folder, "home");
  await fromFile(source, join(folder, "home.tar"), { ...besideHome(source, false), command });
}

/** Returns the names of complete snapshots, newest last. */
export function snapshotsIn(parent: string): string[] {
  return namesIn(parent).filter((name) => existsSync(join(parent, name, "snapshot.json")));
}

/** Removes all snapshots but the newest `keep`, and the remains of killed runs. */
export function removeOldSnapshots(parent: string, keep: number): void {
  const kept = new Set(snapshotsIn(parent).slice(-keep));
  for (const name of namesIn(parent)) if (!kept.has(name)) rmSync(join(parent, name), { recursive: true, force: true });
}

/** Returns options for a program with the broker container's image, volumes, user and environment, but the given network. */
async function likeBroker({ engine, broker }: Source, network = "none"): Promise<Omit<Program, "command" | "stdout">> {
  const { Config, HostConfig } = await engine.getContainer(broker.id).inspect();
  const { Binds, Mounts, Tmpfs, ReadonlyRootfs, CapDrop, SecurityOpt } = HostConfig;
  const host = { Binds, Mounts, Tmpfs, ReadonlyRootfs, CapDrop, SecurityOpt, Init: true, NetworkMode: network };
  const env = [...Config.Env.filter((one) => !ASIDE.some((own) => one.startsWith(own.replace(/=.*/, "=")))), ...ASIDE];
  return { imageId: broker.imageId, host, user: Config.User, env };
}

/** Starts Chroma and returns its network. A broker that cannot reach Chroma would wait a minute before it copies. */
async function besideChroma({ engine, project }: Source): Promise<string> {
  const chroma = (await boxesOf(engine, project)).find(({ service }) => service === "chroma");
  if (chroma === undefined) return "none";
  if (!chroma.isRunning) await engine.getContainer(chroma.id).start();
  const { NetworkSettings } = await engine.getContainer(chroma.id).inspect();
  return Object.keys(NetworkSettings.Networks)[0] ?? "none";
}

/** Returns options for a program that may read every file of the home, and may write unless `isReading` is true. */
function besideHome(
  { data, devbox }: Pick<Source, "data" | "devbox">,
  isReading: boolean,
): Omit<Program, "command" | "stdout"> {
  const mount = { Type: "volume", Source: data, Target: HOME, ReadOnly: isReading } as const;
  return asRoot(devbox.imageId, [mount], isReading ? ["DAC_READ_SEARCH"] : ["DAC_OVERRIDE", "CHOWN", "FOWNER"]);
}

/** Writes a program's output to a temporary file, syncs the file and renames it to `file`. */
async function intoFile({ engine, project }: Source, file: string, program: Omit<Program, "stdout">): Promise<FileSum> {
  const hash = createHash("sha256");
  let bytes = 0;
  const sum = new Transform({
    transform(piece: Buffer, _, done) {
      hash.update(piece);
      bytes += piece.length;
      done(null, piece);
    },
  });
  const part = createWriteStream(`${file}.part`, { mode: 0o600, flush: true });
  sum.pipe(part);
  const written = finished(part);
  sum.once("error", (error) => part.destroy(error));
  written.catch((error: Error) => sum.destroy(error));
  // Even on a full disk, waits until the program ends: the old stack cannot start while the program runs.
  const { code, said } = await runOneOff(engine, project, { ...program, stdout: sum });
  await written;
  if (code !== 0) throw copyFailed(file, said);
  renameSync(`${file}.part`, file);
  return { bytes, sha256: hash.digest("hex") };
}

/** Compares a copy's bytes with the hash in snapshot.json. Errors: STORE_CORRUPT. */
async function assertWritten(folder: string, name: "palace" | "home"): Promise<void> {
  const file = join(folder, `${name}.tar`);
  const list = join(folder, "snapshot.json");
  const written = readRecord(list)[name];
  if (!isRecord(written) || typeof written["sha256"] !== "string")
    throw copyFailed(list, "it does not list the copies");
  if ((await sumOf(file)) !== written["sha256"]) throw copyFailed(file, "its bytes have changed since it was written");
}

async function fromFile(
  { engine, project }: Source,
  file: string,
  program: Omit<Program, "stdout" | "stdin">,
): Promise<void> {
  const heard = new Transform({ transform: (_piece, _encoding, done) => done() }).resume();
  const { code, said } = await runOneOff(engine, project, { ...program, stdin: createReadStream(file), stdout: heard });
  if (code !== 0) throw copyFailed(file, said);
}

async function sumOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  const handle = await open(file);
  for await (const piece of handle.createReadStream()) hash.update(piece as Buffer);
  return hash.digest("hex");
}

function copyFailed(file: string, said: string): PalaceError {
  const [line = ""] = said.split("\n").slice(-1);
  return damaged(`${file} is not a valid copy: ${line}`, "palace devbox status shows the stack's state");
}

async function verifyPalace({ cacheDir }: Source, file: string, counts: Counts): Promise<void> {
  const held = await checkBackup(file, cacheDir);
  if (held.drawers !== counts.drawers || held.facts !== counts.facts)
    throw copyFailed(file, `it holds ${held.drawers} drawers, and the memory ${counts.drawers}`);
}

/** Verifies a whole backup and returns its counts. Errors: STORE_CORRUPT, CONFIG_USAGE for a backup with a passphrase. */
export async function checkBackup(file: string, cacheDir: string): Promise<{ drawers: number; facts: number }> {
  removeDrafts(cacheDir, DRAFT);
  const { folder, release } = makeDraft(cacheDir, DRAFT);
  try {
    return (await unpackVerified(file, { folder, passphrase: () => Promise.resolve(undefined) })).manifest.counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    release();
  }
}
