/** Puts the broker's report into words for a person: one line for each part. Pure. */
import type { News } from "./client.ts";
import { plural } from "./words.ts";

export type HealthLine = { name: string; is: "good" | "waits" | "bad"; says: string };

export function healthOf(news: News | undefined): HealthLine[] {
  if (news === undefined) return [{ name: "Broker", is: "bad", says: "does not answer; this page asks again" }];
  const { state, queue, search, driver } = news;
  const broker = state === "ready" ? "good" : state === "failed" ? "bad" : "waits";
  const queued = queue.depth === 0 ? "nothing waits" : `${plural(queue.depth, "write")} of ${queue.depthMax} wait`;
  return [
    { name: "Broker", is: broker, says: state },
    { name: "Queue", is: queue.depth * 2 > queue.depthMax ? "waits" : "good", says: queued },
    searchLine(search),
    driverLine(driver),
  ];
}

function searchLine({ mode, pending, modelState, modelDetail }: News["search"]): HealthLine {
  const waiting = pending === 0 ? "" : `; ${plural(pending, "drawer")} still without a vector`;
  if (mode === "hybrid") {
    const is = pending === 0 ? "good" : "waits";
    return { name: "Search", is, says: `by words and by meaning${waiting}` };
  }
  const is = modelState === "failed" || modelState === "mismatch" ? "bad" : "waits";
  return { name: "Search", is, says: `by words and by meaning without the model: ${modelDetail}` };
}

function driverLine({ kind, state, lag, detail }: News["driver"]): HealthLine {
  const name = "MemPalace's files";
  if (kind === "none") return { name, is: "good", says: "are not written" };
  if (state === "synced") return { name, is: "good", says: "are up to date" };
  const is = state === "unreachable" ? "bad" : "waits";
  return { name, is, says: `${state}, ${plural(lag, "drawer")} behind${detail === "" ? "" : `: ${detail}`}` };
}
