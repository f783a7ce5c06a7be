/** Types and functions for both import and export of memories. */
import { CARRIED_MAX_BYTES, CARRIED_PART_MAX_BYTES } from "../../protocol/limits.ts";

/** Function that starts a progress report. `doing`: "importing". `what`: "memories". `total`: their number. */
export type Tell = (doing: string, what: string, total: number) => { step: (done: number) => void; end: () => void };

/** Yields the items in parts, each for one call to the broker. Calls `refuse` with an item that is too large for any call. */
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
