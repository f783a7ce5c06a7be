/** `palace repair`: rebuilds everything that is made from the ledger. */
import type { JsonObject } from "../../protocol/spec.ts";
import { reportCancelled, runJob } from "../report/job.ts";
import { type Output, plural } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace repair

Rebuilds the ledger's indexes (words, counts, short forms of vectors), and the public palace that MemPalace opens. It builds the
new palace beside the old one, verifies it by count and hash, renames it into place and keeps the old one. Agents may go on: reads
do not wait, writes wait while the index of words is made. If it is killed, the old or the new palace is there; run it again.`,
  forOwner: true,
  run: async ({ config, out }) => {
    const result = await runJob(config, { kind: "repair" }, out);
    if (result === undefined) return reportCancelled(out);
    return out.answer(result, () => print(result as unknown as Repaired, out));
  },
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
type Repaired = JsonObject &
  Rebuilt & { ledger: { placesCorrected: number; codesCorrected: number; queuedAgain: number } };

function print({ ledger, ...rest }: Repaired, out: Output): void {
  const { placesCorrected, codesCorrected, queuedAgain } = ledger;
  const corrected = [
    ...(placesCorrected === 0 ? [] : [`${plural(placesCorrected, "count")} corrected`]),
    ...(codesCorrected === 0 ? [] : [`${plural(codesCorrected, "short form")} of a vector corrected`]),
    ...(queuedAgain === 0 ? [] : [`${plural(queuedAgain, "drawer")} queued for a vector again`]),
  ];
  out.text(
    `ledger: index of words made anew; ${corrected.length === 0 ? "nothing else was wrong" : corrected.join(", ")}`,
  );
  printRebuilt(rest, out);
}

/** Prints the state of the public palace; also used by `palace repair migrate`. */
export function printRebuilt({ driver, palace }: Rebuilt, out: Output): void {
  if (driver === "none") out.text("palace: none is kept (MEMPALACE_DRIVER); an existing one was left alone");
  if (driver === "chroma")
    out.text(out.spelled("palace: every drawer is sent to Chroma again; `palace status` tells how far"));
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
