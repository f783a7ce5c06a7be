/** Maps `mempalace repair` and `mempalace migrate` to `palace repair` and `palace repair migrate`. */
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { defineVerb, options, type Verb } from "../define-verb.ts";
import { migrate as migratePalace, verb as repairPalace } from "../verbs/repair.ts";
import { confirmed, handOn, isWithoutPalace } from "./format.ts";

const MODES = ["legacy", "max-seq-id", "from-sqlite"];

export const repair = defineVerb({
  usage: `mempalace repair [--yes] [--mode legacy|max-seq-id|from-sqlite] [--dry-run]

Rebuilds the palace from this memory's ledger, and keeps the old palace. Every mode does the same.
Asks first unless --yes; no terminal counts as no.`,
  options: options(
    "yes mode= dry-run confirm-truncation-ok archive-existing backup no-backup source= segment=",
    "from-sidecar=",
  ),
  args: [0, 1],
  place: "any",
  run: async ({ values, args: [what], config, out }) => {
    const mode = values.mode ?? "legacy";
    if (!MODES.includes(mode) || (what !== undefined && what !== "rebuild-index"))
      throw wrongUsage(`--mode takes ${MODES.join(", ")}`, "mempalace repair --yes");
    for (const name of ["source", "segment", "from-sidecar"] as const)
      if (values[name] !== undefined)
        throw new PalaceError(
          "ENGINE_UNSUPPORTED",
          `--${name} has no meaning here: the palace is rebuilt from the ledger`,
          "mempalace repair --yes",
        );
    if (isWithoutPalace(config, out)) return 0;
    if (values["dry-run"] === true) {
      await handOn((await import("../verbs/repair-status.ts")).verb, [], { config, out });
      return 0;
    }
    if (!(await confirmed("Rebuild the palace from the ledger?", values.yes)))
      return out.answer({ aborted: true, hint: out.spelled("mempalace repair --yes") }, () => out.notice("  Aborted."));
    return handOn(repairPalace, [], { config, out });
  },
});

export const migrate: Verb = defineVerb({
  usage: `mempalace migrate [--dry-run] [--yes]

Rebuilds a palace of an older Chroma, or one that cannot be written, from this memory's ledger; otherwise does nothing.`,
  options: options("dry-run yes"),
  place: "any",
  run: async ({ values, config, out }) => {
    if (isWithoutPalace(config, out)) return 0;
    const isSure = values["dry-run"] !== true && (await confirmed("Rebuild the palace if it needs it?", values.yes));
    if (!isSure && values["dry-run"] !== true)
      out.hint("  nothing was changed; to rebuild the palace: mempalace migrate --yes");
    return handOn(migratePalace, isSure ? [] : ["--dry-run"], { config, out });
  },
});
