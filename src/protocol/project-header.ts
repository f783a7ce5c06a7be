/** Writes and reads the HTTP header with a client's project names. */

import { orElse } from "../base/or-else.ts";

const NAMES_MAX = 8;
const NAME_MAX = 128;
/** Maximum length of the header line, characters: a quarter of what a broker accepts for all headers together. */
const LINE_MAX = 4_096;

/** Returns the header line. `names`: the most specific first. Leaves out names that are too long, and names after the eighth. */
export function projectLine(names: readonly string[]): string {
  const usable = names.filter((name) => name !== "" && name.length <= NAME_MAX && name.isWellFormed());
  let line = "";
  for (const name of usable.slice(0, NAMES_MAX)) {
    const longer = `${line}${line === "" ? "" : ","}${encodeURIComponent(name)}`;
    if (longer.length <= LINE_MAX) line = longer;
  }
  return line;
}

/** Reads a header line. Ignores unreadable names, because a wrong header must not fail the call. */
export function namesInLine(line: unknown): string[] {
  if (typeof line !== "string" || line.length > LINE_MAX) return [];
  const names = line.split(",").map((part) => decoded(part.trim()));
  return names.filter((name) => name !== "" && name.length <= NAME_MAX && !name.includes("\0")).slice(0, NAMES_MAX);
}

function decoded(part: string): string {
  return orElse(() => decodeURIComponent(part), "");
}
