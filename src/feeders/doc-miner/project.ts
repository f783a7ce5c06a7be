/** Reads wing, rooms and exclusions from a project's `mempalace.yaml` (older: `mempal.yaml`). Source: palace.md 3.5, and 2.6 for names. */
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { badValue, PalaceError } from "../../base/errors.ts";
import { PROJECT_FILES, wingOfFolder } from "../../base/project-names.ts";
import type { Room } from "./room.ts";

export type Project = {
  wing: string;
  wingFrom: "--wing" | "mempalace.yaml" | "folder name";
  /** Rooms in the project file. If undefined, the names of folders decide a document's room. */
  rooms: readonly Room[] | undefined;
  /** Patterns of files to leave out, as in a .gitignore file. */
  exclude: readonly string[];
  /** File name of the project file; undefined if there is none. */
  file: string | undefined;
};

const FILE_SIZE_MAX_BYTES = 256 * 1024;
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N}_ .'-]{0,126}[\p{L}\p{N}])?$/u;

/** `root` must be a real path. `wing` replaces the file's wing. Errors: CONFIG_BAD_VALUE for an unusable project file or wing. */
export async function readProject(root: string, wing: string | undefined): Promise<Project> {
  const found = findFile(root);
  const settings = found === undefined ? undefined : await parse(found.path, found.text);
  const named = settings?.["wing"];
  const file = found?.name;
  const rooms = settings === undefined ? undefined : readRooms(settings["rooms"], file ?? "");
  const rest = { rooms, exclude: readPatterns(settings?.["exclude_patterns"]), file };
  if (wing !== undefined) return { wing: checkName(wing, "--wing"), wingFrom: "--wing", ...rest };
  if (named === undefined || named === null) return { wing: wingOfFolder(root), wingFrom: "folder name", ...rest };
  if (typeof named !== "string" && typeof named !== "number")
    throw badFile(file ?? "", "wing is not a name", "write it as `wing: my_project`");
  return { wing: checkName(String(named), `wing of ${file ?? ""}`), wingFrom: "mempalace.yaml", ...rest };
}

function findFile(root: string): { name: string; path: string; text: string } | undefined {
  for (const name of PROJECT_FILES) {
    const path = join(root, name);
    const refuse = (what: string, cause?: unknown): PalaceError =>
      badFile(name, what, `check the file: ls -l '${path}'`, cause);
    try {
      return { name, path, text: readSettings(path, `${realpathSync(root)}${sep}`, refuse) };
    } catch (error) {
      if (error instanceof PalaceError) throw error;
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw refuse("it cannot be read", error);
    }
  }
  return undefined;
}

/** Refuses a link to a file outside of `within`: a peer that can write to the folder could read other files through it. */
function readSettings(path: string, within: string, refuse: (what: string) => PalaceError): string {
  const real = realpathSync(path);
  if (!real.startsWith(within)) throw refuse("it is a link to a file outside the folder");
  // O_NONBLOCK avoids waiting for the writer of a pipe.
  const file = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refuse("it is not a regular file");
    if (stat.size > FILE_SIZE_MAX_BYTES) throw refuse("it is too large for a file of settings");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

async function parse(path: string, text: string): Promise<Record<string, unknown>> {
  // Loads the YAML parser only for a project file, because half of all runs have none.
  const { parse: parseYaml } = await import("yaml");
  let settings: unknown;
  try {
    settings = parseYaml(text, { maxAliasCount: 100, logLevel: "error" });
  } catch (error) {
    const reason = (error as Error).message.split("\n")[0] ?? "";
    throw badFile(basename(path), `it is not YAML (${reason})`, `correct ${path}`, error);
  }
  if (settings === null || settings === undefined) return {};
  if (typeof settings !== "object" || Array.isArray(settings))
    throw badFile(basename(path), "it contains no settings", "see `wing:` and `rooms:` in the documentation");
  return settings as Record<string, unknown>;
}

function readRooms(value: unknown, file: string): readonly Room[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw badFile(file, "rooms is not a list", "write rooms as a list of `- name: backend`");
  return value.map((entry: unknown): Room => {
    // Upstream's documentation shows plain strings, too, although its miner does not accept them.
    const room = typeof entry === "string" ? { name: entry } : (entry as { name?: unknown; keywords?: unknown } | null);
    if (typeof room?.name !== "string") throw badFile(file, "a room has no name", "give each room a `name:`");
    const keywords = Array.isArray(room.keywords) ? room.keywords.filter((one) => typeof one === "string") : [];
    return { name: checkName(room.name, `room of ${file}`), keywords };
  });
}

/** Accepts a list of patterns or one pattern. Source: upstream 3.11, `exclude_patterns`. */
function readPatterns(value: unknown): string[] {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.filter((one) => typeof one === "string" || typeof one === "number").map(String);
}

/** Returns the name without outer white space. `what`: name of the value, for the message. Errors: CONFIG_BAD_VALUE. */
export function checkName(value: string, what: string): string {
  const name = value.trim();
  if (NAME.test(name) && !name.includes("..")) return name;
  throw badValue(
    `${what} is not a usable name: ${JSON.stringify(value)}`,
    "use letters, digits, underscore, space, full stop, apostrophe and hyphen; begin and end with a letter or digit",
  );
}

function badFile(file: string, what: string, hint: string, cause?: unknown): PalaceError {
  return badValue(`${file} cannot be used: ${what}`, hint, cause);
}
