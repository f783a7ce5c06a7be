/** Bounds how deep a JSON value is nested: what walks through it calls itself for each level. */
export function hasLevels(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return most > 0 && Object.values(value).every((one) => hasLevels(one, most - 1));
}
