/** Describes other writers' changes to the public palace; used by status and doctor. */
import type { AdoptionReport, ForeignWritersReport } from "../../protocol/spec.ts";
import { plural } from "../terminal/output.ts";

export function describeForeignWriters(report: ForeignWritersReport): string {
  const { state, detail, rows, collections, newestAtMs, changed, resent, unindexed } = report;
  // A broker of before adopts nothing of others.
  const taken = report.taken ?? 0;
  const again = resent === 0 ? [] : [`${plural(resent, "drawer")} of ours that were missing there were sent again`];
  if (state === "clear") return ["nobody else has written the public palace", ...again].join("; ");
  if (state !== "found")
    return (
      { off: "not watched", looking: "being looked for", unreadable: "not known" }[state] +
      (detail === "" ? "" : `: ${detail}`)
    );
  const newest = newestAtMs === null ? "" : `, newest of ${new Date(newestAtMs).toISOString()}`;
  const where = collections.map(({ name, rows: there }) => `${there} in ${name}`).join(", ");
  return [
    ...(rows === 0
      ? []
      : [
          `${plural(rows, "row")} in the public palace ${rows === 1 ? "is" : "are"} not of this memory (${where}${newest})`,
        ]),
    ...(taken === 0 ? [] : [`${plural(taken, "row")} of others ${taken === 1 ? "was" : "were"} adopted`]),
    ...(changed === 0 ? [] : [`${plural(changed, "drawer")} of ours read otherwise there`]),
    ...(detail === "" ? [] : [detail]),
    ...(unindexed === 0 ? [] : [`its index has lost the vectors of ${plural(unindexed, "row")}`]),
    ...again,
  ].join("; ");
}

/** Describes the adoption of an existing palace; undefined if no palace had to be adopted. */
export function describeAdoption(report: AdoptionReport | undefined): string | undefined {
  if (report === undefined || report.state === "none") return undefined;
  const { state, rows, read, taken } = report;
  // A broker of before says nothing more.
  const { detail = "", hint = "" } = report as Partial<AdoptionReport>;
  const more = detail === "" ? "" : `; ${detail}`;
  switch (state) {
    case "running":
      return `being adopted: ${read} of ${plural(rows, "row")} read; it is not written until then${more}`;
    case "verifying":
      return `being compared with this memory, row by row; it is not written until then${more}`;
    case "refused":
      return `cannot be compared with this memory, and is not written: ${detail}; ${hint}`;
    case "verified": {
      const adopted = taken === 0 ? "" : `, ${plural(taken, "row")} adopted by this broker`;
      return rows === 0
        ? `there was nothing in the public palace to adopt${more}`
        : `all ${plural(rows, "row")} of the public palace are in this memory and read the same${adopted}${describeInexact(report)}${more}`;
    }
  }
}

/** docs/how-to/going-back.md has the same words. */
function describeInexact({ inexact = 0 }: AdoptionReport): string {
  if (inexact === 0) return "";
  const rows = `${plural(inexact, "row")} ${inexact === 1 ? "has" : "have"}`;
  return `, but ${rows} numbers that an export or a repair does not write to the letter (1.0 becomes 1, an integer beyond 2^53 is rounded)`;
}
