/** Checks the folder of --palace. If it has no palace, a verb that reads fails, and a verb that writes creates one with a notice. */
import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isElsewhere } from "../docker/served-by-stack.ts";
import type { Config } from "../../config/config.ts";
import { vanishedPalace } from "../../base/state-files.ts";
import { quoted } from "../../base/shell-word.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { nearestWord } from "../../base/nearest.ts";

/** Folders that a command accepts for --palace: only an existing palace, also a new palace, or every folder. */
export type Place = "there" | "anew" | "any";

/** Returns the folder that --palace names on a command line; undefined if the option is missing. */
export function namedPalace(argv: readonly string[]): string | undefined {
  const end = argv.indexOf("--");
  const options = end < 0 ? argv : argv.slice(0, end);
  const at = options.lastIndexOf("--palace");
  if (at >= 0) return options[at + 1] ?? "";
  return options.findLast((one) => one.startsWith("--palace="))?.slice("--palace=".length);
}

/** Words that people type for a subcommand, and rarely as the name of a file. */
const COMMAND_WORDS =
  "list ls show status verify check test restore create make new run now get delete remove rm prune clean help info import export";

/** Refuses a mistyped subcommand in place of a file, such as `palace backup list`, unless that file exists. Errors: CONFIG_USAGE. */
export function assertNoCommand(verb: string, given: string): void {
  const isWord = COMMAND_WORDS.split(" ").includes(given) || nearestWord(given, ["verify", "restore"], 1) !== undefined;
  if (!isWord || exists(given)) return;
  throw wrongUsage(
    `${verb} has no command ${given}`,
    `${verb} --help lists its commands; to use ${given} as a file name: ${verb} ./${given}`,
  );
}

/** Returns true if a palace exists, may exist, or has vanished (another check reports that). */
export function hasPalace(config: Config): boolean {
  const { paths } = config;
  const { ledgerFile, brokerFile, lockFile, tokensFile, graphFile, palaceDir, home } = paths;
  if (isElsewhere(config)) return true;
  // A graph file in another folder may belong to several palaces, so it proves nothing.
  const graph = dirname(graphFile) === home ? [graphFile] : [];
  const signs = [ledgerFile, join(palaceDir, "chroma.sqlite3"), brokerFile, lockFile, tokensFile, ...graph];
  return signs.some(mayExist) || vanishedPalace(paths) !== undefined;
}

/** Throws if the palace is missing and the verb needs one. Calls `notice` if the verb will create the palace. Errors: PALACE_NOT_FOUND. */
export function assertPlace(config: Config, place: Place, notice: (line: string) => void): void {
  if (place === "any" || hasPalace(config)) return;
  if (place === "there") throw palaceNotFound(config);
  notice(`a new palace begins in ${config.paths.home} (--palace)`);
}

export function palaceNotFound({ paths: { home } }: Config): PalaceError {
  const near = nearPalace(home);
  return new PalaceError(
    "PALACE_NOT_FOUND",
    `there is no palace in ${home}; nothing was made`,
    near === undefined
      ? "to begin one there: palace start"
      : `did you mean --palace ${quoted(near)}? To begin one: palace start`,
  );
}

/** Returns `home/palace` if it has a palace, or else a folder beside `home` that has a palace and nearly the same name. */
function nearPalace(home: string): string | undefined {
  const isPalace = (folder: string): boolean =>
    ["ledger.sqlite3", "chroma.sqlite3"].some((name) => exists(join(folder, name)));
  if (isPalace(join(home, "palace"))) return join(home, "palace");
  const parent = dirname(home);
  try {
    const others = readdirSync(parent, { withFileTypes: true })
      .filter((one) => one.isDirectory() && isPalace(join(parent, one.name)))
      .map(({ name }) => name);
    const near = nearestWord(basename(home), others);
    return near === undefined ? undefined : join(parent, near);
  } catch {
    return undefined;
  }
}

export function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Returns false only if the path certainly does not exist. */
function mayExist(path: string): boolean {
  try {
    return exists(path);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ENOTDIR";
  }
}
