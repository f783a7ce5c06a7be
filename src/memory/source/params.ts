/** Reads the parameters that feeders send. Errors: InvalidValue. */
import type { Metadata } from "../port/drawer.ts";
import { InvalidValue } from "../text/validate.ts";

type Params = Readonly<Record<string, unknown>>;

export function textIn(params: Params, key: string): string {
  const value = params[key];
  if (typeof value !== "string") throw new InvalidValue(`${key} must be a string`);
  return value.toWellFormed();
}

export function filledTextIn(params: Params, key: string): string {
  const value = params[key];
  if (typeof value !== "string" || value === "") throw new InvalidValue(`${key} must be a non-empty string`);
  return value.toWellFormed();
}

export function countIn(params: Params, key: string): number {
  const value = params[key];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new InvalidValue(`${key} must be a whole number`);
  return value;
}

export function secondsIn(params: Params, key: string): number {
  const value = params[key];
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new InvalidValue(`${key} must be a number of seconds`);
  return value;
}

/** Returns a text parameter as metadata with the field `name`; empty if it is missing. */
export function optionalText(params: Params, key: string, name: string): Metadata {
  return typeof params[key] === "string" ? { [name]: params[key].toWellFormed() } : {};
}

export function addedBy(params: Params): string {
  return typeof params["addedBy"] === "string" ? params["addedBy"] : "mempalace";
}
