/** `mempalace split DIR` splits each transcript of several sessions into one file per session, with upstream's output. */
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  findTranscripts,
  splitTranscript,
  type SplitResult,
  type Transcript,
} from "../../feeders/convo-miner/split-files.ts";
import type { KnownPeople } from "../../feeders/convo-miner/split.ts";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { realPath } from "../../base/real-path.ts";
import { readText } from "../../base/regular-file.ts";
import { wrongUsage } from "../../base/errors.ts";
import { type Output, printable } from "../terminal/output.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";

const RULE_WIDTH = 60;
const SESSIONS_MIN = 2;

export const verb = defineVerb({
  usage: `mempalace split DIR [--output-dir DIR] [--dry-run] [--min-sessions N]

Splits the .txt files of a folder that hold several Claude Code sessions into one file per session, before you mine them with
--mode convos. Keeps each original beside them, with the ending .mega_backup. Overwrites no file and follows no link.`,
  options: options("output-dir= dry-run min-sessions="),
  args: [1, 1],
  place: "any",
  run: ({ values, args: [dir = ""], config: { paths }, out }) => {
    const sessionsMin = readCount(values["min-sessions"], "min-sessions", SESSIONS_MIN);
    const isDryRun = values["dry-run"] === true;
    // A missing folder has no transcripts, as in upstream.
    const source = realPath(dir) ?? resolve(dir);
    const say = (line: string): void => (out.isJson ? undefined : out.text(line));
    const found = findTranscripts(source, sessionsMin, (name, why) => say(`  SKIP: ${printable(name)} ${why}`));
    if (found.length === 0) {
      const none = `No mega-files found in ${source} (min ${sessionsMin} sessions).`;
      return out.answer({ source, dryRun: isDryRun, files: [], created: 0 }, none);
    }
    const given = values["output-dir"];
    const outputDir = given === undefined || given === "" ? source : resolve(given);
    if (statSync(outputDir, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw wrongUsage(`--output-dir: there is no folder ${outputDir}`, `mkdir -p ${outputDir}`);
    const rule = "-".repeat(RULE_WIDTH);
    const head = [
      `\n${"=".repeat(RULE_WIDTH)}`,
      `  Mega-file splitter -- ${isDryRun ? "DRY RUN" : "SPLITTING"}`,
      "=".repeat(RULE_WIDTH),
      `  Source:      ${source}`,
      `  Output:      ${given === undefined || given === "" ? "same dir as source" : given}`,
      `  Mega-files:  ${found.length}`,
      `${rule}\n`,
    ];
    say(head.join("\n"));
    const people = readPeople(join(dirname(paths.knownEntitiesFile), "known_names.json"));
    const files = found.map((one) => {
      const kib = Math.floor(one.stats.size / 1024);
      say(`  ${printable(basename(one.path))}  (${one.sessions} sessions, ${kib}KB)`);
      const result = splitTranscript(one, { outputDir, isDryRun, people });
      if (!out.isJson) print(one, result, isDryRun, out);
      const written = result.written.map(({ file, lines }) => ({ file, lines }));
      return { file: basename(one.path), ...result, sessions: one.sessions, written };
    });
    const created = files.reduce((sum, { written }) => sum + written.length, 0);
    const done = isDryRun ? "DRY RUN -- would create" : "Done -- created";
    const sum = `${rule}\n  ${done} ${created} files from ${files.length} mega-files\n`;
    return out.answer({ source, dryRun: isDryRun, files, created }, sum);
  },
});

function print({ path, sessions }: Transcript, result: SplitResult, isDryRun: boolean, out: Output): void {
  for (const { at, file, lines } of result.written)
    out.text(
      isDryRun
        ? `  [${at}/${sessions}] ${printable(file)}  (${lines} lines)`
        : `  + ${printable(file)}  (${lines} lines)`,
    );
  out.text(result.backup === undefined ? "" : `  -> Original renamed to ${printable(result.backup)}\n`);
  if (result.leftLines > 0 && result.written.length > 0)
    out.notice(
      `  ${result.leftLines} lines outside a session, or in one under ten lines, are only in ${result.backup ?? basename(path)}`,
    );
}

/** An unusable file counts as missing. */
function readPeople(file: string): KnownPeople {
  const texts = (value: unknown): string[] =>
    Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
  const known = parseJson(readText(file) ?? "");
  if (!isRecord(known)) return { names: texts(known), usernames: {} };
  const map = isRecord(known["username_map"]) ? known["username_map"] : {};
  const usernames = Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return { names: texts(known["names"]), usernames: Object.fromEntries(usernames) };
}
