/** Defines the result of one check of `palace doctor`, and the fixes of `--fix`. */

import { withoutPassword } from "../../base/without-password.ts";

/** `hint` is empty if the user need not act. */
export type Check = { name: string; state: "ok" | "warn" | "fail"; detail: string; hint: string };

/** `what` describes the action; `run` may return a more exact description. Errors of `run`: PalaceError. */
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
