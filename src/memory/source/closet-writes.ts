/** Rebuilds the closets of mined files from the existing drawers. Conversations have no closets, as in upstream. */
import type { Drawer } from "../port/drawer.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { CLOSET_SOURCES_MAX } from "../../protocol/limits.ts";
import { buildClosets } from "../closet/closets.ts";
import { knownNames } from "../closet/name-words.ts";
import { localTimestamp } from "../text/text.ts";
import { InvalidValue } from "../text/validate.ts";
import { languageList, nameList } from "./source.ts";

/** Maximum overlap of two chunks that is recognised, in characters. Chunks overlap by 100 characters unless configured otherwise. */
const OVERLAP_MAX = 400;
const OVERLAP_MIN = 10;

/** Rebuilds the closets of the given sources from their drawers, tagged with the `knownNames` in them. Errors: PROTOCOL_BAD_PARAMS. */
export function rebuildClosets(tx: LedgerTx, call: WriteCall): unknown {
  const answer = { sources: 0, closets: 0, kept: 0, unfit: 0 };
  const { knownNames: names, languages } = call.params;
  const tagging = { recipe: tx.idRecipe(), known: knownNames(nameList(names)), languages: languageList(languages) };
  for (const sourceFile of sourceList(call.params)) {
    const drawers = minedDrawers(tx.drawersOfSource(sourceFile));
    const [first] = drawers;
    if (first === undefined) answer.unfit += 1;
    else if (tx.closets.isModelMade(sourceFile)) answer.kept += 1;
    else {
      const { wing, room } = first;
      const filedAt = localTimestamp(call.atMs * 1000);
      const content = joined(drawers.map(({ text }) => text));
      const closets = buildClosets({ sourceFile, wing, room, content, drawers, filedAt, ...tagging });
      tx.closets.replace(sourceFile, closets);
      answer.sources += 1;
      answer.closets += closets.length;
    }
  }
  return answer;
}

/** Returns the drawers that a project miner filed, upstream's or ours, in the order of the file. */
function minedDrawers(drawers: readonly Drawer[]): Drawer[] {
  const order = ({ metadata }: Drawer): number => Number(metadata["chunk_index"]);
  return drawers
    .filter(
      ({ metadata }) =>
        metadata["normalize_version"] !== undefined &&
        metadata["ingest_mode"] === undefined &&
        typeof metadata["chunk_index"] === "number",
    )
    .sort((a, b) => order(a) - order(b));
}

/** Joins chunks into the document's text, without the text that each chunk repeats from the chunk before. */
function joined(texts: readonly string[]): string {
  return texts
    .map((text, at) => {
      const before = texts[at - 1];
      if (before === undefined) return text;
      const overlap = overlapOf(before, text);
      return overlap === 0 ? `\n${text}` : text.slice(overlap);
    })
    .join("");
}

/** Returns the length of the beginning of `next` that repeats the end of `before`. */
function overlapOf(before: string, next: string): number {
  for (let length = Math.min(OVERLAP_MAX, before.length, next.length); length >= OVERLAP_MIN; length--)
    if (before.endsWith(next.slice(0, length))) return length;
  return 0;
}

function sourceList(params: Record<string, unknown>): string[] {
  const given = params["sourceFiles"];
  const isList = Array.isArray(given) && given.length <= CLOSET_SOURCES_MAX;
  if (isList && given.every((name) => typeof name === "string" && name !== "")) return given as string[];
  throw new InvalidValue(`sourceFiles must be a list of at most ${CLOSET_SOURCES_MAX} non-empty strings`);
}
