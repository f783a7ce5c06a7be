/** Makes layer 1 of MemPalace's wake-up text (palace.md 6.2) in the order of version 3.11; version 3.3.6 took the oldest rows. */
import type { Drawer } from "../port/drawer.ts";
import { baseName, codePointLength, compareText, head, strip } from "../text/text.ts";

/** Number of newest rows from which the shown drawers are chosen. */
export const WAKE_UP_ROWS_MAX = 2_000;
const DRAWERS_MAX = 15;
const LENGTH_MAX = 3_200;
const SNIPPET_MAX = 200;
const WEIGHTS = ["importance", "emotional_weight", "weight"];
const WEIGHT_DEFAULT = 3;

export const NO_PALACE = "## L1 — No palace found. Run: mempalace mine <dir>";

/** Returns layer L1 of the wake-up text. `drawers` are in filing order. `clean` masks secrets in a text before it is cut. */
export function essentialStory(drawers: readonly Drawer[], clean: (text: string) => string): string {
  if (drawers.length === 0) return "## L1 — No memories yet.";
  const shown = byWeight(drawers).slice(0, DRAWERS_MAX);
  const rooms = Map.groupBy(shown, ({ metadata }) => textOf(metadata["room"] ?? "general"));
  const lines = ["## L1 — ESSENTIAL STORY"];
  let length = 0;
  for (const [room, entries] of [...rooms].sort(([a], [b]) => compareText(a, b))) {
    lines.push(`\n[${room}]`);
    length += codePointLength(room) + 3;
    for (const { text, metadata } of entries) {
      const plain = strip(clean(text)).replaceAll("\n", " ");
      const snippet = codePointLength(plain) > SNIPPET_MAX ? `${head(plain, SNIPPET_MAX - 3)}...` : plain;
      const source = baseName(textOf(metadata["source_file"]));
      const line = `  - ${snippet}${source === "" ? "" : `  (${source})`}`;
      if (length + codePointLength(line) > LENGTH_MAX) return [...lines, "  ... (more in L3 search)"].join("\n");
      lines.push(line);
      length += codePointLength(line);
    }
  }
  return lines.join("\n");
}

/** Sorts the most important first, then the newest. The sort is stable, as Python's is: equal drawers keep their order. */
export function byWeight(drawers: readonly Drawer[]): Drawer[] {
  const rated = drawers.map((drawer) => ({
    drawer,
    weight: weightOf(drawer),
    filedAt: textOf(drawer.metadata["filed_at"]),
  }));
  rated.sort((a, b) => b.weight - a.weight || compareText(b.filedAt, a.filedAt));
  return rated.map(({ drawer }) => drawer);
}

/** Returns the number under the first weight key in the metadata, or the default weight for any other value. */
function weightOf({ metadata }: Drawer): number {
  const key = WEIGHTS.find((one) => metadata[one] !== undefined);
  const value = key === undefined ? NaN : metadata[key];
  const number = typeof value === "string" && value.trim() === "" ? NaN : Number(value);
  return Number.isNaN(number) ? WEIGHT_DEFAULT : number;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : String(value);
}
