/** Formats parts of the broker's status report as text. */
import type { ErasureReport } from "../../protocol/hygiene.ts";
import type { AdoptionReport, ForeignWritersReport, StatusReport } from "../../protocol/spec.ts";
import type { Client } from "../../wire/client/client.ts";
import { causeOf } from "../proof/search-here.ts";
import { formatDuration, plural, printable } from "../terminal/output.ts";
import { spelled } from "../terminal/spelling.ts";

/** Returns, for example, `, 3 drawers behind for 5 s`. While drawers wait for vectors, `lagMs` is below 1 and the text has no time. */
export function describeLag({ lag, lagMs }: StatusReport["driver"]): string {
  if (lag === 0) return "";
  return `, ${plural(lag, "drawer")} behind${lagMs < 1 ? "" : ` for ${formatDuration(lagMs)}`}`;
}

/** Returns undefined if the broker cannot answer: it is older, has another engine or no open palace, or the token lacks the right. */
export async function askErasure(client: Client): Promise<ErasureReport | undefined> {
  return client.call("memory.erasure", { waitMs: 0 }).catch(() => undefined);
}

/** Returns undefined if the files no longer contain forgotten text. */
export function describeErasure(report: ErasureReport | undefined): string | undefined {
  if (report === undefined || report.pending === 0) return undefined;
  const why = report.problems.length === 0 ? "" : `: ${report.problems.join("; ")}`;
  return `${plural(report.pending, "erasure")} not finished in every file${why}`;
}

/** `why`: formats the cause of a missing model. */
export function describeMode({ mode, model, modelState, modelDetail }: StatusReport["search"], why = causeOf): string {
  if (mode === "hybrid") return `by words and by meaning (${model ?? "no model"})`;
  if (modelState === "loading" || modelState === "downloading")
    return `by words and meaning, without the model until it is here (${modelState}, ${modelDetail})`;
  if (modelState === "extra") return `by words and meaning; ${spelled(printable(modelDetail))}`;
  return `by words and meaning, without the model: ${why(modelDetail)}`;
}

/** Returns undefined without a reranker, which is optional. */
export function describeReranker({ reranker }: StatusReport["search"]): string | undefined {
  if (reranker === undefined || reranker.state === "off") return undefined;
  return `${reranker.state === "ready" ? "it orders the first hits" : reranker.state}: ${reranker.detail}`;
}

/** `closets`: undefined in the report of an older broker. */
export function describeClosets(closets: StatusReport["closets"] | undefined): string {
  if (closets === undefined || closets.count + closets.lag === 0) return "none";
  const pending = closets.pending === 0 ? "" : `, ${closets.pending} still to embed`;
  const lag = closets.lag === 0 ? "" : `, ${plural(closets.lag, "change")} not in the public palace yet`;
  return `${plural(closets.count, "closet")} that point at drawers${pending}${lag}`;
}

/** `graph`: undefined in the report of an older broker. */
export function describeGraph(graph: StatusReport["graph"] | undefined): string {
  if (graph === undefined || graph.state === "off") return "none is kept";
  const age = graph.lagMs === undefined ? "" : `, the oldest for ${(graph.lagMs / 1000).toFixed(1)} s`;
  const lag = graph.lag === 0 ? "" : `, ${plural(graph.lag, "row")} still to write to MemPalace's files${age}`;
  const taken = graph.takenOver === 0 ? "" : `, ${plural(graph.takenOver, "row")} adopted from others`;
  const newer = graph.newer === undefined ? "" : `; ${describeNewer(graph.newer)}`;
  const detail = graph.detail === "" ? "" : `; ${printable(graph.detail)}`;
  return `${plural(graph.facts, "fact")}: ${graph.state}${lag}${taken}${detail}${newer}`;
}

function describeNewer(file: string): string {
  return `MemPalace 3.12 or later keeps its hallways in ${printable(file)}, which the broker does not change: our new hallways are only in the ledger`;
}

export function describeForeignWriters(report: ForeignWritersReport): string {
  const { state, detail, rows, collections, newestAtMs, changed, resent, unindexed } = report;
  // An older broker does not send `taken`, because it adopts no foreign rows.
  const taken = report.taken ?? 0;
  const again = resent === 0 ? [] : [`${plural(resent, "drawer")} of ours were missing there and were sent again`];
  if (state === "clear") return ["no other program has written the public palace", ...again].join("; ");
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
          `${plural(rows, "row")} in the public palace ${rows === 1 ? "does" : "do"} not belong to this memory (${where}${newest})`,
        ]),
    ...(taken === 0 ? [] : [`${plural(taken, "row")} of other programs ${taken === 1 ? "was" : "were"} adopted`]),
    ...(changed === 0 ? [] : [`${plural(changed, "drawer")} of ours differ in the public palace`]),
    ...(detail === "" ? [] : [detail]),
    ...(unindexed === 0 ? [] : [`its index has lost the vectors of ${plural(unindexed, "row")}`]),
    ...again,
  ].join("; ");
}

/** Returns undefined if no palace had to be adopted. */
export function describeAdoption(report: AdoptionReport | undefined): string | undefined {
  if (report === undefined || report.state === "none") return undefined;
  const { state, rows, read, taken } = report;
  // An older broker does not send `detail` and `hint`.
  const { detail = "", hint = "" } = report as Partial<AdoptionReport>;
  const more = detail === "" ? "" : `; ${detail}`;
  switch (state) {
    case "running":
      return `being adopted: ${read} of ${plural(rows, "row")} read; the broker does not write it until all are adopted${more}`;
    case "verifying":
      return `being compared with this memory, row by row; the broker does not write it until then${more}`;
    case "refused":
      return `cannot be compared with this memory, and is not written: ${detail}; ${hint}`;
    case "verified": {
      const adopted = taken === 0 ? "" : `, ${plural(taken, "row")} adopted by this broker`;
      return rows === 0
        ? `there was nothing in the public palace to adopt${more}`
        : `all ${plural(rows, "row")} of the public palace are in this memory and are identical${adopted}${describeInexact(report)}${more}`;
    }
  }
}

function describeInexact({ inexact = 0 }: AdoptionReport): string {
  if (inexact === 0) return "";
  const rows = `${plural(inexact, "row")} ${inexact === 1 ? "has" : "have"}`;
  return `, but ${rows} numbers that an export or a repair writes in another form (1.0 becomes 1, an integer beyond 2^53 is rounded)`;
}
