/**
 * Simulates power cuts for a folder: tracks which bytes and names were synced, and at each sync makes folders as a power cut could leave
 * them. Each such state has all synced changes, and none, all or some of the unsynced changes. A renamed file is in exactly one folder.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Disk, exchangeDisk } from "../../src/base/folders.ts";
import { seededRandom } from "./random.ts";

/** Folder for the states, in memory for speed. */
const MEMORY = "/dev/shm";

/** Inodes by file name. */
type Names = Map<string, number>;
type Place = { folder: number; name: string };
/** Contents by inode: a file's bytes, a folder's names, or a link's target. */
type Tree = Map<number, Buffer | Names | string>;

export type PowerCutOptions = {
  /** Checks one state of the folder. `what` describes the state for an error. */
  look: (folder: string, what: string) => void;
  /** Files that SQLite itself syncs before it relies on them. Every state has their latest bytes. */
  keptBySqlite?: RegExp;
  /** Files that are missing after every power cut. */
  volatile?: RegExp;
  /** Number of states per power cut that have a random part of the unsynced changes. Default: 3. */
  parts?: number;
  seed?: number;
};

export class PowerCut implements Disposable {
  syncs = 0;
  states = 0;
  /** Makes the next sync fail with this error. */
  failure: Error | undefined;
  readonly #root: string;
  readonly #options: PowerCutOptions;
  readonly #random: () => number;
  readonly #synced: Tree = new Map();
  /** Open descriptors by inode. While a file's descriptor is open, no other file gets the file's inode number. */
  readonly #held = new Map<number, number>();
  readonly #before: Disk;
  /** Digests of the current cut's states that were checked. */
  readonly #looked = new Set<string>();
  #isLooking = false;

