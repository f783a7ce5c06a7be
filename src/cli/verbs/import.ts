/** `palace import FILE|DIR` merges another memory into the running one. */
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { openOtherMemory } from "../../memory/backup/other-memory.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { armFault, faultPoint } from "../../base/fault-point.ts";
import { IMPORT_KINDS } from "../../protocol/import.ts";
import { makeLedgerOf } from "../../mempalace/adopt/as-ledger.ts";
import { EXIT_INTERRUPTED, withInterrupt } from "../feeding/feeding.ts";
import { counted, importMemory, type Joined } from "../feeding/import-memory.ts";
import { reportCancelled, watchBytes } from "../report/job.ts";
import { firstNames, plural } from "../terminal/output.ts";
import { readPassphrase } from "../terminal/confirm.ts";
import { defineVerb, options } from "../define-verb.ts";

const SOURCES = { backup: "a backup", home: "a palace's home", mempalace: "files of MemPalace" } as const;

export const verb = defineVerb({
  usage: `palace import FILE|DIR [--dry-run] [--passphrase-file FILE]

Merges another memory into the running one: a backup (FILE), or a palace's home, an export or a palace of MemPalace (DIR),
which is only read. It imports drawers, diaries, outcomes, facts, tunnels, the journal and the index of mined files with their ids,
texts, times, wings and rooms. Existing drawers stay as they are, so importing twice adds nothing. A drawer that was changed on both sides
is filed a second time beside yours. Agents may work meanwhile. After Ctrl-C or a kill the same command continues. One command
undoes the import.

  --dry-run               list what would be imported, and what is here already; change nothing
  --passphrase-file FILE  the first line of FILE is the backup's passphrase (else MEMPALACE_BACKUP_PASSPHRASE_FILE, -PASSPHRASE, else asked)`,
  options: options("dry-run passphrase-file="),
  args: [1, 1],
  place: ({ values }) => (values["dry-run"] === true ? "there" : "anew"),
  forOwner: true,
  run: async ({ values, args, config, connect, out }) => {
    armFault(config.fault);
    const from = resolve(args[0] ?? "");
    const other = await watchBytes(out, "reading ", (watch) =>
      openOtherMemory(from, {
        ...watch,
        cacheDir: config.paths.cacheDir,
        ownFiles: isElsewhere(config) ? [] : [config.paths.ledgerFile, join(config.paths.palaceDir, "chroma.sqlite3")],
        makeLedger: (folder, file) => makeLedgerOf(folder, file, config.collection()),
        passphrase: () => readPassphrase(config, values["passphrase-file"], false),
      }),
    );
    if (other === undefined) return reportCancelled(out);
    faultPoint("import.after-open");
    try {
      const client = await connect(importerOf(from));
      const how = { from, isDry: values["dry-run"] === true, silent: out.isJson };
      const joined = await withInterrupt((signal) => importMemory(client, other, { ...how, signal }), {
        onStop: () => (out.isJson ? undefined : out.notice("Stopping after the part that is being sent.")),
      });
      out.answer(joined, out.spelled(describe(joined)));
      return joined.complete ? 0 : EXIT_INTERRUPTED;
    } finally {
      other.close();
    }
  },
});

/** Returns the journal's client name for this import. All imports from one path have the same name, so one undo removes them all. */
function importerOf(from: string): string {
  return `palace import ${createHash("sha256").update(from).digest("hex").slice(0, 8)}`;
}

function describe(joined: Joined): string {
  const { from, kind, dryRun, complete, rows, kept, keptSources, gone, beside, refused, notImported, undo } = joined;
  const would = dryRun ? "would be " : "";
  const listed = (of: "added" | "updated" | "here"): string =>
    IMPORT_KINDS.filter((one) => one !== "source" && rows[one][of] > 0)
      .map((one) => counted(one, rows[one][of]))
      .join(", ");
  const [added, updated, here] = [listed("added"), listed("updated"), listed("here")];
  const others = Object.entries(notImported).map(([what, count]) => `${count} ${what}`);
  const lines: [isShown: boolean, line: string][] = [
    [added !== "", `${would}added: ${added}`],
    [updated !== "", `${would}updated, since the other memory has a newer state: ${updated}`],
    [added + updated === "" && complete, "nothing to add: everything is here"],
    [here !== "", `here already: ${here}`],
    [beside.length > 0, `changed on both sides, ${would}filed beside yours: ${named(beside.map(({ id }) => id))}`],
    [kept.length > 0, `changed here, so not replaced: ${named(kept)}`],
    [
      keptSources.length > 0,
      `mined files that are here in another version, so not replaced (palace mine reads the newest): ${named(keptSources)}`,
    ],
    [gone.length > 0, `imported before and deleted here since, so not imported again: ${named(gone)}`],
    [refused.length > 0, `refused: ${named(refused.map(({ id, why }) => `${id}, ${why}`))}`],
    [others.length > 0, `not imported: ${others.join(", ")}`],
    [!complete, "interrupted; the same command continues it"],
    [undo !== null, `to undo all of it: palace history undo --client "${undo?.client}" --since ${undo?.since}`],
  ];
  const title = `${from} (${SOURCES[kind]}):`;
  return [title, ...lines.flatMap(([isShown, line]) => (isShown ? [`  ${line}`] : []))].join("\n");
}

function named(names: readonly string[]): string {
  return `${plural(names.length, "item")}: ${firstNames(names)}`;
}
