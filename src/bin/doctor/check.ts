/** What one check of `palace doctor` says. Imported by the checks. */

/** `hint` is empty where there is nothing to do. */
export type Check = { name: string; state: "ok" | "warn" | "fail"; detail: string; hint: string };

export function ok(name: string, detail: string): Check {
  return { name, state: "ok", detail, hint: "" };
}

export function warn(name: string, detail: string, hint: string): Check {
  return { name, state: "warn", detail, hint };
}

export function fail(name: string, detail: string, hint: string): Check {
  return { name, state: "fail", detail, hint };
}
