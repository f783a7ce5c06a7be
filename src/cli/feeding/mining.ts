/** The summary of the commands that file transcripts. Imported by verb/convos.ts and verb/sessions.ts. */
import type { MineReport } from "../../feeders/convo-miner/run.ts";
import { PalaceError } from "../../base/errors.ts";
import { EXTRACT_MODES, type ExtractMode } from "../../protocol/filing.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import { EXIT_INTERRUPTED, EXIT_PARTIAL, INTERRUPTED, SKIPS_SHOWN_MAX } from "./feeding.ts";

type Outcome = Omit<MineReport, "wing" | "files">;

export type EndOptions<R extends Outcome> = {
  isQuiet: boolean;
  command: string;
  print: (report: R, out: Output) => void;
};

/** Prints the report and returns the exit code. */
export function endMine<R extends Outcome>(out: Output, report: R, { isQuiet, command, print }: EndOptions<R>): number {
  const unread = `${plural(report.failed, "transcript")} could not be read or filed`;
  if (out.isJson) out.document(toDocument(report, unread));
  else if (!isQuiet) print(report, out);
  if (report.interrupted) return EXIT_INTERRUPTED;
  if (report.failed === 0) return 0;
  if (!out.isJson) {
    out.notice(`${command}: ${unread}`);
    out.notice("  correct them and run it again");
  }
  return EXIT_PARTIAL;
}

function toDocument({ failed, dryRun, wouldFile, interrupted, ...report }: Outcome, unread: string): object {
  if (dryRun) return { ...report, dryRun, wouldFile };
  if (interrupted) return { ...report, interrupted };
  if (failed === 0) return report;
  return { ...report, error: { code: "FEEDER_PARTIAL", message: unread, hint: "correct them and run it again" } };
}

/** Errors: CONFIG_USAGE. */
export function readExtract(value: string | undefined): ExtractMode {
  const mode = EXTRACT_MODES.find((one) => one === (value ?? "exchange"));
  if (mode !== undefined) return mode;
  throw new PalaceError("CONFIG_USAGE", `--extract does not know ${value}`, `--extract ${EXTRACT_MODES.join("|")}`);
}

/** `head` names what was examined. */
export function printOutcome(report: Outcome, out: Output, head: string): void {
  for (const name of report.wouldFile ?? []) out.text(`  would file    ${printable(name)}`);
  for (const { file, reason } of report.skipped.slice(0, SKIPS_SHOWN_MAX))
    out.text(`  skipped       ${printable(file)}: ${printable(reason)}`);
  if (report.skipped.length > SKIPS_SHOWN_MAX)
    out.text(`  skipped       ${report.skipped.length - SKIPS_SHOWN_MAX} more (--json lists all)`);
  const done = report.dryRun
    ? `${report.wouldFile?.length ?? 0} to file`
    : `${report.filed} filed (${plural(report.drawers, "drawer")} new or changed, ${report.kept} kept)`;
  out.text(`${head}, ${done}, ${report.unchanged} unchanged, ${report.skipped.length} skipped`);
  if (report.interrupted) out.text(INTERRUPTED);
}
