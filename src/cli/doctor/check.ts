/** Result of one check of `palace doctor`. Imported by the checks. */

import { withoutPassword } from "../../base/without-password.ts";

/** `hint` is empty where there is nothing to do. */
export type Check = { name: string; state: "ok" | "warn" | "fail"; detail: string; hint: string };

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
