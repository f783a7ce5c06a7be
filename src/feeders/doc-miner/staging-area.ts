/** Manages the copies of filed documents, `<cache>/mempalace-docs/<wing>/<path>`, and the notes about them in `.manifest`. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { readRecord } from "../../base/parse-json.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { folderOfProject, MANIFESTS, OWNER_FILE, shortHash, STAGING_FOLDER, stagingHome } from "../../base/staging.ts";
import { type NotedSource, readNotes } from "../notes.ts";
import { namesIn } from "../../base/read-folder.ts";

/** Note about one document. The manifest has null instead if filing the document began and may not have ended. */
export type Entry = NotedSource & {
  room: string;
  /** Upstream's code for the reason why an office document was not filed. */
  outcome?: string;
};
export type Manifest = {
  schema: 1;
  root: string;
  wing: string;
  /** Digest of the rules (for rooms and for refused texts) with which these entries were made. */
  rules: string;
  files: Record<string, Entry | null>;
  /** Inode of `root`, which changes if another project's folder is mounted there. Older notes lack it. */
  folder?: string;
  /** True if the hallways and tunnels may not yet have all documents. */
  linksBehind?: true;
};

export type Stage = Readonly<{
  /** True if documents are filed under their own paths, without copies. */
  isInPlace: boolean;
  home: string;
  wing: string;
  root: string;
  /** Folder within the wing's folder: "" for the wing's first project, else a name made from the project's path. */
  prefix: string;
  manifestFile: string;
  /** Manifest of this project under its former folder, if the project was moved. */
  formerManifestFile: string | undefined;
}>;

/** `palace`: the broker's address, or the palace's folder; each palace has its own notes. */
export type StageOptions = { cacheDir: string; wing: string; root: string; palace: string; isInPlace?: boolean };

const NOTES_IN_PLACE = "mempalace-projects";

/** Finds a project's `Stage` without writing anything. */
export function findStage(options: StageOptions): Stage {
  if (options.isInPlace === true) return inPlace(options);
  const home = stagingHome(options.cacheDir);
  const notes = join(home, MANIFESTS, options.wing);
  const owner = readOwner(notes);
  const isOurs = owner === undefined || owner === options.root || isMoved(owner, options);
  return {
    isInPlace: false,
    home,
    wing: options.wing,
    root: options.root,
    prefix: isOurs ? "" : folderOfProject(options.root),
    manifestFile: join(notes, manifestName(options.root, options.palace)),
    formerManifestFile:
      isOurs && owner !== undefined && owner !== options.root
        ? join(notes, manifestName(owner, options.palace))
        : undefined,
  };
}

function inPlace({ cacheDir, wing, root, palace }: StageOptions): Stage {
  const home = join(dirname(cacheDir), NOTES_IN_PLACE);
  const manifestFile = join(home, MANIFESTS, wing, manifestName(root, palace));
  return { isInPlace: true, home, wing, root, prefix: "", manifestFile, formerManifestFile: undefined };
}

