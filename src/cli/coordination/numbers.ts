/** Parses numeric options as MemPalace's parser does. */
import { PalaceError } from "../../base/errors.ts";

/** Reads a whole number. Errors: CONFIG_USAGE. */
export function wholeNumber(value: string | undefined, name: string): number | undefined {
  if (value === undefined) return undefined;
  if (/^[+-]?\d{1,12}$/.test(value)) return Number(value);
  throw new PalaceError("CONFIG_USAGE", `argument --${name}: invalid int value: '${value}'`, "write a whole number");
}
