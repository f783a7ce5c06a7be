/**
 * `npm run bench [NAME ...]` measures every speed promise as a ratio to a reference, on the build in dist. Fails if a measurement misses
 * its limit.
 */
import { requireBuild, type Row } from "./measure.ts";

// Turns off the telemetry of onnxruntime, which embeds in this process.
process.env["ORT_DISABLE_TELEMETRY"] = "1";

const BENCHMARKS: Readonly<Record<string, () => Promise<{ bench: () => Promise<Row[]> }>>> = {
  shim: () => import("./shim.ts"),
  write: () => import("./write.ts"),
  ingest: () => import("./ingest.ts"),
  scale: () => import("./scale.ts"),
  docs: () => import("./docs.ts"),
  sessions: () => import("./sessions.ts"),
  churn: () => import("./churn.ts"),
  pressure: () => import("./pressure.ts"),
  memory: () => import("./memory.ts"),
  "beside-embedding": () => import("./beside-embedding.ts"),
  reconnect: () => import("./reconnect.ts"),
  "graph-lag": () => import("./graph-lag.ts"),
  doors: () => import("./doors.ts"),
  "first-prompt": () => import("./first-prompt.ts"),
  page: () => import("./page.ts"),
};

requireBuild();
const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(BENCHMARKS);
const rows: Row[] = [];
for (const name of names) {
  const load = BENCHMARKS[name];
  if (load === undefined) {
    process.stderr.write(`no benchmark ${name}; there are ${Object.keys(BENCHMARKS).join(", ")}\n`);
    process.exit(2);
  }
  process.stderr.write(`${name} ...\n`);
  for (const row of await (await load()).bench()) {
    rows.push(row);
    process.stdout.write(`${row.ok ? "ok  " : "MISS"}  ${row.name.padEnd(52)} ${row.bar.padEnd(9)} ${row.measured}\n`);
  }
}
const missed = rows.filter((row) => !row.ok);
process.stdout.write(`${rows.length - missed.length} of ${rows.length} bars hold\n`);
process.exit(missed.length === 0 ? 0 : 1);
