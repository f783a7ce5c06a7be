/** Describes the knowledge graph for status and doctor. */
import type { StatusReport } from "../../protocol/spec.ts";
import { plural, printable } from "../terminal/output.ts";

/** A broker of before has none. */
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
  return `MemPalace 3.12 or later keeps its hallways in ${printable(file)}, which is left as it is: new hallways of ours are in the ledger alone`;
}
