/** `palace doctor` checks everything that agents need to share the palace, and says for each fault what to do. */
import { wrongUsage } from "../../base/errors.ts";
import { applyFixes, type Fixed, planFixes } from "../doctor/fix.ts";
import { runChecks } from "../report/checks.ts";
import type { Output } from "../terminal/output.ts";
import { defineVerb, options } from "../define-verb.ts";

const EXIT_UNWELL = 1;

export const verb = defineVerb({
  usage: `palace doctor [--fix [--dry-run]] [--no-start]

Checks Node, the palace's folder, disk and settings, the broker and the door to it, the ledger, the model and the driver, the agents, backups,
tokens and clocks, and says how to fix each fault. Exit code 0 when nothing fails; notes and warnings do not count.

  --fix        first make the safe fixes, and list them: make missing folders of ours, remove sockets and notes of a dead broker,
               start the broker, deliver spooled writes, wire agents of an older version again, make a backup that is due.
               It never deletes your texts, and never starts a broker that was stopped by hand
  --dry-run    with --fix: only say what would be done
  --no-start   do not start a broker`,
  options: options("fix dry-run no-start"),
  showsSettingsFaults: true,
  run: async ({ values, config, out }) => {
    const [isFix, isDryRun] = [values.fix === true, values["dry-run"] === true];
    if (isDryRun && !isFix) throw wrongUsage("--dry-run goes with --fix", "palace doctor --fix --dry-run");
    const mayStart = values["no-start"] !== true;
    const fixes = isFix ? await applyFixes(await planFixes(config, mayStart, out), isDryRun) : undefined;
    if (fixes !== undefined && !out.isJson) printFixes(fixes, isDryRun, out);
    const found = await runChecks(config, mayStart && !isDryRun);
    const checks = found.map((check) => ({ ...check, hint: out.spelled(check.hint) }));
    const isWell = checks.every(({ state }) => state !== "fail");
    const more = fixes && { dryRun: isDryRun, fixes: spelledFixes(fixes, out) };
    out.answer(
      { healthy: isWell, ...more, checks },
      checks.map(({ name, state, detail, hint }) => [
        state === "fail" ? "FAIL" : state,
        name,
        hint === "" ? detail : `${detail} → ${hint}`,
      ]),
    );
    return isWell && fixes?.some(({ state }) => state === "failed") !== true ? 0 : EXIT_UNWELL;
  },
});

function printFixes(fixes: readonly Fixed[], isDryRun: boolean, out: Output): void {
  if (fixes.length === 0) return out.text(isDryRun ? "Nothing would be fixed.\n" : "Nothing to fix.\n");
  out.table(
    spelledFixes(fixes, out).map(({ name, what, state, error }) => [
      { done: "done", planned: "would", failed: "FAILED" }[state],
      name,
      error === undefined ? what : `${what}: ${error.message} → ${error.hint}`,
    ]),
  );
  out.text("");
}

function spelledFixes(fixes: readonly Fixed[], out: Output): Fixed[] {
  return fixes.map((fix) =>
    fix.error === undefined ? fix : { ...fix, error: { ...fix.error, hint: out.spelled(fix.error.hint) } },
  );
}
