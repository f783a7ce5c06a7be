/** Answer of the tool `mine`: upstream's fields, its summary as `output`, and our own figures. */
import { isRecord, parseAs } from "../../base/parse-json.ts";
import type { JobEnd, Step } from "./job.ts";
import type { MineRequest, Refusal } from "./request.ts";

/** Maximum length of `output`, as in upstream. */
const OUTPUT_MAX = 4_000;
const FAILED_SHOWN_MAX = 20;
const RULE = "=".repeat(55);
const EXIT_PARTIAL = 8;

/** Fields that we read in the JSON of `palace mine … --json`. */
type Document = {
  wing?: string;
  files?: number;
  filed?: number;
  unchanged?: number;
  drawers?: number;
  skipped?: { file: string; reason: string }[];
  wouldFile?: string[];
  interrupted?: boolean;
  error?: { code: string; message: string; hint: string };
};

/** Returns the answer for a mine that still runs; the same call again waits for the mine's end. */
export function running({ mode, dryRun }: MineRequest, steps: readonly Step[]): Record<string, unknown> {
  const last = steps.at(-1);
  return {
    ...{ success: true, mode, dry_run: dryRun, status: "running", done: last?.done ?? 0, total: last?.total ?? 0 },
    ...clipped(`${steps.map(lineOf).join("\n")}\n`),
    hint: "the mine continues in the background; repeat the same call to wait for its end and get the result",
  };
}

export function finished(request: MineRequest, end: JobEnd, steps: readonly Step[]): Record<string, unknown> | Refusal {
  const { mode, dryRun } = request;
  const document = parse(end.stdout);
  const { error } = document ?? {};
  if (end.ended !== undefined || end.code === 130)
    return {
      ...{ success: false, error: `mine exited early (${end.ended ?? "interrupted"})`, error_class: "Interrupted" },
      ...(document !== undefined && clipped(summary(request, document, steps))),
      hint: "the same call again files the rest",
    };
  if (document === undefined)
    return {
      success: false,
      error: `mine failed: ${end.stderr.trim() || `exit ${end.code}`}`,
      error_class: "RuntimeError",
    };
  if (end.code !== 0 && end.code !== EXIT_PARTIAL)
    return {
      success: false,
      error: error?.message ?? "mine failed",
      error_class: error?.code ?? "RuntimeError",
      hint: error?.hint,
    };
  const { wing, files = 0, filed = 0, unchanged = 0, drawers = 0, skipped = [] } = document;
  const failed = skipped.filter(({ reason }) => /cannot be read|refused by the broker/.test(reason));
  return {
    ...{ success: true, mode, dry_run: dryRun },
    ...clipped(summary(request, document, steps)),
    ...{ status: "done", wing, files, filed, unchanged, drawers, skipped: skipped.length },
    ...(end.code === EXIT_PARTIAL && {
      ...{ success: false, error: error?.message ?? "some files could not be filed", error_class: "MineFileErrors" },
      ...{ files_failed: failed.length, failed_files: failed.slice(0, FAILED_SHOWN_MAX).map(({ file }) => file) },
    }),
  };
}

function summary({ dryRun }: MineRequest, document: Document, steps: readonly Step[]): string {
  const { wing = "", files = 0, filed = 0, unchanged = 0, drawers = 0, skipped = [], wouldFile = [] } = document;
  return [
    ...[RULE, "  MemPalace Mine", RULE, `  Wing:    ${wing}`, `  Files:   ${files}`],
    ...(dryRun
      ? ["  DRY RUN -- nothing will be filed", ...wouldFile.map((name) => `    [DRY RUN] ${name}`)]
      : steps.map(lineOf)),
    ...["", RULE, "  Done.", `  Files processed: ${dryRun ? wouldFile.length : filed}`],
    `  Files skipped (already filed or other): ${unchanged + skipped.length}`,
    ...[`  Drawers filed: ${drawers}`, RULE, ""],
  ].join("\n");
}

function lineOf({ done, total, name, drawers }: Step): string {
  return drawers === undefined ? `  = [${done}/${total}] ${name}` : `  + [${done}/${total}] ${name} +${drawers}`;
}

/** Cuts a long output at its beginning, because the end has the outcome. */
function clipped(output: string): Record<string, unknown> {
  const points = Array.from(output);
  if (points.length <= OUTPUT_MAX) return { output };
  return { output: points.slice(-OUTPUT_MAX).join(""), output_truncated: true };
}

function parse(stdout: string): Document | undefined {
  return parseAs(stdout, isRecord);
}
