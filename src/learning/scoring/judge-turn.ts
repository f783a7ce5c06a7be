/** Records how the judge model scored an exchange that the agent left unscored, and the memories shown for it (outcome-memory.md 7.5). */
import type { Drawer } from "../../memory/port/drawer.ts";
import type { WriteCall } from "../../memory/port/ledger.ts";
import type { MemoryTx } from "../../memory/port/memory.ts";
import type { Outcome } from "../../memory/port/outcome.ts";
import type { Methods } from "../../protocol/spec.ts";
import { InvalidValue } from "../../memory/text/validate.ts";
import { judge } from "./record-outcome.ts";
import { questionIn, readOutcome, readScores } from "./score.ts";
import { findShown } from "../memory/as-drawer.ts";
import { idOf } from "../turn/turn.ts";

/** Skips memories that got an outcome after the turn began, in any conversation. Errors: InvalidValue, PROTOCOL_BAD_PARAMS. */
export function judgeTurn(tx: MemoryTx, { params, atMs }: WriteCall): Methods["turn.judge"]["result"] {
  const conversation = tx.conversations.find(idOf(params, "conversation"));
  const answer = findShown(tx, idOf(params, "exchange"));
  const sinceMs = timeOf(params["sinceMs"]);
  const outcome = readOutcome(params["outcome"], "outcome");
  const judged = new Map<string, { drawer: Drawer; outcome: Outcome }>();
  for (const [id, one] of readScores({ memory_scores: params["memory_scores"] }, "unknown")) {
    const drawer = findShown(tx, id);
    if (drawer !== undefined) judged.set(drawer.id, { drawer, outcome: one });
  }
  if (answer !== undefined) judged.set(answer.id, { drawer: answer, outcome });
  const told = {
    ...({ atMs, source: "judge", question: answer && questionIn(answer) } as const),
    ...{ conversation: conversation?.id ?? null, exchange: answer?.id ?? null },
  };
  let count = 0;
  for (const { drawer, outcome: one } of judged.values()) {
    const { lastUsedMs = null } = tx.standings.find(drawer.id) ?? {};
    if (one === "unknown" || (lastUsedMs !== null && lastUsedMs >= sinceMs)) continue;
    judge(tx, drawer, { ...told, outcome: one });
    count += 1;
  }
  return { judged: count };
}

function timeOf(given: unknown): number {
  if (typeof given === "number" && Number.isFinite(given)) return given;
  throw new InvalidValue("sinceMs must be the time that turn.owed returned");
}
