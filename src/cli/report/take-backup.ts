/** Asks the broker for a backup. The broker writes the backup on its machine, or we write it to another file or a pipe. */
import { closeSync, createReadStream, existsSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { assertTarget } from "../../memory/backup/target.ts";
import type { MakeReport } from "../../memory/backup/make.ts";
import { writeWhole } from "../../memory/backup/pack.ts";
import { encrypted } from "../../memory/backup/secret.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../base/can-write.ts";
import { EXIT_CODES, PalaceError, unavailable, wrongUsage } from "../../base/errors.ts";
import { askDocker, type BrokerBox, brokerBox, outputOf } from "../docker/owner.ts";
import type { Output } from "../terminal/output.ts";
import { runJob, watchBytes } from "./job.ts";

export type BackupGoal = {
  /** Null means stdout. */
  file: string | null;
  passphrase: string | undefined;
  replace: boolean;
};

export type BackupResult = MakeReport & { encrypted: boolean; unsettled: string | null };

/** Makes a backup. Returns undefined if the user cancelled it. Errors: the job's errors, the file system's errors. */
export async function backUp(config: Config, goal: BackupGoal, out: Output): Promise<BackupResult | undefined> {
  const { file, passphrase, replace } = goal;
  if (file !== null && !replace && existsSync(file))
    throw wrongUsage(`${file} is there already`, "name another: palace backup FILE, or add --force");
  const box = brokerBox(config);
  // The broker writes the file itself, except in three cases: we encrypt the backup, the palace is read-only here (as in a devbox), or the
  // broker is in a container with other files.
  const isDirect = file !== null && passphrase === undefined && box === undefined && canWrite(config.paths.home);
  if (file !== null && !isDirect) assertTarget({ file, replace }, config.paths);
  const isEncrypted = passphrase !== undefined;
  const request = { file: isDirect ? file : null, goesTo: isDirect ? null : file, replace, encrypted: isEncrypted };
  const made = (await runJob(config, { kind: "backup", ...request }, out)) as unknown as BackupResult | undefined;
  if (made === undefined) return undefined;
  if (isDirect) return { ...made, encrypted: false };
  const bytes = await carry(made, goal, out, box);
  return bytes === undefined ? undefined : { ...made, file: file ?? "-", bytes, encrypted: isEncrypted };
}

/** Copies the staged file to `file` or stdout; undefined if cancelled. Errors: CONFIG_USAGE, STORE_UNAVAILABLE, system errors. */
function carry(
  { file: staged, bytes }: MakeReport,
  { file, passphrase }: BackupGoal,
  out: Output,
  box: BrokerBox | undefined,
): Promise<number | undefined> {
  return watchBytes(out, "", async ({ signal, onBytes }) => {
    const source = box === undefined ? piecesOf(openStaged(staged)) : piecesIn(box, staged);
    const pieces = watched(source, bytes, signal, (done) => onBytes(done, bytes));
    const archive = passphrase === undefined ? pieces : await encrypted(pieces, passphrase);
    if (file !== null) return writeWhole(file, archive);
    await toStdout(archive);
    return bytes;
  });
}

/** Opens the file, then removes its name: the file is deleted however we end. If we may not remove it, the broker does later. */
function openStaged(file: string): number {
  try {
    const fd = openSync(file, "r");
    if (canWrite(dirname(file))) rmSync(file);
    return fd;
  } catch (cause) {
    throw wrongUsage(
      "the backup is on the broker's machine, which is not this machine",
      "on that machine: palace backup FILE",
      cause,
    );
  }
}

async function* piecesOf(fd: number): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream("", { fd, autoClose: false, start: 0, highWaterMark: 1024 * 1024 });
  } finally {
    closeSync(fd);
  }
}

/** Shell text that opens the file, removes its name and copies it to stdout, so the file is deleted however the copy ends. */
const READ_AND_FORGET = 'exec 3<"$1" && rm -f -- "$1" && exec cat <&3';

async function* piecesIn(box: BrokerBox, file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* outputOf(box, ["exec", box.container, "sh", "-c", READ_AND_FORGET, "sh", file]);
  } finally {
    // The command has already removed the file, unless it could not start.
    await askDocker(box, ["exec", box.container, "rm", "-f", "--", file]).catch(() => undefined);
  }
}

/** Passes the pieces on and counts their bytes. Errors: BROKER_CANCELLED, and STORE_UNAVAILABLE if the staged file has another size. */
export async function* watched(
  pieces: AsyncIterable<Uint8Array>,
  bytes: number,
  signal: AbortSignal,
  onDone: (done: number) => void,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const piece of pieces) {
    if (signal.aborted) throw new PalaceError("BROKER_CANCELLED", "it was cancelled", "");
    yield piece;
    onDone((done += piece.length));
  }
  if (done !== bytes) throw unavailable(`the backup has ${bytes} bytes, but only ${done} arrived`, "try again");
}

/** Streams the backup to stdout. A closed pipe is a failure here, because its reader has only a part of the backup. */
async function toStdout(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  process.stdout.prependListener("error", () => {
    process.stderr.write("palace: the pipe was closed before the end of the backup\n");
    process.exit(EXIT_CODES.STORE);
  });
  await pipeline(Readable.from(pieces, { objectMode: false }), process.stdout, { end: false });
}
