/** Walks the texts of a JSON value. */

export function* stringsOf(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const one of value) yield* stringsOf(one);
  else if (typeof value === "object" && value !== null)
    for (const [key, one] of Object.entries(value)) {
      yield key;
      yield* stringsOf(one);
    }
}
