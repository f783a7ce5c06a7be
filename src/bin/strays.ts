/** What others did to the public palace, in words; used by status and doctor. */
import type { StrayReport } from "../protocol/spec.ts";
import { plural } from "./output.ts";

export function describeStrays(report: StrayReport): string {
  const { state, detail, rows, collections, newestAtMs, changed, resent, unindexed } = report;
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
    ...(changed === 0 ? [] : [`${plural(changed, "drawer")} of ours read otherwise there`]),
    ...(detail === "" ? [] : [detail]),
    ...(unindexed === 0 ? [] : [`its index has lost the vectors of ${plural(unindexed, "row")}`]),
    ...again,
  ].join("; ");
}
