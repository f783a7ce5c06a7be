/** Code shared by the commands that carry memories from one place to another, a part in each call. */
import { PalaceError } from "../../base/errors.ts";
import { CARRIED_MAX_BYTES, CARRIED_PART_MAX_BYTES } from "../../protocol/limits.ts";

/** Begins to report progress. `what`: the things that are counted, in the plural. */
export type Tell = (doing: string, what: string, total: number) => { step: (done: number) => void; end: () => void };

/** Yields the items in parts, each for one call. Passes an item that is too large for any call to `refuse`. */
export function* parts<Item>(
  items: Iterable<Item>,
  most: number,
  refuse: (item: Item) => void,
): Generator<Item[], void> {
  let part: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item));
    if (size > CARRIED_MAX_BYTES) {
      refuse(item);
      continue;
    }
    if (part.length === most || (part.length > 0 && bytes + size > CARRIED_PART_MAX_BYTES)) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(item);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

/** Undefined for the error of a broker that knows no graphs. Errors: any other is thrown on. */
export function olderBroker(error: unknown): undefined {
  if (error instanceof PalaceError && error.code === "PROTOCOL_UNKNOWN_METHOD") return undefined;
  throw error;
}
