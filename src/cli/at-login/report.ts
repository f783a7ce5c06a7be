/** Says what `palace start --at-login` and `palace stop --at-login` did or would do. */
import { EXIT_CODES } from "../../base/errors.ts";
import type { Output } from "../terminal/output.ts";
import { type AtLogin, type Done, shown } from "./service.ts";

const DONE = {
  write: "The broker starts at login",
  keep: "The broker starts at login already",
  remove: "The broker no longer starts at login",
};
const PLANNED = { write: "would write", keep: "is as it should be", remove: "would remove" };

export function showPlan(plan: AtLogin | undefined, out: Output): 0 {
  if (plan === undefined) return out.answer({ dryRun: true, changed: false }, "The broker does not start at login.");
  const { unit, action, commands } = plan;
  return out.answer({ dryRun: true, ...documentOf(plan), content: unit.content, commands }, () => {
    out.text(`${action === "keep" ? `${unit.file} ${PLANNED.keep}` : `${PLANNED[action]} ${unit.file}`}`);
    if (action === "write") out.text(`\n${unit.content}`);
    out.text(`would run: ${shown(commands)}`);
    noticeSecrets(plan, out);
  });
}

/** Prints what was done, and returns the same as fields for the document of --json. */
export function reportAtLogin(plan: AtLogin, { failed }: Done, out: Output): Record<string, unknown> {
  const { unit, action } = plan;
  if (failed === undefined) {
    if (!out.isJson) out.text(`${DONE[action]}: ${unit.file}`);
  } else {
    out.notice(
      `${unit.file} was ${action === "remove" ? "removed" : "written"}, but ${unit.manager} did not answer: ${failed.why}`,
    );
    out.notice(`  in a login session of this user, type: ${failed.type}`);
  }
  noticeSecrets(plan, out);
  return { ...documentOf(plan), done: failed === undefined, ...(failed && { why: failed.why, type: failed.type }) };
}

/** Returns the exit code: 0, or 5 if the service manager did not answer. */
export function exitAtLogin(done: Done | undefined): number {
  return done?.failed === undefined ? 0 : EXIT_CODES.BROKER;
}

function documentOf({ unit, action }: AtLogin): Record<string, unknown> {
  const { manager, name, file } = unit;
  return { manager, name, file, changed: action !== "keep" };
}

function noticeSecrets({ unit, action }: AtLogin, out: Output): void {
  if (unit.left.length === 0 || action === "remove") return;
  out.notice(`${unit.left.join(", ")} may be a secret and was not written; the broker does not get it at login`);
  if (unit.manager === "systemd") out.notice(`  to give it to the broker: systemctl --user edit ${unit.name}`);
}
