/**
 * Splits data that is brought from a Roampal's folder, or taken to one, into parts that calls can carry. Used by the
 * commands beside.
 */
import { PalaceError } from "../../base/errors.ts";
import { CARRIED_MAX_BYTES, CARRIED_PART_MAX_BYTES } from "../../protocol/limits.ts";
import { Progress } from "../terminal/progress.ts";

const TELL_AFTER_MS = 2_000;

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

/** Says how far it is, where that takes long enough to ask. `what`: of what, in the plural. */
export function teller(
  doing: string,
  what: string,
  total: number,
  silent: boolean,
): { step: (done: number) => void; end: () => void } {
  const progress = new Progress({ silent });
  let toldAtMs = performance.now();
  return {
    step: (done) => {
      const isDue = performance.now() - toldAtMs > TELL_AFTER_MS;
      if (isDue) toldAtMs = performance.now();
      progress.step(done, total, `${doing} ${what}`, isDue ? `${doing}: ${done} of ${total} ${what}` : undefined);
    },
    end: () => progress.end(),
  };
}

/** Undefined for the error of a broker that knows no graphs. Errors: any other is thrown on. */
export function olderBroker(error: unknown): undefined {
  if (error instanceof PalaceError && error.code === "PROTOCOL_UNKNOWN_METHOD") return undefined;
  throw error;
}
