/** Describes the work that the broker still has to do in the background; used by status and doctor. */
import type { Client } from "../../wire/client/client.ts";
import type { ErasureReport } from "../../protocol/hygiene.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { formatDuration, plural } from "../terminal/output.ts";

/**
 * Returns, for example, `, 3 drawers behind for 5 s`; empty without a lag. With `lagMs` below 1 it names no time: those
 * drawers wait for vectors.
 */
export function describeLag({ lag, lagMs }: StatusReport["driver"]): string {
  if (lag === 0) return "";
  return `, ${plural(lag, "drawer")} behind${lagMs < 1 ? "" : ` for ${formatDuration(lagMs)}`}`;
}

/**
 * Asks for the state of the erasure. Undefined if the broker cannot answer: an older broker, another engine, a token
 * without that right, or a palace that is not open.
 */
export async function askErasure(client: Client): Promise<ErasureReport | undefined> {
  return client.call("memory.erasure", { waitMs: 0 }).catch(() => undefined);
}

/** Describes the erasure; undefined when the files no longer hold any forgotten text. */
export function describeErasure(report: ErasureReport | undefined): string | undefined {
  if (report === undefined || report.pending === 0) return undefined;
  const why = report.problems.length === 0 ? "" : `: ${report.problems.join("; ")}`;
  return `${plural(report.pending, "forgetting")} not yet out of every file${why}`;
}

/** Describes the reranker; undefined without one, which is not a fault. */
export function describeReranker({ reranker }: StatusReport["search"]): string | undefined {
  if (reranker === undefined || reranker.state === "off") return undefined;
  return `${reranker.state === "ready" ? "the first hits are put in its order" : reranker.state}: ${reranker.detail}`;
}
