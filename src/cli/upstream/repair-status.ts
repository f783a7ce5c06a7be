/** `mempalace repair-status` prints rows and persisted vectors of both collections, like upstream. Exit code 0. */
import type { CollectionHealth } from "../../protocol/spec.ts";
import { defineVerb } from "../define-verb.ts";
import { banner, isWithoutPalace, thousands } from "./format.ts";

const TIMEOUT_MS = 10 * 60_000;

export const verb = defineVerb({
  usage: `mempalace repair-status

Compares rows and persisted vectors of the palace; only reads. \`palace repair status\` says more.`,
  place: "any",
  run: async ({ config, connect, out }) => {
    if (isWithoutPalace(config, out)) return 0;
    const client = await connect("mempalace repair-status");
    const { palace } = await client.call("palace.health", {}, { timeoutMs: TIMEOUT_MS });
    if (out.isJson) return out.document(palace);
    banner(out, ["MemPalace Repair — Status"]);
    out.text(`  Palace: ${palace.folder}`);
    if (palace.integrity === "absent") {
      out.text("  No palace found.\n");
      return 0;
    }
    for (const [label, name] of [
      ["drawers", config.collection()],
      ["closets", "mempalace_closets"],
    ]) {
      out.text(`\n  [${label}]`);
      const found = palace.collections.find((one) => one.name === name);
      for (const [field, value] of fieldsOf(found)) out.text(`    ${field.padEnd(16)}${value}`);
    }
    if (palace.collections.some(({ state }) => state === "DIVERGED"))
      out.text("\n  Recommended: run `mempalace repair` to rebuild the index.");
    out.text("");
    return 0;
  },
});

function fieldsOf(found: CollectionHealth | undefined): [string, string][] {
  if (found === undefined)
    return [
      ["sqlite count:", "(unreadable)"],
      ["hnsw count:", "(no flushed metadata yet)"],
      ["status:", "UNKNOWN"],
    ];
  const isFlushed = found.segment === "whole";
  return [
    ["sqlite count:", thousands(found.rows)],
    ["hnsw count:", isFlushed ? thousands(found.indexed) : "(no flushed metadata yet)"],
    ...(isFlushed ? [["divergence:", thousands(found.rows - found.indexed)] as [string, string]] : []),
    ["status:", found.state],
    ...(found.why === "" ? [] : [["note:", found.why] as [string, string]]),
  ];
}
