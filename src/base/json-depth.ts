/** Returns true if a JSON value has at most `most` levels. Check this before a recursive walk. */
export function hasLevels(value: unknown, most: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return most > 0 && Object.values(value).every((one) => hasLevels(one, most - 1));
}
