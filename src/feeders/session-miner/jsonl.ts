/**
 * Reads sessions that are files of one JSON object per line: it finds them and parses their lines. Used by pi.ts and
 * claude-code.ts.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { PalaceError } from "../../base/errors.ts";
import { TRANSCRIPT_SIZE_MAX_BYTES } from "../convo-miner/read.ts";
import type { Session, SessionHead, SessionSource } from "./session.ts";

export type Fields = Record<string, unknown>;

const READ_SIZE_BYTES = 1024 * 1024;

export type FolderOptions = {
  /** The folder that holds one folder per project, which holds the sessions. */
  root: string;
  what: string;
  /** True: subfolders of a project's folder are entered. */
  deep: boolean;
  read: (head: SessionHead, lines: Iterable<Fields>) => Session;
};

/** Errors: FEEDER_SOURCE_UNREADABLE. */
export function openFolder({ root, what, deep, read }: FolderOptions): SessionSource {
  const files = new Map<string, string>();
  return {
    place: root,
    list: () => {
      let names: string[];
      try {
        names = readdirSync(root, { recursive: true, encoding: "utf8" }) as string[];
      } catch (error) {
        throw new PalaceError(
          "FEEDER_SOURCE_UNREADABLE",
          `there are no sessions of ${what} in ${root}`,
          "name their folder: palace mine sessions --dir DIR",
          { cause: error },
        );
      }
      return names
        .filter((name) => name.endsWith(".jsonl") && (deep || name.split("/").length <= 2))
        .sort()
        .flatMap((name) => {
          const path = join(root, name);
          const stat = statSync(path, { throwIfNoEntry: false });
          if (stat?.isFile() !== true || stat.size > TRANSCRIPT_SIZE_MAX_BYTES) return [];
          const id = (name.split("/").at(-1) ?? "").replace(/\.jsonl$/, "");
          files.set(id, path);
          return [{ id, updatedMs: stat.mtimeMs, version: `${stat.size}:${stat.mtimeMs}` }];
        });
    },
    read: (head) => {
      const path = files.get(head.id);
      if (path === undefined) return undefined;
      try {
        return read(head, lines(path));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    close: () => {},
  };
}

/** Yields the objects of a file; other lines are left out. */
function* lines(path: string): Generator<Fields> {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return;
    const buffer = Buffer.allocUnsafe(READ_SIZE_BYTES);
    let rest: Buffer[] = [];
    for (let count = readSync(file, buffer); count > 0; count = readSync(file, buffer)) {
      const bytes = buffer.subarray(0, count);
      let from = 0;
      for (let feed = bytes.indexOf(10); feed >= 0; feed = bytes.indexOf(10, from)) {
        yield* parsed(Buffer.concat([...rest, bytes.subarray(from, feed)]));
        rest = [];
        from = feed + 1;
      }
      if (from < bytes.length) rest.push(Buffer.from(bytes.subarray(from)));
    }
    yield* parsed(Buffer.concat(rest));
  } finally {
    closeSync(file);
  }
}

function* parsed(line: Buffer): Generator<Fields> {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    if (isFields(value)) yield value;
  } catch {
    // The line is incomplete, or not ours.
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** Parses ISO text or milliseconds; NaN for anything else. */
export function timeOf(value: unknown): number {
  return typeof value === "number" ? value : Date.parse(textOf(value));
}

/** Returns the text of a result: plain, or blocks of text. */
export function resultText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  return content
    .map((block) => textOf(fieldsOf(block)["text"]))
    .filter((one) => one !== "")
    .join("\n");
}
