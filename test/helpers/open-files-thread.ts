/** Thread that finds the processes with a palace's files open. Compares inodes, so another path to a file does not hide it. */
import { readdirSync, readFileSync, readlinkSync, type Stats, statSync } from "node:fs";
import { basename, join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

export type Part = "ledger" | "palace";
export type Seen = {
  looks: number;
  /** For the ledger and for the public palace: number of looks at which some process had a file open. */
  held: Record<Part, number>;
  /** Pairs of processes that had a file of the same part open at the same time. */
  together: string[];
};

/** Pause after each look, as a multiple of the look's length: looking takes at most a twentieth of a processor. */
const REST = 19;
const REST_MIN_MS = 50;
const TOGETHER_MAX = 20;
/** Docker and ssh have most of the machine's handles but open no database. */
const PLUMBING = new Set([
  ...["dockerd", "containerd", "containerd-shim-runc-v2", "runc", "docker", "docker-compose", "docker-init"],
  ...["sshd", "sshd-session", "ssh"],
]);
/** Flags O_WRONLY and O_RDWR. */
const WRITES = 0o3;

type File = { part: Part; path: string };
/** Process with the ledger or the palace open. `from`, `to`: the first and last `moment` at which this was found. */
type Holding = { part: Part; process: string; pid: string; from: number; to: number; writes: boolean; path: string };

const { home, server, leaveOut } = workerData as { home: string; server: boolean; leaveOut: number };
const seen: Seen = { looks: 0, held: { ledger: 0, palace: 0 }, together: [] };
const holdings = new Map<string, Holding>();
/** Number of handles found so far, used as a clock. */
let moment = 0;

/** Lists the files to watch. Called before each look, because the palace gets new files. */
function watchedFiles(): Map<string, File> {
  const files = new Map<string, File>();
  const add = (part: Part, path: string): void => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() === true) files.set(`${stat.dev}:${stat.ino}`, { part, path });
  };
  // Leaves out rollback journals: a process with an open journal has the database open too.
  const isDatabase = (name: string, of: string): boolean => name.startsWith(of) && !name.endsWith("-journal");
  for (const name of list(home)) if (isDatabase(name, "ledger.sqlite3")) add("ledger", join(home, name));
  const palace = join(home, "palace");
  for (const name of list(palace)) {
    if (isDatabase(name, "chroma.sqlite3")) add("palace", join(palace, name));
    // A collection's index is in a folder named by an id.
    else if (/^[0-9a-f-]{36}$/.test(name))
      for (const file of list(join(palace, name))) add("palace", join(palace, name, file));
  }
  return files;
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Looks once at the given processes. Returns the `moment` at which each was found with a file open. */
function look(files: ReadonlyMap<string, File>, pids: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const pid of pids) {
    // Kernel threads have no open files.
    const handles = list(`/proc/${pid}/fd`);
    if (handles.length === 0 || PLUMBING.has(programOf(pid))) continue;
    for (const fd of handles) {
      const stat = quietly(() => statSync(`/proc/${pid}/fd/${fd}`));
      const file = stat && files.get(`${stat.dev}:${stat.ino}`);
      const process = file && nameOf(pid);
      if (process === undefined || !isStill(file as File, stat as Stats)) continue;
      const { part, path } = file as File;
      const info = quietly(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8")) ?? "";
      // Ignores the -shm: even a reader of a WAL database writes it.
      const writes = isForWriting(info) && !path.endsWith("-shm");
      const key = `${part} ${process}`;
      moment += 1;
      found.set(key, moment);
      const known = holdings.get(key) ?? { part, process, pid, from: moment, to: moment, writes, path };
      holdings.set(key, { ...known, to: moment, ...(writes && !known.writes && { writes, path }) });
    }
  }
  return found;
}

/** Returns true if the path still leads to this inode, because a new file may get a deleted file's inode. */
function isStill({ path }: File, { dev, ino }: Stats): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.dev === dev && now.ino === ino;
}

function quietly<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    // The process has ended or closed the file meanwhile.
    return undefined;
  }
}

function isForWriting(fdinfo: string): boolean {
  const flags = /^flags:\s*([0-7]+)$/m.exec(fdinfo)?.[1] ?? "0";
  return (Number.parseInt(flags, 8) & WRITES) !== 0;
}

/** Returns a process's pid and start time. A pid may be reused, but not with the same start time. */
function nameOf(pid: string): string | undefined {
  const stat = quietly(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  return stat && `${pid}@${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
}

function programOf(pid: string): string {
  return basename(quietly(() => readlinkSync(`/proc/${pid}/exe`)) ?? "");
}

function commandOf(pid: string): string {
  const line = quietly(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "";
  return `process ${pid}: ${line.replaceAll("\0", " ").trim()}`;
}

/**
 * Looks at all processes, and then again at the processes with a file open. Two processes had a file open at the same time only if one
 * process was found both before and after the other.
 */
function lookTwice(): void {
  const files = watchedFiles();
  const pids = list("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== leaveOut);
  const first = look(files, pids);
  const suspects = [...first.keys()].map((key) => holdings.get(key)?.pid ?? "");
  const second = new Set(suspects).size > 1 ? look(files, suspects) : first;
  for (const part of ["ledger", "palace"] as const)
    if ([...first.keys()].some((key) => key.startsWith(part))) seen.held[part] += 1;
  for (const [key, at] of first) report(key, at);
  for (const key of holdings.keys()) if (!second.has(key)) holdings.delete(key);
  seen.looks += 1;
}

function report(key: string, at: number): void {
  const one = holdings.get(key);
  for (const other of holdings.values()) {
    if (one === undefined || other.part !== one.part || other.process === one.process) continue;
    if (other.from >= at || other.to <= at || mayRead(one) || mayRead(other)) continue;
    const both = [one, other].map(describe).toSorted().join(" | ");
    if (!seen.together.includes(both) && seen.together.length < TOGETHER_MAX) seen.together.push(both);
  }
}

/** Returns true for the broker, which may read the files that its Chroma server writes. */
function mayRead({ part, process, writes }: Holding): boolean {
  return server && part === "palace" && !writes && holdings.has(`ledger ${process}`);
}

function describe({ pid, path, writes }: Holding): string {
  return `${path.slice(home.length + 1)} ${writes ? "to write" : "to read"} by ${commandOf(pid)}`;
}

function goOn(): void {
  const start = performance.now();
  lookTwice();
  setTimeout(goOn, Math.max(REST_MIN_MS, REST * (performance.now() - start)));
}

parentPort?.on("message", () => {
  lookTwice();
  parentPort?.postMessage(seen);
});
goOn();