  constructor(root: string, options: PowerCutOptions) {
    this.#root = root;
    this.#options = options;
    this.#random = seededRandom(options.seed ?? 1);
    for (const [inode, content] of this.#now()) this.#synced.set(inode, content);
    this.#before = exchangeDisk((fd, sync) => this.#sync(fd, sync));
  }

  [Symbol.dispose](): void {
    exchangeDisk(this.#before);
    for (const fd of this.#held.values()) closeSync(fd);
  }

  /** Checks every kind of state that a power cut could leave at this moment. */
  cut(what = "at the end"): void {
    this.#isLooking = true;
    this.#looked.clear();
    try {
      const now = this.#now();
      const none = (): boolean => false;
      this.#state(now, `${what}, only what was synced`, { moves: none, bytes: () => 0 });
      this.#state(now, `${what}, with all names`, { moves: () => true, bytes: () => 0 });
      this.#state(now, `${what}, with all bytes`, { moves: none, bytes: () => 1 });
      this.#state(now, `${what}, with all`, { moves: () => true, bytes: () => 1 });
      for (const one of this.#unsynced(now)) {
        this.#state(now, `${what}, with one name`, { moves: (inode) => inode === one, bytes: () => 0 });
        this.#state(now, `${what}, without one name`, { moves: (inode) => inode !== one, bytes: () => 0 });
      }
      for (let part = 1; part <= (this.#options.parts ?? 3); part++)
        this.#state(now, `${what}, part ${part}`, {
          moves: () => this.#random() < 0.5,
          bytes: () => [0, 1, this.#random()][Math.floor(this.#random() * 3)] ?? 0,
        });
    } finally {
      this.#isLooking = false;
    }
  }

  /** Returns inodes that were added, moved or removed since their folders were last synced. */
  #unsynced(now: Tree): number[] {
    const [was, is] = [placesIn(this.#synced), placesIn(now)];
    const text = (places: Map<number, Place[]>, inode: number): string => JSON.stringify(places.get(inode) ?? []);
    return [...new Set([...was.keys(), ...is.keys()])].filter((inode) => text(was, inode) !== text(is, inode));
  }

  #sync(fd: number, sync: () => void): void {
    const path = readlinkSync(`/proc/self/fd/${fd}`);
    if (this.#isLooking || !`${path}/`.startsWith(`${this.#root}/`)) return sync();
    this.syncs += 1;
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
    this.cut(`before sync ${this.syncs}, of ${path.slice(this.#root.length)}`);
    sync();
    const inode = fstatSync(fd).ino;
    const content = this.#now().get(inode) ?? readFileSync(`/proc/self/fd/${fd}`);
    this.#hold(inode, `/proc/self/fd/${fd}`);
    this.#synced.set(inode, content);
  }

  #now(): Tree {
    const tree: Tree = new Map();
    const walk = (path: string): number => {
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) tree.set(stats.ino, readlinkSync(path));
      else if (!stats.isDirectory()) {
        this.#hold(stats.ino, path);
        tree.set(stats.ino, stats.isFile() ? readFileSync(path) : Buffer.alloc(0));
      } else {
        this.#hold(stats.ino, path);
        const names = readdirSync(path).filter((name) => this.#options.volatile?.test(name) !== true);
        tree.set(stats.ino, new Map(names.map((name) => [name, walk(join(path, name))])));
      }
      return stats.ino;
    };
    walk(this.#root);
    return tree;
  }

  #hold(inode: number, path: string): void {
    if (!this.#held.has(inode)) this.#held.set(inode, openSync(path, "r"));
  }

  #state(now: Tree, what: string, chance: { moves: (inode: number) => boolean; bytes: () => number }): void {
    const { look, keptBySqlite } = this.#options;
    const names = this.#names(now, chance.moves);
    /** Content by path, each folder before its files. A folder's content is undefined. */
    const files = new Map<string, Buffer | string | undefined>();
    const gather = (inode: number, path: string): void => {
      const at = now.get(inode) ?? this.#synced.get(inode) ?? Buffer.alloc(0);
      if (at instanceof Map) {
        files.set(path, undefined);
        for (const [name, one] of names.get(inode) ?? []) gather(one, join(path, name));
      } else if (typeof at === "string" || keptBySqlite?.test(path) === true) files.set(path, at);
      else files.set(path, mixed((this.#synced.get(inode) ?? Buffer.alloc(0)) as Buffer, at, chance.bytes()));
    };
    gather(lstatSync(this.#root).ino, "");
    const digest = createHash("sha256");
    for (const [path, content] of files) digest.update(`\n${path}\n`).update(content ?? "/");
    const state = digest.digest("hex");
    if (this.#looked.has(state)) return;
    this.#looked.add(state);
    this.states += 1;
    const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "power-cut-"));
    try {
      for (const [path, content] of files) {
        if (content === undefined) mkdirSync(join(folder, path), { recursive: true });
        else if (typeof content === "string") symlinkSync(content, join(folder, path));
        else writeFileSync(join(folder, path), content);
      }
      look(folder, what);
    } catch (error) {
      throw new Error(`power cut ${what}: ${(error as Error).message}`, { cause: error });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Returns each folder's names: the synced ones, with the unsynced changes that `takes` accepts. */
  #names(now: Tree, takes: (inode: number) => boolean): Map<number, Names> {
    const names = new Map<number, Names>();
    for (const tree of [now, this.#synced])
      for (const [inode, content] of tree)
        if (content instanceof Map) names.set(inode, new Map(namesIn(this.#synced, inode)));
    const [was, is] = [placesIn(this.#synced), placesIn(now)];
    const drop = (inode: number, { folder, name }: Place): void => {
      if (names.get(folder)?.get(name) === inode) names.get(folder)?.delete(name);
    };
    const left = new Set(this.#unsynced(now));
    const move = (inode: number): void => {
      if (!left.delete(inode)) return;
      const to = is.get(inode) ?? [];
      for (const { folder, name } of to) {
        // First moves the new folder itself, and the file that had this name and has another name now.
        move(folder);
        const before = namesIn(this.#synced, folder).get(name);
        if (before !== undefined && is.has(before)) move(before);
      }
      for (const place of was.get(inode) ?? []) drop(inode, place);
      for (const { folder, name } of to) names.get(folder)?.set(name, inode);
    };
    for (const [inode, to] of is) if (to.some(({ name }) => this.#isKept(name)) || takes(inode)) move(inode);
    for (const [inode, from] of was)
      for (const place of from)
        if (!is.has(inode) && !namesIn(now, place.folder).has(place.name) && takes(inode)) drop(inode, place);
    // A rename happens in both folders or in neither.
    const there = reachable(names, lstatSync(this.#root).ino);
    for (const [inode, to] of is)
      if (to.some(({ folder, name }) => there.has(folder) && names.get(folder)?.get(name) === inode))
        for (const place of was.get(inode) ?? [])
          if (namesIn(now, place.folder).get(place.name) !== inode) drop(inode, place);
    return names;
  }

  /** Returns true for files that SQLite syncs, and for the log of such a file. */
  #isKept(name: string): boolean {
    const kept = this.#options.keptBySqlite;
    return kept !== undefined && (kept.test(name) || kept.test(name.replace(/-wal$/, "")));
  }
}

function namesIn(tree: Tree, folder: number): Names {
  const names = tree.get(folder);
  return names instanceof Map ? names : new Map<string, number>();
}

function placesIn(tree: Tree): Map<number, Place[]> {
  const found = new Map<number, Place[]>();
  for (const [folder, names] of tree)
    if (names instanceof Map)
      for (const [name, inode] of names) found.set(inode, [...(found.get(inode) ?? []), { folder, name }]);
  return found;
}

function reachable(names: ReadonlyMap<number, Names>, root: number): Set<number> {
  const found = new Set([root]);
  for (const folder of found) for (const inode of names.get(folder)?.values() ?? []) found.add(inode);
  return found;
}

/** Returns the bytes of a partly synced file: the first `share` of them as last written, the rest as last synced. */
function mixed(synced: Buffer, current: Buffer, share: number): Buffer {
  if (share === 0) return synced;
  if (share === 1) return current;
  const cut = Math.floor(current.length * share);
  return Buffer.concat([current.subarray(0, cut), synced.subarray(cut)]);
}