/** Finds a project's `Stage`. Makes the project the owner of the wing's folder if nobody owns it or if the owner was moved here. */
export function claimStage(options: StageOptions): Stage {
  const stage = findStage(options);
  if (stage.isInPlace) return stage;
  if (stage.prefix !== "" || readOwner(dirname(stage.manifestFile)) === options.root) return stage;
  const notes = dirname(stage.manifestFile);
  mkdirSync(notes, { recursive: true, mode: 0o700 });
  const content = `${JSON.stringify({ root: options.root })}\n`;
  if (stage.formerManifestFile !== undefined) writeFileAtomic(ownerFile(notes), content);
  else {
    try {
      // If two projects start at once, the flag `wx` lets only one own the folder.
      writeFileSync(ownerFile(notes), content, { flag: "wx", mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      return findStage(options);
    }
  }
  return stage;
}

/** Returns the absolute path under which a document is filed. */
export function stagedPath(stage: Stage, path: string): string {
  return stage.isInPlace ? join(stage.root, path) : join(stage.home, stage.wing, stage.prefix, path);
}

/** Returns the part of a staged path that is the same on every machine; undefined if `sourceFile` is not staged. */
export function identityOf(sourceFile: string, wing: string): string | undefined {
  const parts = sourceFile.split(/[\\/]/);
  const at = parts.findIndex((part, index) => part === STAGING_FOLDER && parts[index + 1] === wing);
  return at < 0 ? undefined : parts.slice(at + 1).join("/");
}

/** Writes a copy into the staging area, with the original's time. */
export function stageDocument(stage: Stage, path: string, bytes: Buffer, mtime: number): void {
  if (stage.isInPlace) return;
  const target = stagedPath(stage, path);
  clearWay(stage, target);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, bytes, { mode: 0o600 });
    utimesSync(temporary, mtime, mtime);
    renameSync(temporary, target);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Removes copies that prevent the copy at `target`: a file in place of one of its folders, or a folder in place of the file. */
function clearWay(stage: Stage, target: string): void {
  const parts = relative(stage.home, target).split(sep);
  for (let count = 1; count <= parts.length; count += 1) {
    const path = join(stage.home, ...parts.slice(0, count));
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (stat.isDirectory() !== count < parts.length) rmSync(path, { recursive: true });
  }
}

export function unstageDocument(stage: Stage, path: string): void {
  // This path is the user's own file.
  if (stage.isInPlace) return;
  const target = stagedPath(stage, path);
  try {
    // A folder here has copies of other documents.
    if (!lstatSync(target).isFile()) return;
  } catch {
    return;
  }
  rmSync(target);
  for (let folder = dirname(target); folder !== stage.home && folder.startsWith(stage.home); folder = dirname(folder)) {
    try {
      rmdirSync(folder);
    } catch {
      return;
    }
  }
}

export function readManifest({ manifestFile, formerManifestFile }: Stage): Manifest | undefined {
  const found = readNotes<Manifest>(manifestFile, "files");
  return found ?? (formerManifestFile === undefined ? undefined : readNotes(formerManifestFile, "files"));
}

/** Lists the folders that were filed before, into any wing and palace, the longest path first. */
export function knownRoots(cacheDir: string): { root: string; wing: string }[] {
  const home = join(stagingHome(cacheDir), MANIFESTS);
  const found = namesIn(home).flatMap((wing) =>
    namesIn(join(home, wing)).flatMap((name) => {
      const manifest = name === OWNER_FILE ? undefined : readRecord(join(home, wing, name));
      return typeof manifest?.["root"] === "string" ? [{ root: manifest["root"], wing }] : [];
    }),
  );
  return found.sort((a, b) => b.root.length - a.root.length);
}

function ownerFile(notes: string): string {
  return join(notes, OWNER_FILE);
}

function readOwner(notes: string): string | undefined {
  const { root } = readRecord(ownerFile(notes));
  return typeof root === "string" ? root : undefined;
}

/** Returns true if the owner's folder was moved to `root`: it had the same name and is gone, and `root` has its documents. */
function isMoved(owner: string, { cacheDir, wing, root, palace }: StageOptions): boolean {
  if (basename(owner) !== basename(root) || existsSync(owner)) return false;
  const home = stagingHome(cacheDir);
  const notes = readNotes<Manifest>(join(home, MANIFESTS, wing, manifestName(owner, palace)), "files");
  return notes === undefined || hasHalf(root, join(home, wing), notes);
}

/** Returns true if at least half of the filed documents are in `root`, equal to their copies, or if fewer than two were filed. */
export function hasHalf(root: string, copies: string, { files }: Manifest): boolean {
  const filed = Object.keys(files).filter((path) => (files[path]?.drawers ?? 0) > 0);
  const same = filed.filter((path) => isSameFile(join(root, path), join(copies, path)));
  return filed.length < 2 || same.length * 2 >= filed.length;
}

function isSameFile(one: string, other: string): boolean {
  try {
    const [a, b] = [lstatSync(one), lstatSync(other)];
    return a.isFile() && b.isFile() && a.size === b.size && readFileSync(one).equals(readFileSync(other));
  } catch {
    return false;
  }
}

function manifestName(root: string, palace: string): string {
  return `${shortHash(root)}-${shortHash(palace)}.json`;
}
