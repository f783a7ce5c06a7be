/**
 * `npm run bench:python [--drawers N] [--full] [--versions 3.3.6,3.11.0] [--parts N] [--calls N] [--only mine|calls]` compares us with the
 * real Python MemPalace, on the same texts and model, in turns, through command line and MCP over stdio. The bars are for 3.3.6. An
 * unchanged re-run has a bar only with --full. Needs the model beside the checkout (../shared/models).
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { realModelDir } from "../helpers/palace.ts";
import { MEMPALACE_VERSIONS, mempalaceMissing, type MempalaceVersion } from "../helpers/python-mempalace.ts";
import { requireBuild } from "./measure.ts";
import { benchCalls } from "./python-calls.ts";
import { benchMine } from "./python-mine.ts";
import type { PythonRow } from "./python-side.ts";

// Turns off the telemetry of onnxruntime, which embeds in this process.
process.env["ORT_DISABLE_TELEMETRY"] = "1";

/** Number of drawers with which the bars were measured. */
const FULL_DRAWERS = 5_245;
/** Number of drawers that both sides together mine in about four minutes on two slow cores. */
const DEFAULT_DRAWERS = 600;
const BARS_OF: MempalaceVersion = "3.3.6";

const { values } = parseArgs({
  options: {
    drawers: { type: "string", default: String(DEFAULT_DRAWERS) },
    full: { type: "boolean", default: false },
    parts: { type: "string", default: "3" },
    calls: { type: "string", default: String(FULL_DRAWERS) },
    versions: { type: "string", default: BARS_OF },
    only: { type: "string" },
  },
});
requireBuild();
if (realModelDir === undefined) {
  process.stderr.write("NOT MEASURED: the comparison needs the model in ../shared/models, which is not there\n");
  process.exit(1);
}
const asked = values.versions.split(",");
const versions = MEMPALACE_VERSIONS.filter((version) => asked.includes(version));
if (versions.length !== asked.length) {
  process.stderr.write(`--versions: some of ${MEMPALACE_VERSIONS.join(",")}\n`);
  process.exit(2);
}
const drawers = values.full ? FULL_DRAWERS : Number(values.drawers);
const parts = Number(values.parts);
const calls = Number(values.calls);

const [cpu] = cpus();
process.stdout.write(
  `${cpus().length} × ${cpu?.model.trim()}, load ${loadavg()[0]?.toFixed(1)}; Node ${process.versions.node}; ` +
    `mine of ${drawers} drawers in ${parts} parts, calls on a palace of ${calls}\n`,
);
let barred = 0;
let misses = 0;
for (const version of versions) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) {
    process.stderr.write(`NOT MEASURED: ${missing}\n`);
    misses += 1;
    continue;
  }
  process.stdout.write(`MemPalace ${version} / palace-devbox\n`);
  const show = (row: PythonRow): void => {
    const holds = row.bar === undefined || row.ratio >= row.bar;
    const isBarred = row.bar !== undefined && version === BARS_OF;
    if (isBarred) barred += 1;
    if (isBarred && !holds) misses += 1;
    const bar = row.bar === undefined ? "" : `>= ${row.bar}`;
    const verdict = isBarred ? (holds ? "ok  " : "MISS") : "    ";
    process.stdout.write(
      `${verdict}  ${row.name.padEnd(52)} ${bar.padEnd(8)} ${row.ratio.toFixed(row.ratio < 10 ? 2 : 0)} (${row.detail})\n`,
    );
  };
  if (values.only !== "calls")
    for (const row of await benchMine(version, { drawers, parts, isFull: values.full })) show(row);
  if (values.only !== "mine") for (const row of await benchCalls(version, { drawers: calls })) show(row);
}
process.stdout.write(`${barred} bars, ${misses} missed or not measured; load at the end ${loadavg()[0]?.toFixed(1)}\n`);
process.exit(misses === 0 ? 0 : 1);
