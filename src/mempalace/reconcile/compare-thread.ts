/** Thread that compares palace and ledger once and then ends. */
import { workerData } from "node:worker_threads";
import { openForReading } from "../../memory/ledger/open.ts";
import { serveThread } from "../../base/thread.ts";
import { guardPalace } from "../format/refusal.ts";
import { type CompareInput, comparePalace, type Comparison } from "./compare.ts";

export type CompareThreadData = { ledgerFile: string };
export type CompareMethods = { compare(input: CompareInput): Comparison | null };

await serveThread<CompareMethods>(() => {
  const ledger = openForReading((workerData as CompareThreadData).ledgerFile);
  return { compare: (input) => guardPalace(input.palaceDir, () => comparePalace(input, ledger) ?? null) };
});
