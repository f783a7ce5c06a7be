/** `palace repair compact`: rewrites the ledger without its free pages. */
import type { JsonObject } from "../../protocol/spec.ts";
import { reportCancelled, runJob } from "../report/job.ts";
import { formatBytes } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

type Compacted = JsonObject & { beforeBytes: number; afterBytes: number; isLogCut: boolean };

export const verb = defineVerb({
  usage: `palace repair compact

Gives the disk back what deleted drawers, undos and replaced sources have left free in the ledger, by rewriting its file.
Agents may go on: reads do not wait, writes wait while the file is written (some seconds for a gigabyte). Needs free space of
twice the ledger's size meanwhile; where that is not there, it says so and nothing is changed. Rarely needed: most free space
is given back by itself while nobody writes, and all of it after a forget.`,
  forOwner: true,
  run: async ({ config, out }) => {
    const result = await runJob(config, { kind: "compact" }, out);
    if (result === undefined) return reportCancelled(out);
    return out.answer(result, () => {
      const { beforeBytes, afterBytes, isLogCut } = result as Compacted;
      out.text(`ledger: ${formatBytes(beforeBytes)} before, ${formatBytes(afterBytes)} now`);
      if (!isLogCut) out.text("  its log is being read and is cut by one of the next writes");
    });
  },
});
