/** Describes the closets for status and doctor. */
import type { StatusReport } from "../../protocol/spec.ts";
import { plural } from "../terminal/output.ts";

/** A broker of before has none. */
export function describeClosets(closets: StatusReport["closets"] | undefined): string {
  if (closets === undefined || closets.count + closets.lag === 0) return "none";
  const pending = closets.pending === 0 ? "" : `, ${closets.pending} still to embed`;
  const lag = closets.lag === 0 ? "" : `, ${plural(closets.lag, "change")} not in the public palace yet`;
  return `${plural(closets.count, "closet")} that point at drawers${pending}${lag}`;
}
