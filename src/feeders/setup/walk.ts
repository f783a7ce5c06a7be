/** Walks folders and files as Python's os.walk does: in the file system's order, without following links. */
import { closeSync, constants, fstatSync, openSync, opendirSync, readSync } from "node:fs";
import { basename, join } from "node:path";

export type Folder = { path: string; depth: number; folders: string[]; files: string[] };

/** Yields `root` and the folders below it; `enter` selects the subfolders of each. Skips unreadable folders. */
export function* walk(root: string, enter: (folder: Folder) => string[], depth = 0): Generator<Folder> {
  const folder: Folder = { path: root, depth, folders: [], files: [] };
  try {
    const open = opendirSync(root);
    try {
      for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
        if (entry.isDirectory()) folder.folders.push(entry.name);
        else if (entry.isFile()) folder.files.push(entry.name);
      }
    } finally {
      open.closeSync();
    }
  } catch {
    return;
  }
  yield folder;
  for (const name of enter(folder)) yield* walk(join(root, name), enter, depth + 1);
}

/** Returns the first `max` characters as Python reads them; undefined if the file cannot be read. */
export function readStart(path: string, max: number): string | undefined {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return undefined;
      // Five bytes per character are enough: four for any character, and one more if it is a CRLF, which counts as one character.
      const bytes = Buffer.alloc(max * 5);
      let length = 0;
      for (let read = 1; read > 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null);
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, length));
      return Array.from(text.replace(/\r\n?/g, "\n").slice(0, 2 * max))
        .slice(0, max)
        .join("");
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

const PROSE = new Set([".txt", ".md", ".rst", ".csv", ".tex", ".bib"]);
const READABLE = new Set(".py .js .ts .json .yaml .yml .toml .sh .rb .go .rs .al .ps1".split(" "));
const SKIPPED = new Set(
  ".git node_modules __pycache__ .venv venv env dist build .next coverage .mempalace .terraform vendor target".split(
    " ",
  ),
);
/** Names of files whose text is the same in every project. */
const BOILERPLATE = new Set(
  "license licence copying copyright notice authors patents third_party_notices third-party-notices".split(" "),
);
const PROSE_MIN = 3;

/** Returns the files to examine: prose, or prose and code if there is little prose. */
export function textFiles(root: string, max: number): string[] {
  const prose: string[] = [];
  const others: string[] = [];
  for (const { path, files } of walk(root, ({ folders }) => folders.filter((name) => !SKIPPED.has(name))))
    for (const name of files) {
      const dot = name.lastIndexOf(".");
      const [stem, ending] = dot > 0 && dot < name.length - 1 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
      if (BOILERPLATE.has(stem.toLowerCase())) continue;
      if (PROSE.has(ending.toLowerCase())) prose.push(join(path, name));
      else if (READABLE.has(ending.toLowerCase())) others.push(join(path, name));
    }
  return (prose.length >= PROSE_MIN ? prose : [...prose, ...others]).slice(0, max);
}

export function isOurs(path: string): boolean {
  return ["mempalace.yaml", "entities.json"].includes(basename(path));
}
