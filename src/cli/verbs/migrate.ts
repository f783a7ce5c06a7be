/** `palace repair migrate`: rebuilds a public palace of an older Chroma, or one that cannot be written. */
import type { JsonObject } from "../../protocol/spec.ts";
import { reportCancelled, runJob } from "../report/job.ts";
import { defineVerb, options } from "../define-verb.ts";
import { printRebuilt } from "./repair.ts";

export const verb = defineVerb({
  usage: `palace repair migrate [--dry-run]

Tries whether the public palace can be written, read and deleted from as it is; if not, rebuilds the palace from the ledger as
\`palace repair\` does, and keeps the old one. Changes nothing if the palace works.

  --dry-run   only say whether it is needed, and why`,
  options: options("dry-run"),
  forOwner: true,
  run: async ({ values, config, out }) => {
    const result = await runJob(config, { kind: "migrate", dryRun: values["dry-run"] === true }, out);
    if (result === undefined) return reportCancelled(out);
    const { needed, why, ...rest } = result as unknown as Migrated;
    if (out.isJson) out.document(result);
    else if (!needed) out.text("Nothing to do: the palace can be worked with as it is.");
    else {
      out.text(`Needed: ${why ?? ""}`);
      if (rest.driver !== undefined) printRebuilt({ driver: rest.driver, palace: rest.palace ?? null }, out);
    }
    return 0;
  },
});

type Migrated = JsonObject & { needed: boolean; why: string | null } & Partial<Parameters<typeof printRebuilt>[0]>;
