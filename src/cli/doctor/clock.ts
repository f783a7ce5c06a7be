/**
 * The broker's clock and that of the palace's files, held against ours, for `palace doctor`. Expiry of tokens, an undo of the last hour
 * and the age of a backup go by the broker's; marks of a start go by the files'. Imported by checks.ts.
 */
import { statSync } from "node:fs";
import type { Client } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import type { Health } from "../../protocol/spec.ts";
import { formatDuration } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";

/** Difference between two clocks that nobody notices, ms. */
export const SKEW_MAX_MS = 60_000;

/** Our clock before the broker was asked and after it has answered; the time of a write that is dated later than that. */
export type Asked = { fromMs: number; toMs: number; writtenMs?: number | undefined };

/** Returns the time of the newest write among those that are dated in the future. */
export async function askWrittenAhead(client: Client): Promise<number | undefined> {
  const page = await client
    .call("memory.audit", { sinceMs: Date.now() + SKEW_MAX_MS, limit: 1 })
    .catch(() => undefined);
  return page?.entries[0]?.at_ms;
}

export function checkClock({ paths }: Config, { nowMs }: Health, { fromMs, toMs, writtenMs }: Asked): Check {
  const ahead = filesAheadMs([paths.ledgerFile, `${paths.ledgerFile}-wal`, paths.lockFile, paths.brokerFile], toMs);
  if (ahead > SKEW_MAX_MS)
    return warn(
      "clock",
      `files of the palace are dated ${formatDuration(ahead)} ahead of this clock`,
      "set this clock, or that of the machine which has the palace's disk, right: timedatectl",
    );
  if (writtenMs !== undefined)
    return warn(
      "clock",
      `a write is dated ${formatDuration(writtenMs - toMs)} ahead of this clock: the broker's clock was wrong then`,
      "look at the writes: palace history; an undo without --until finds them too: palace history undo --client NAME --since 2h",
    );
  if (nowMs === undefined) return ok("clock", "no file of the palace is ahead; this broker does not tell its own time");
  const skew = nowMs < fromMs ? nowMs - fromMs : Math.max(nowMs - toMs, 0);
  const said = `the broker's clock is ${formatDuration(Math.abs(skew))} ${skew < 0 ? "behind" : "ahead of"} this one`;
  if (Math.abs(skew) > SKEW_MAX_MS)
    return warn("clock", said, "set both clocks right (timedatectl); what is dated meanwhile is dated by the broker's");
  return ok("clock", "the broker's clock and this one agree");
}

function filesAheadMs(files: readonly string[], nowMs: number): number {
  const dated = files.map((file) => {
    try {
      return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    } catch {
      return 0;
    }
  });
  return Math.max(...dated) - nowMs;
}
