/** Finds the header row of a long table that the miner cut into several drawers, for a hit that begins with a later row. */
import type { Drawer } from "../port/drawer.ts";
import type { LedgerReader } from "../port/ledger.ts";
import { neighborsOf } from "./neighbors.ts";

/** Maximum number of slices before the hit that are searched for the table's beginning. */
const SLICES_MAX = 40;
const IS_ROW = /^\s*\|.*\|\s*$/;
const IS_RULE = /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$/;

/** Returns the header row with the rule below it; undefined if the text does not begin inside a table. */
export function tableHeaderOf(
  reader: Pick<LedgerReader, "slicesOf" | "slicesOfSource">,
  drawer: Drawer,
): string | undefined {
  const [first = "", second = ""] = drawer.text.split("\n", 2);
  // The text begins inside a table if its first line is a row, or the rest of a cut row, and is not a header: no rule follows.
  const isInside = first.includes("|") && !IS_RULE.test(second) && (second === "" || IS_ROW.test(second));
  if (!isInside) return undefined;
  const { before } = neighborsOf(reader, drawer, SLICES_MAX);
  let header: string | undefined;
  for (const { text } of before) {
    const lines = text.split("\n");
    lines.forEach((line, at) => {
      const above = lines[at - 1] ?? "";
      if (IS_RULE.test(line) && line.includes("|") && IS_ROW.test(above)) header = `${above.trim()}\n${line.trim()}`;
      // A line that is not a row ends the table, unless it is the first or last line of a slice: that may be a part of a row.
      else if (at > 0 && at < lines.length - 1 && !IS_ROW.test(line) && !IS_RULE.test(lines[at + 1] ?? ""))
        header = undefined;
    });
  }
  return header;
}
