/** A backup asked of the broker, and where it goes: to a file of its machine, or by way of us into another file or a pipe. */
import { closeSync, createReadStream, existsSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { assertTarget } from "../../backup/target.ts";
import type { MakeReport } from "../../backup/make.ts";
import { writeWhole } from "../../backup/pack.ts";
import { encrypted } from "../../backup/secret.ts";
import type { Config } from "../../config/config.ts";
import { canWrite } from "../../platform/can-write.ts";
import { EXIT_CODES, PalaceError } from "../../protocol/errors.ts";
import { withInterrupt } from "../feeding/feeding.ts";
import { formatBytes, type Output } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";
import { runJob } from "./job.ts";

export type BackupGoal = {
  /** null: our stdout. */
  file: string | null;
  passphrase: string | undefined;
  replace: boolean;
};

export type BackupResult = MakeReport & { encrypted: boolean; unsettled: string | null };

/** Undefined where the user has cancelled it. Errors: the job's, the file system's. */
export async function backUp(config: Config, goal: BackupGoal, out: Output): Promise<BackupResult | undefined> {
  const { file, passphrase, replace } = goal;
  if (file !== null && !replace && existsSync(file))
    throw new PalaceError(
      "CONFIG_USAGE",
      `${file} is there already`,
      "name another: palace backup FILE, or add --force",
    );
  // A passphrase is put around it here, and in a devbox, which sees the palace read-only, the broker's files are others.
  const isDirect = file !== null && passphrase === undefined && canWrite(config.paths.home);
  if (file !== null && !isDirect) assertTarget({ file, replace }, config.paths);
  const isEncrypted = passphrase !== undefined;
  const request = { file: isDirect ? file : null, goesTo: isDirect ? null : file, replace, encrypted: isEncrypted };
  const made = (await runJob(config, { kind: "backup", ...request }, out)) as unknown as BackupResult | undefined;
  if (made === undefined) return undefined;
  if (isDirect) return { ...made, encrypted: false };
  try {
    return { ...made, file: file ?? "-", bytes: await carry(made, goal, out), encrypted: isEncrypted };
  } catch (error) {
    if (error instanceof PalaceError && error.code === "BROKER_CANCELLED") return undefined;
    throw error;
  }
}

/**
 * The staged file has no name any more before a byte of it is read: however we end, it is gone. Where we may not remove it, the broker
 * does, a minute later.
 */
async function carry({ file: staged, bytes }: MakeReport, goal: BackupGoal, out: Output): Promise<number> {
  const fd = openStaged(staged);
  if (canWrite(dirname(staged))) rmSync(staged);
  const progress = new Progress({ silent: out.isJson });
  try {
    return await withInterrupt(
      async (signal) => {
        const pieces = reading(fd, signal, (done) =>
          progress.step(done, bytes, `${formatBytes(done)} of ${formatBytes(bytes)}`, undefined),
        );
        const archive = goal.passphrase === undefined ? pieces : await encrypted(pieces, goal.passphrase);
        if (goal.file !== null) return writeWhole(goal.file, archive);
        await toStdout(archive);
        return bytes;
      },
      { onStop: () => progress.end() },
    );
  } finally {
    progress.end();
    closeSync(fd);
  }
}

function openStaged(file: string): number {
  try {
    return openSync(file, "r");
  } catch (cause) {
    throw new PalaceError(
      "CONFIG_USAGE",
      "the backup lies on the broker's machine, which is another one",
      "there: palace backup FILE",
      { cause },
    );
  }
}

async function* reading(fd: number, signal: AbortSignal, onDone: (done: number) => void): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const piece of createReadStream("", { fd, autoClose: false, start: 0, highWaterMark: 1024 * 1024 })) {
    if (signal.aborted) throw new PalaceError("BROKER_CANCELLED", "it was cancelled", "");
    yield piece as Buffer;
    onDone((done += (piece as Buffer).length));
  }
}

/** Who reads it and stops has no backup: other than for a list, a pipe that closes is a failure. */
async function toStdout(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  process.stdout.prependListener("error", () => {
    process.stderr.write("palace: the pipe was closed before the backup was through\n");
    process.exit(EXIT_CODES.STORE);
  });
  await pipeline(Readable.from(pieces, { objectMode: false }), process.stdout, { end: false });
}
