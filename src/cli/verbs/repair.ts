/** Implements `palace repair`, `repair migrate` and `repair compact`; each is one job of the broker. */
import { answerJob } from "../report/job.ts";
import { formatBytes, type Output, plural } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace repair

Rebuilds the ledger's indexes (words, counts, short forms of vectors), and the public palace that MemPalace opens. It builds the
new palace beside the old one, verifies it by count and hash, renames it into place and keeps the old one. Agents may work meanwhile:
reads do not wait, writes wait while the index of words is made. After a kill, the old or the new palace is in place; run it again.`,
  forOwner: true,
  run: ({ config, out }) => answerJob<Repaired>(config, { kind: "repair" }, out, (result) => print(result, out)),
});

export const migrate = defineVerb({
  usage: `palace repair migrate [--dry-run]

Tests whether rows can be written, read and deleted in the public palace as it is; if not, rebuilds the palace from the ledger as
\`palace repair\` does, and keeps the old one. Changes nothing if the palace works.

  --dry-run   only say whether it is needed, and why`,
  options: options("dry-run"),
  forOwner: true,
  run: ({ values, config, out }) =>
    answerJob<Migrated>(config, { kind: "migrate", dryRun: values["dry-run"] === true }, out, (result) => {
      const { needed, why, driver, palace = null } = result;
      out.text(needed ? `Needed: ${why ?? ""}` : "Nothing to do: the palace is usable.");
      if (needed && driver !== undefined) printRebuilt({ driver, palace }, out);
    }),
});

export const compact = defineVerb({
  usage: `palace repair compact

Rewrites the ledger's file without the free space that deleted drawers, undos and replaced sources left in it. Agents may work
meanwhile: reads do not wait, writes wait while the file is written (some seconds for a gigabyte). It needs free disk space of
twice the ledger's size; without that, it says so and changes nothing. You rarely need it: the broker frees most space by itself
while no client writes, and all of it after a forget.`,
  forOwner: true,
  run: ({ config, out }) =>
    answerJob<Compacted>(config, { kind: "compact" }, out, ({ beforeBytes, afterBytes, isLogCut }) => {
      out.text(`ledger: ${formatBytes(beforeBytes)} before, ${formatBytes(afterBytes)} now`);
      if (!isLogCut) out.text("  a process reads its log; one of the next writes shortens the log");
    }),
});

type Rebuilt = {
  driver: "none" | "files" | "chroma";
  palace: {
    drawers: number;
    leftOut: number;
    hash: string;
    kept: string | null;
    unread: string | null;
    others: { name: string; rows: number; unreadable: number }[];
  } | null;
};
type Migrated = { needed: boolean; why: string | null } & Partial<Rebuilt>;
type Compacted = { beforeBytes: number; afterBytes: number; isLogCut: boolean };
type Repaired = Rebuilt & { ledger: { placesCorrected: number; codesCorrected: number; queuedAgain: number } };

function print({ ledger, ...rest }: Repaired, out: Output): void {
  const { placesCorrected, codesCorrected, queuedAgain } = ledger;
  const corrected = [
    ...(placesCorrected === 0 ? [] : [`${plural(placesCorrected, "count")} corrected`]),
    ...(codesCorrected === 0 ? [] : [`${plural(codesCorrected, "short form")} of a vector corrected`]),
    ...(queuedAgain === 0 ? [] : [`${plural(queuedAgain, "drawer")} queued for a vector again`]),
  ];
  out.text(
    `ledger: index of words rebuilt; ${corrected.length === 0 ? "nothing else was wrong" : corrected.join(", ")}`,
  );
  printRebuilt(rest, out);
}

function printRebuilt({ driver, palace }: Rebuilt, out: Output): void {
  if (driver === "none") out.text("palace: not kept (MEMPALACE_DRIVER is none); an existing palace is unchanged");
  if (driver === "chroma")
    out.text(out.spelled("palace: every drawer is sent to Chroma again; `palace status` shows the progress"));
  if (palace === null) return;
  const { drawers, leftOut, hash, kept, unread, others } = palace;
  out.text(
    `palace: ${plural(drawers, "drawer")} written and verified${drawers === 0 ? "" : ` (sha256 ${hash.slice(0, 16)}…)`}`,
  );
  if (leftOut > 0) out.text(`  ${plural(leftOut, "drawer")} without a vector follow when they have one`);
  for (const { name, rows, unreadable } of others)
    out.text(`  ${name}: ${plural(rows, "row")}${unreadable === 0 ? "" : `, ${unreadable} could not be read`}`);
  if (unread !== null) out.text(`  other collections of the old palace could not be read: ${unread}`);
  if (kept !== null) out.text(`  the old palace: ${kept}`);
}
