/** `mempalace compress` lets the broker make and file AAAK summaries of drawers, with upstream's output. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { CompressedDrawer, NamePair } from "../../protocol/compress.ts";
import { type PalaceError, unreadable } from "../../base/errors.ts";
import { isRecord } from "../../base/parse-json.ts";
import { harmless, type Output, printable } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";
import { explainNoPalace, isWithoutPalace, oneDecimal, pythonFloat, thousands } from "./format.ts";

const CONFIG = "entities.json";
const CHARS_PER_TOKEN = 3.8;
const EXIT_FAILED = 1;

export const verb = defineVerb({
  usage: `mempalace compress [--wing W] [--dry-run] [--config FILE]

Makes a summary of every drawer in AAAK and files it among the closets, under the drawer's id; the drawers stay unchanged. FILE
is JSON with codes for names, {"entities": {"Alice": "ALC"}}; the default is entities.json of this folder or of the palace.`,
  options: options("wing= dry-run config="),
  place: "any",
  run: async ({ values, config, connect, out }) => {
    const wing = values.wing === "" ? undefined : values.wing;
    const isDryRun = values["dry-run"] === true;
    const say = (line: string): void => (out.isJson ? undefined : out.text(line));
    const file = findConfig(values.config, config.paths.palaceDir);
    const names = file === undefined ? [] : readNames(file);
    if (isWithoutPalace(config, out)) return EXIT_FAILED;
    if (file !== undefined) say(`  Loaded entity config: ${file}`);
    else if (values.config !== undefined) out.notice(`  ${values.config} is not a file; no name has its own code`);
    const client = await connect("mempalace compress");
    const status = (await client.callTool("mempalace_status", {})) as { error?: string };
    if (status.error !== undefined) {
      if (out.isJson) out.document({ error: { code: "PALACE_NOT_FOUND", message: status.error, hint: "" } });
      else explainNoPalace(out, config.paths.palaceDir);
      return EXIT_FAILED;
    }
    const place = wing === undefined ? "" : ` in wing '${wing}'`;
    const totals = { drawers: 0, stored: 0, originalChars: 0, chars: 0 };
    for (;;) {
      const page = await client.call("closet.compressPreview", {
        offset: totals.drawers,
        names,
        ...(wing !== undefined && { wing }),
      });
      if (totals.drawers === 0 && page.drawers.length === 0)
        return out.answer(totals, `\n  No drawers found${printable(place)}.`);
      if (totals.drawers === 0) say(`\n  Compressing ${page.total} drawers${printable(place)}...\n`);
      if (page.drawers.length === 0) break;
      totals.drawers += page.drawers.length;
      for (const drawer of page.drawers) {
        totals.originalChars += drawer.originalChars;
        totals.chars += drawer.chars;
        if (isDryRun && !out.isJson) print(drawer, out);
      }
      if (isDryRun) continue;
      const ids = page.drawers.map(({ id }) => id);
      totals.stored += (await client.call("closet.compress", { ids, names })).stored;
    }
    if (!isDryRun) say(`  Stored ${totals.stored} compressed drawers in 'mempalace_closets' collection.`);
    const [before, after] = [totals.originalChars, totals.chars].map((chars) => thousands(estimate(chars)));
    const ratio = oneDecimal(totals.originalChars / Math.max(totals.chars, 1));
    say(`  Total: ${before}t -> ${after}t (${ratio}x compression)`);
    if (isDryRun) say("  (dry run -- nothing stored)");
    if (out.isJson) out.document({ ...totals, dryRun: isDryRun });
    return 0;
  },
});

function print({ wing, room, sourceFile, summary, ...figures }: CompressedDrawer, out: Output): void {
  const name = sourceFile.split("/").findLast((part) => part !== "" && part !== ".") ?? "";
  out.text(
    [
      `  [${printable(wing)}/${printable(room)}] ${printable(name)}`,
      `    ${figures.originalTokens}t -> ${figures.tokens}t (${pythonFloat(figures.ratio)}x)`,
      `    ${harmless(summary)}`,
      "",
    ].join("\n"),
  );
}

function estimate(chars: number): number {
  return Math.max(1, Math.trunc(chars / CHARS_PER_TOKEN));
}

function findConfig(given: string | undefined, palaceDir: string): string | undefined {
  const places = given === undefined || given === "" ? [CONFIG, join(palaceDir, CONFIG)] : [given];
  return places.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}

/** Returns every name as written and in lower case: upstream looks up both. Errors: FEEDER_SOURCE_UNREADABLE. */
function readNames(file: string): NamePair[] {
  const refuse = (why: string, cause?: unknown): PalaceError =>
    unreadable(`${file}: ${why}`, `write it as {"entities": {"Alice": "ALC"}}`, cause);
  let config: unknown;
  try {
    config = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file)));
  } catch (error) {
    throw refuse((error as Error).message, error);
  }
  if (!isRecord(config)) throw refuse("it is not a JSON object");
  const entities = config["entities"] ?? {};
  if (!isRecord(entities)) throw refuse("entities is not an object");
  const codes = new Map<string, string>();
  for (const [name, code] of Object.entries(entities)) {
    if (typeof code !== "string") throw refuse(`the code of ${name} is not a text`);
    codes.set(name, code).set(name.toLowerCase(), code);
  }
  return [...codes];
}
