/** Result of one check of `palace doctor`, and what `--fix` may do about it. Imported by the checks and fixes. */

import { withoutPassword } from "../../base/without-password.ts";

/** `hint` is empty where there is nothing to do. */
export type Check = { name: string; state: "ok" | "warn" | "fail"; detail: string; hint: string };

/** `what` says it as something to do; the answer of `run`, if any, what became of it. Errors of `run`: PalaceError. */
export type Fix = { name: string; what: string; run: () => Promise<string | void> | string | void };

export function ok(name: string, detail: string): Check {
  return check(name, "ok", detail, "");
}

export function warn(name: string, detail: string, hint: string): Check {
  return check(name, "warn", detail, hint);
}

export function fail(name: string, detail: string, hint: string): Check {
  return check(name, "fail", detail, hint);
}

function check(name: string, state: Check["state"], detail: string, hint: string): Check {
  return { name, state, detail: withoutPassword(detail), hint: withoutPassword(hint) };
}
