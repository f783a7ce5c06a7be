/** Lists every file of the devbox's home with its hash, and compares two lists. */
import { isRecord, parseAs } from "../base/parse-json.ts";
import { unavailable } from "../base/errors.ts";

/** List of the home. `entries`: path → kind and mode, with a hash or a link's target. `ours`: files that `palace install` writes again. */
export type HomeTree = Readonly<{ entries: Readonly<Record<string, string>>; ours: readonly string[] }>;

export const HOME = "/home/developer";

/** Prefixes of paths that are left out of the list, because their files may differ (docs/how-to/devbox.md). */
const CACHES = [".cache/", ".npm/", ".local/state/", ".zcompdump"] as const;

export function treeCommand(): string[] {
  return ["node", "-e", LOOK, HOME, JSON.stringify(CACHES)];
}

export function parseTree(text: string): HomeTree {
  return parseAs(text, isTree) ?? unread("home");
}

function isTree(value: unknown): value is HomeTree {
  return isRecord(value) && isRecord(value["entries"]) && Array.isArray(value["ours"]);
}

/** Throws an error about a container whose output cannot be parsed. */
export function unread(what: "home" | "memory"): never {
  throw unavailable(`the container that read the ${what} gave no result`, "try again");
}

/** Lists the paths that are missing or changed in `after`; added paths do not count. */
export function treeDiffers(before: HomeTree, after: HomeTree): string[] {
  const ours = new Set(after.ours);
  return Object.entries(before.entries)
    .filter(([path, is]) => after.entries[path] !== is && !ours.has(path))
    .map(([path]) => path);
}

const LOOK = `
const fs = require("node:fs"), path = require("node:path"), crypto = require("node:crypto");
const [home, caches] = [process.argv[1], JSON.parse(process.argv[2])];
const records = path.join(home, ".local/state/palace/install"), ours = new Set();
for (const name of fs.existsSync(records) ? fs.readdirSync(records) : [])
  try { for (const file of JSON.parse(fs.readFileSync(path.join(records, name))).files) ours.add(path.relative(home, file.path)); } catch {}
const entries = {};
const hashOf = (file) => {
  const hash = crypto.createHash("sha256"), piece = Buffer.alloc(1 << 20), fd = fs.openSync(file);
  for (let n; (n = fs.readSync(fd, piece)) > 0;) hash.update(piece.subarray(0, n));
  fs.closeSync(fd);
  return hash.digest("hex");
};
const walk = (folder) => {
  for (const name of fs.readdirSync(path.join(home, folder)).sort()) {
    const at = path.join(folder, name), file = path.join(home, at), is = fs.lstatSync(file), mode = (is.mode & 0o7777).toString(8);
    if (caches.some((prefix) => (at + "/").startsWith(prefix) || at.startsWith(prefix)) || ours.has(at)) continue;
    if (is.isDirectory()) { entries[at] = "folder " + mode; walk(at); }
    else if (is.isSymbolicLink()) entries[at] = "link " + fs.readlinkSync(file);
    else if (is.isFile()) entries[at] = "file " + mode + " " + hashOf(file);
  }
};
walk("");
console.log(JSON.stringify({ entries, ours: [...ours] }));
`;
