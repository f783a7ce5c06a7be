/**
 * Finds the header row of a table whose later rows a hit begins with: the miner cuts a long table into several drawers, and only the first one
 * has the names of the columns. Reads the slices before the hit. Used by search.ts.
 */
import type { Drawer } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { neighborsOf } from "./neighbors.ts";

/** Number of slices before the hit in which the table may begin. */
const SLICES_MAX = 40;
const IS_ROW = /^\s*\|.*\|\s*$/;
const IS_RULE = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/;

/** Returns the header row with the rule below it; undefined for a text that begins with something else, or with the header. */
export function tableHeaderOf(
  reader: Pick<LedgerReader, "slicesOf" | "slicesOfSource">,
  drawer: Drawer,
): string | undefined {
  const [first = "", second = ""] = drawer.text.split("\n", 2);
  // The cut may go through the first row.
  const isInside = first.includes("|") && !IS_RULE.test(second) && (second === "" || IS_ROW.test(second));
  if (!isInside) return undefined;
  const { before } = neighborsOf(reader, drawer, SLICES_MAX);
  let header: string | undefined;
  for (const { text } of before) {
    const lines = text.split("\n");
    lines.forEach((line, at) => {
      const above = lines[at - 1] ?? "";
      if (IS_RULE.test(line) && line.includes("|") && IS_ROW.test(above)) header = `${above.trim()}\n${line.trim()}`;
      // The first and the last line may be parts of rows.
      else if (at > 0 && at < lines.length - 1 && !IS_ROW.test(line) && !IS_RULE.test(lines[at + 1] ?? ""))
        header = undefined;
    });
  }
  return header;
}
