/** Reads files of users and other programs. Refuses a pipe, because reading a pipe could hang. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { orElse } from "./or-else.ts";

/** Errors: file system errors; ENOTREG for a pipe, a socket or a device. */
export function readRegularFile(path: string): Buffer {
  // With O_NONBLOCK, opening a pipe does not wait for a writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() && !stat.isDirectory()) throw notRegular(path);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns undefined if the file cannot be read, or is a pipe, a socket or a device. */
export function readText(path: string): string | undefined {
  return orElse(() => readRegularFile(path).toString("utf8"), undefined);
}

/** Returns the beginning of a file. Errors: file system errors; ENOTREG if it is not a regular file. */
export function readHead(path: string, maxBytes: number): string {
  return readPart(path, maxBytes, () => 0);
}

/** Returns the end of a file. Errors: as for readHead. */
export function readTail(path: string, maxBytes: number): string {
  return readPart(path, maxBytes, (size) => Math.max(size - maxBytes, 0));
}

function readPart(path: string, maxBytes: number, from: (size: number) => number): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw notRegular(path);
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, maxBytes, from(stat.size)));
  } finally {
    closeSync(file);
  }
}

function notRegular(path: string): Error {
  return Object.assign(new Error(`${path} is a pipe, a socket or a device`), { code: "ENOTREG" });
}
