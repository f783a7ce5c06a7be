/** Converts documents in a separate thread, which can be ended if a bad document hangs or takes too much memory. */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { convert } from "./convert.ts";
import { ofErrno, type Outcome, Unconverted } from "./outcome.ts";

/** Document to convert. `sizeMax`: bytes. `textMax`: characters. */
export type Job = { path: string; sizeMax: number; textMax: number };
/** Result. `sha256`: hash of the file's bytes, not of the text, because another version of this program may extract another text. */
export type Reply =
  | { outcome: "ok"; text: string; sha256: string; mtime: number; size: number }
  | { outcome: Outcome; message: string };

const port = parentPort;
if (port === null) throw new Error("broken invariant: the converter runs in a worker thread");
port.on("message", (job: Job) => void run(job).then((reply) => port.postMessage(reply)));

async function run({ path, sizeMax, textMax }: Job): Promise<Reply> {
  try {
    const { bytes, mtime, size } = read(path, sizeMax);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { outcome: "ok", text: await convert(path, bytes, textMax), sha256, mtime, size };
  } catch (error) {
    const { outcome, message } =
      error instanceof Unconverted ? error : new Unconverted("extraction_error", String(error));
    return { outcome, message };
  }
}

function read(path: string, sizeMax: number): { bytes: Buffer; mtime: number; size: number } {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      // Reads the time before the bytes, so that the next run notices a change in between.
      const stat = fstatSync(file);
      if (!stat.isFile()) throw new Unconverted("unreadable", "is not a regular file");
      if (stat.size === 0) throw new Unconverted("empty", "is empty");
      // On a Mac, a file that is only in the cloud has a size but no blocks. Reading it would wait for its download.
      if (process.platform === "darwin" && stat.blocks === 0)
        throw new Unconverted("cloud_only", "is not on this machine");
      if (stat.size > sizeMax) throw new Unconverted("too_large", `is larger than ${sizeMax / 1024 / 1024} MiB`);
      return { bytes: readFileSync(file), mtime: stat.mtimeMs / 1000, size: stat.size };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw error instanceof Unconverted ? error : ofErrno(error);
  }
}
