/** Finds the originals of the docs feeder's staged copies (feeders/doc-miner/staging-area.ts). */
import { createHash } from "node:crypto";
import { type BigIntStats, closeSync, openSync, readSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { parseAs } from "./parse-json.ts";
import { namesIn } from "./read-folder.ts";
import { orElse } from "./or-else.ts";

export const STAGING_FOLDER = "mempalace-docs";
export const MANIFESTS = ".manifest";
export const OWNER_FILE = "owner.json";

/** Returns the staging folder, which all palaces of the user share. */
export function stagingHome(cacheDir: string): string {
  return join(dirname(cacheDir), STAGING_FOLDER);
}

/** Returns the name of a project's folder below the wing's folder. The first project of a wing uses the wing's folder itself. */
export function folderOfProject(root: string): string {
  return `${basename(root)}-${shortHash(root)}`;
}

export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** Bytes to read of a manifest: the project is at the beginning, and the list of files after it may be long. */
const HEAD_SIZE_BYTES = 16 * 1024;
const ROOT = /"root":("(?:[^"\\]|\\.)*")/;

/** Project folder of each staging folder below the wing's folder. The key "" is for the wing's folder itself. */
type Projects = ReadonlyMap<string, string>;

export class StagedOriginals {
  readonly #home: string;
  /** Cache of each wing's projects, valid until the folder of manifests changes. */
  readonly #known = new Map<string, { mtimeNs: bigint; projects: Projects }>();

  constructor(home: string) {
    this.#home = home;
  }

  /** Returns the original of a staged copy, if it still exists. Returns undefined for any other path. */
  original(sourceFile: string): string | undefined {
    const parts = sourceFile.split("/");
    const at = parts.indexOf(STAGING_FOLDER);
    const [wing = "", ...rest] = at < 0 ? [] : parts.slice(at + 1);
    if (wing === "" || rest.length === 0 || [wing, ...rest].some((part) => part === "." || part === ".."))
      return undefined;
    const projects = this.#projectsOf(wing);
    const own = rest.length > 1 ? projects.get(rest[0] ?? "") : undefined;
    const root = own ?? projects.get("");
    if (root === undefined) return undefined;
    const path = join(root, ...(own === undefined ? rest : rest.slice(1)));
    return look(path)?.isFile() === true ? path : undefined;
  }

  /** Returns the paths that staged copies of a user's file may have. */
  stagedAs(path: string): string[] {
    if (!isAbsolute(path)) return [];
    return namesIn(join(this.#home, MANIFESTS)).flatMap((wing) =>
      [...this.#projectsOf(wing)].flatMap(([folder, root]) => {
        const inside = relative(root, path);
        const isBelow = inside !== "" && !/^\.\.(?:\/|$)/.test(inside);
        return isBelow ? [join(this.#home, wing, folder, inside)] : [];
      }),
    );
  }

  #projectsOf(wing: string): Projects {
    const notes = join(this.#home, MANIFESTS, wing);
    const mtimeNs = look(notes)?.mtimeNs;
    if (mtimeNs === undefined) return new Map();
    const known = this.#known.get(wing);
    if (known?.mtimeNs === mtimeNs) return known.projects;
    const projects = readProjects(notes);
    this.#known.set(wing, { mtimeNs, projects });
    return projects;
  }
}

function look(path: string): BigIntStats | undefined {
  return orElse(() => statSync(path, { bigint: true }), undefined);
}

function readProjects(notes: string): Projects {
  const names = namesIn(notes);
  const owner = names.includes(OWNER_FILE) ? rootIn(join(notes, OWNER_FILE)) : undefined;
  const roots = names.map((name) => rootIn(join(notes, name))).filter((root) => root !== undefined);
  const others = roots.filter((root) => root !== owner).map((root): [string, string] => [folderOfProject(root), root]);
  return new Map([...others, ...(owner === undefined ? [] : ([["", owner]] as const))]);
}

function rootIn(file: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(file, "r");
    const head = Buffer.alloc(HEAD_SIZE_BYTES);
    const found = ROOT.exec(head.toString("utf8", 0, readSync(fd, head)))?.[1];
    return parseAs(found ?? "", isText);
  } catch {
    // Answers show the path of the staged copy if its project is unknown.
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
