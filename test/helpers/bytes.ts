/** Searches all files of a folder for a text, to prove that `forget` removed it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Lists files below the folder that contain the text as it is, or in lower case as a full-text index has it. */
export function filesHolding(folder: string, text: string): string[] {
  const needles = [...new Set([text, text.toLowerCase()])].map((one) => Buffer.from(one));
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => {
      const bytes = readIfThere(file);
      return needles.some((needle) => bytes.includes(needle));
    })
    .map((file) => file.slice(folder.length + 1));
}

/** Reads a file, or nothing if it has disappeared: SQLite deletes a journal at the end of its transaction. */
function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}
