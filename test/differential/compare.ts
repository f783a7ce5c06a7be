/** Compares two answers except times and the last digits of scores. A difference is a finding, unless differences.ts lists it. */
import type { MempalaceVersion } from "../helpers/python-mempalace.ts";
import type { Call } from "./calls.ts";
import { DIFFERENCES } from "./differences.ts";
import { isSame } from "./mend.ts";
import type { Answer } from "./server.ts";

export type Finding = { call: Call; theirs: unknown; ours: unknown };

const TIMES = [
  "filed_at",
  "authored_at",
  "timestamp",
  "date",
  "last_modified",
  "created_at",
  "updated_at",
  "last_activated",
  "advertised_at",
];
const STAMP = /^\d{4}-\d\d-\d\d(T[\d:.]+(\+00:00|Z)?)?$/;
/** Time of the coordination log's hybrid clock, as upstream writes it. */
const HYBRID = /^\d{13}-[0-9a-f]{6}-@replica@$/;

/** Returns undefined if the answers agree. Adds to `used` the names of the listed differences that it needed. */
export function compare(
  version: MempalaceVersion,
  call: Call,
  theirs: Answer,
  ours: Answer,
  used: Set<string>,
): Finding | undefined {
  let pair: [unknown, unknown] = [mask(theirs), mask(ours)];
  if (isSame(...pair)) return undefined;
  for (const { name, versions, tools, mend } of DIFFERENCES) {
    if (!versions.includes(version) || (tools !== "all" && !tools.includes(call.tool))) continue;
    const mended = mend(...(structuredClone(pair) as [Answer, Answer]), call);
    if (mended === undefined) continue;
    if (JSON.stringify(mended) !== JSON.stringify(pair)) used.add(name);
    pair = mended;
    if (isSame(...pair)) return undefined;
  }
  return { call, theirs: pair[0], ours: pair[1] };
}

function mask(value: unknown, key = ""): unknown {
  if (typeof value === "string" && TIMES.includes(key) && STAMP.test(value)) return "<TIME>";
  if (typeof value === "string" && key === "hlc" && HYBRID.test(value)) return "<HLC>";
  if (Array.isArray(value)) return value.map((one) => mask(one));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mask(one, name)]));
}
