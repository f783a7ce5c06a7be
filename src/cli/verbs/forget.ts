/** `palace forget` erases drawers so that no undo brings them back, and lists the files that still contain their text. */
import { existsSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { readList } from "../../memory/backup/known-backups.ts";
import type { Client } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { namesOf } from "../../feeders/doc-miner/filed-as.ts";
import { EXIT_CODES, PalaceError, unwritable, wrongUsage } from "../../base/errors.ts";
import type { ErasureReport, ForgetPreview, ForgetSelector } from "../../protocol/hygiene.ts";
import { EXIT_INTERRUPTED, placeOf } from "../feeding/feeding.ts";
import { findTraces, removeTraces, stillHolds, type Trace, removalHints } from "../report/traces.ts";
import { backUp } from "../report/take-backup.ts";
import { wholeIdToErase } from "../terminal/drawer.ts";
import { confirm, readPassphrase } from "../terminal/confirm.ts";
import { type Output, plural, shorten } from "../terminal/output.ts";
import { readUtf8 } from "../terminal/utf8.ts";
import { defineVerb, options, usageError } from "../define-verb.ts";

const USAGE = `palace forget DRAWER_ID... | --source FILE | --match TEXT|- [--dry-run] [--yes] [--rewrite-backups]

Erases drawers by their ids, all drawers of one source, or all that contain a text. It erases them from the ledger with its journal, full
text, vectors and free pages, the public palace with its queue and index, the graph, spooled writes and staged copies. This cannot be
undone. Then it lists the files that still contain the text: backups, logs, and sources, which would be filed again.
--rewrite-backups replaces the backups that contain it by new ones, made from the present memory.
--match - reads the text from stdin, so that no shell keeps it in its history. --dry-run only lists. docs/how-to/forget.md says more.`;

const WAIT_MS = 25_000;
/** Maximum number of waits for the erasure before the command reports what blocks it. */
const ATTEMPTS_MAX = 8;
const PREVIEW_COLUMNS = 60;
const SHOWN_MAX = 20;
const ELSEWHERE = "other drawers that you did not name contain the same words; --match TEXT finds them all";

export const verb = defineVerb({
  usage: USAGE,
  options: options("source= match= dry-run yes|y rewrite-backups"),
  args: [0, Infinity],
  forOwner: true,
  run: async ({ values, args, config, connect, out }) => {
    const asked = await readSelector(args, values.source, values.match);
    const client = await connect("palace forget");
    const selector = await wholeSelector(client, config, asked);
    const preview = await client.call("memory.forgetPreview", selector);
    const none = "source" in selector && preview.total === 0 ? noneFrom(selector.source) : undefined;
    if (none !== undefined && values.yes !== true && values["dry-run"] !== true) throw none;
    if (none !== undefined) out.notice(none.message);
    if (values["dry-run"] === true) {
      const files = findTraces(config, preview);
      const { traces: _pieces, marks: _marks, ids: _ids, ...shown } = preview;
      out.answer({ ...shown, files }, () => {
        tellPreview(preview, out);
        tellFiles("Now in", files, out);
      });
      return none?.exitCode ?? 0;
    }
    if (!out.isJson) tellPreview(preview, out);
    const isSure = await confirm(`Erase ${plural(preview.total, "drawer row")} permanently?`, values.yes);
    if (!isSure) return 0;
    const stopTelling = tellOfInterrupt(out);
    const done = await client.call("memory.forget", selector);
    const erased = await untilErased(client);
    stopTelling();
    const { removed, ...found } = clean(config, preview, selector);
    // The forgotten drawers are no longer in the ledger. If the ledger's file still has the words, they are in drawers that are kept.
    const isOther = ({ path, what }: Trace): boolean =>
      erased.pending === 0 && what === "live" && isLedger(config, path);
    const left = found.left.filter((trace) => !isOther(trace));
    if (left.length < found.left.length) erased.notes.push(ELSEWHERE);
    erased.notes.push(...piped(config));
    const rewritten = values["rewrite-backups"] === true ? await rewriteBackups(config, left, out) : [];
    // A rebuilt backup may still contain the words, in a drawer that is kept.
    const cleaned = new Set(rewritten.filter((trace) => !stillHolds(trace, preview)).map(({ path }) => path));
    const standing = left.filter(({ path }) => !cleaned.has(path));
    out.answer({ ...done, ...erased, removed, rewritten, left: standing }, () => {
      out.text(
        `Forgotten: ${plural(done.drawers, "drawer row")}, ${plural(done.facts, "fact")}, ${plural(done.links, "link")}${graphRows(done)}; ` +
          `${plural(done.journalRows, "journal row")} and ${plural(done.images, "before-image")} cleaned.`,
      );
      tellFiles("Removed", removed, out);
      tellFiles("Rebuilt", rewritten, out);
      tellFiles("Still in", standing, out);
      for (const line of removalHints(standing)) out.hint(line);
      for (const note of erased.notes) out.notice(note);
    });
    if (erased.pending === 0) return none?.exitCode ?? 0;
    for (const problem of erased.problems) out.notice(problem);
    out.notice("forgotten, but still in some files; the broker continues to erase. Repeat the command to look again");
    return EXIT_CODES.STORE;
  },
});

/** Replaces short ids by whole ids, and a file's path by the name under which the file's drawers are filed. */
async function wholeSelector(client: Client, config: Config, asked: ForgetSelector): Promise<ForgetSelector> {
  if ("source" in asked) return findSource(client, config, asked.source);
  return "ids" in asked ? { ids: await Promise.all(asked.ids.map((id) => wholeIdToErase(client, id))) } : asked;
}

/** Returns a line that counts the backups that went into a pipe, because no command can find them. */
function piped({ paths }: Config): string[] {
  const made = readList(paths.home).backups.filter(({ file }) => file === null);
  const last = made.at(-1);
  if (last === undefined) return [];
  const when = new Date(last.madeAtMs).toISOString();
  return [
    `${plural(made.length, "backup")} went into a pipe, the last one ${when}: the palace does not know their files`,
  ];
}

/** Rebuilds our own backups among the files that contain the text, even an encrypted backup if its passphrase is known. */
async function rewriteBackups(config: Config, left: readonly Trace[], out: Output): Promise<Trace[]> {
  const rewritten: Trace[] = [];
  const ours = new Map(readList(config.paths.home).backups.map((one) => [one.file ?? "", one]));
  const real = new Map([...ours.keys()].filter(existsSync).map((file) => [realpathSync(file), file]));
  for (const trace of left) {
    const file = real.get(trace.path);
    if (file === undefined) continue;
    const isEncrypted = ours.get(file)?.encrypted === true;
    const passphrase = isEncrypted ? await readPassphrase(config, undefined, false) : undefined;
    if (isEncrypted && passphrase === undefined)
      out.notice(`${file} is encrypted: MEMPALACE_BACKUP_PASSPHRASE_FILE=FILE palace backup ${file} --force`);
    else if (await isRewritten(config, file, passphrase, out)) rewritten.push(trace);
  }
  return rewritten;
}

/** Makes a backup again without the forgotten text. Returns false after a failure, and prints a notice. */
async function isRewritten(
  config: Config,
  file: string,
  passphrase: string | undefined,
  out: Output,
): Promise<boolean> {
  try {
    return (await backUp(config, { file, passphrase, replace: true }, out)) !== undefined;
  } catch (error) {
    out.notice(`${file} was not rebuilt: ${(error as Error).message}`);
    return false;
  }
}

function isLedger({ paths: { ledgerFile } }: Config, path: string): boolean {
  return basename(path).startsWith(basename(ledgerFile)) && dirname(path) === realpathSync(dirname(ledgerFile));
}

/** Returns the source name under which the file's drawers are filed, for example the path of a staged copy. Errors: CONFIG_USAGE. */
async function findSource(client: Client, config: Config, file: string): Promise<{ source: string }> {
  const names = namesOf(file, placeOf(config));
  const filed: string[] = [];
  for (const source of names) if ((await client.call("memory.forgetPreview", { source })).total > 0) filed.push(source);
  if (filed.length > 1)
    throw wrongUsage(
      `${file} is filed under ${filed.length} names: ${filed.join(", ")}`,
      `palace forget --source ${filed[0]}, then the same for the other names`,
    );
  return { source: filed[0] ?? file };
}

/** Makes the error for a source without drawers. Its hint is `--yes`, which erases the source's deleted texts from the journal. */
function noneFrom(source: string): PalaceError {
  const hint = `nothing was erased; palace mine why ${source} gives the reason; to clean the journal of it anyway: --yes`;
  return new PalaceError("PROTOCOL_BAD_PARAMS", `no drawer is filed from ${source}`, hint);
}

async function readSelector(ids: string[], source?: string, match?: string): Promise<ForgetSelector> {
  if ([ids.length > 0, source !== undefined, match !== undefined].filter(Boolean).length !== 1)
    throw usageError(USAGE, "give either drawer ids, --source or --match");
  if (source !== undefined) return { source };
  if (match === undefined) return { ids };
  return { match: match === "-" ? (await readUtf8(process.stdin)).replace(/\n$/, "") : match };
}

/** Lets Ctrl-C end the command while the broker continues to erase. Returns a function that removes this handler. */
function tellOfInterrupt(out: Output): () => void {
  const leave = (): never => {
    out.notice("The broker continues to erase; repeat the command to see what is left.");
    process.exit(EXIT_INTERRUPTED);
  };
  process.once("SIGINT", leave);
  return () => process.off("SIGINT", leave);
}

/** Waits for the erasure. If the broker dies meanwhile, the next call starts another broker, which continues. */
async function untilErased(client: Client): Promise<ErasureReport> {
  let report: ErasureReport = { pending: 1, problems: [], notes: [] };
  for (let attempt = 0; attempt < ATTEMPTS_MAX && report.pending > 0; attempt++) {
    if (report.problems.length > 0) await new Promise((resolve) => setTimeout(resolve, 1_000));
    report = await client.call("memory.erasure", { waitMs: WAIT_MS });
  }
  return report;
}

function clean(config: Config, preview: ForgetPreview, selector: ForgetSelector): { removed: Trace[]; left: Trace[] } {
  try {
    const traces = removeTraces(
      findTraces(config, preview),
      preview.traces.concat(preview.ids ?? []),
      // With --match, we remove every staged copy that contains the text, from any source.
      "match" in selector ? undefined : preview.sources,
    );
    // A wake-up text may quote any drawer, so we remove all wake-up texts. A new session gets a new text.
    rmSync(join(config.paths.cacheDir, "wake-up"), { recursive: true, force: true });
    return traces;
  } catch (cause) {
    throw unwritable(
      `a file of this machine has the text and cannot be changed: ${(cause as Error).message}`,
      "make it writable and repeat the command",
      cause,
    );
  }
}

function graphRows({ carried = 0 }: { carried?: number }): string {
  return carried === 0 ? "" : `, ${plural(carried, "row")} of a Roampal's graphs`;
}

function tellPreview(preview: ForgetPreview, out: Output): void {
  const { drawers, total, missing, facts, links } = preview;
  out.table(
    drawers
      .slice(0, SHOWN_MAX)
      .map(({ drawer_id: id, wing, room, preview: text }) => [id, wing, room, shorten(text, PREVIEW_COLUMNS)]),
  );
  if (total > SHOWN_MAX) out.text(`… and ${total - SHOWN_MAX} more`);
  out.text(`${plural(total, "drawer row")}, ${plural(facts, "fact")}, ${plural(links, "link")}${graphRows(preview)}.`);
  for (const id of missing)
    out.notice(`no drawer ${id}: its text in the journal and in the palace's log is erased all the same`);
}

function tellFiles(title: string, traces: readonly Trace[], out: Output): void {
  if (traces.length === 0) return;
  out.text(`${title}:`);
  out.table(traces.map(({ path, what }) => [`  ${what}`, path]));
}
