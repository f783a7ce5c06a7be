/** Reads a zip archive in memory. Size limits end the conversion of a zip bomb. */
import type { Readable } from "node:stream";
import { fromBufferPromise, type Entry, type ZipFile } from "yauzl";
import { Unconverted } from "./outcome.ts";

/** Maximum bytes to unpack from one document; more end the conversion. */
const UNPACKED_MAX_BYTES = 256 * 1024 * 1024;
const ENTRIES_MAX = 20_000;
/** First bytes of a compound file: an office document with a password, or from before 2007. */
const COMPOUND_FILE = Buffer.from("d0cf11e0a1b11ae1", "hex");
const ENCRYPTED_STREAM = Buffer.from("EncryptedPackage", "utf16le");

export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  #left = UNPACKED_MAX_BYTES;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  /** Errors: encrypted, unrecognized, too_large, and errors of a damaged archive. */
  static async open(bytes: Buffer): Promise<Archive> {
    if (bytes.subarray(0, COMPOUND_FILE.length).equals(COMPOUND_FILE)) {
      if (bytes.includes(ENCRYPTED_STREAM)) throw new Unconverted("encrypted", "is protected by a password");
      throw new Unconverted("unrecognized", "is of an older format than its name says");
    }
    const zip = await fromBufferPromise(bytes, { validateEntrySizes: true, strictFileNames: false });
    const entries = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) {
      if (entries.size >= ENTRIES_MAX) throw new Unconverted("too_large", `holds more than ${ENTRIES_MAX} parts`);
      if (!entries.has(entry.fileName)) entries.set(entry.fileName, entry);
    }
    return new Archive(zip, entries);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Returns undefined if the archive has no such entry. Errors: encrypted, too_large, and errors of a damaged archive. */
  async read(name: string): Promise<string | undefined> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (entry.isEncrypted()) throw new Unconverted("encrypted", "is protected by a password");
    const stream: Readable = await this.#zip.openReadStreamPromise(entry);
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      this.#left -= chunk.length;
      if (this.#left < 0)
        throw new Unconverted("too_large", `unpacks to more than ${UNPACKED_MAX_BYTES / 1024 / 1024} MiB`);
      chunks.push(chunk);
    }
    return decode(Buffer.concat(chunks));
  }

  /** Errors: as `read`, and extraction_error if the entry is missing. */
  async need(name: string): Promise<string> {
    const text = await this.read(name);
    if (text === undefined) throw new Unconverted("extraction_error", `lacks its part ${name}`);
    return text;
  }
}

function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString("utf16le", 2);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  return bytes.toString("utf8").replace(/^\uFEFF/, "");
}
