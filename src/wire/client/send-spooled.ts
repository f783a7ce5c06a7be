/** Delivers spooled writes to a broker, in order. Loaded only when needed. */
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import type { WireErrorData } from "../../base/errors.ts";
import { AUTHOR_META, WRITTEN_META } from "../../protocol/headers.ts";
import { RPC, type RpcRequest, type RpcResponse } from "../../protocol/spec.ts";
import { isRefusedResult } from "../../protocol/tools/result.ts";
import { findTool, type Tool } from "../../protocol/tools/table.ts";
import type { Spool, SpoolEntry } from "./spool.ts";

/**
 * Result of a delivery. `interrupted`: the connection ended. `stuck`: the broker refuses writes for now. `waiting`: the broker refuses only
 * some writes for now.
 */
export type Delivery = "delivered" | "waiting" | "interrupted" | "stuck";

/** Number of temporary refusals after which a delivery skips a write. */
const REFUSALS_MAX = 3;
/** Number of temporarily refused writes of a tool after which a delivery skips the tool's other writes. */
const LEFT_MAX = 16;
const REFUSED = "the tool refused it";

/** Request or notification whose `params`, if any, are an object. */
export type Message = RpcRequest & { params?: Record<string, unknown> };

/** Returns true for a call of a tool that writes, and for `turn.end`. */
export function isWrite(line: string): boolean {
  const { method, params } = parseMessage(line);
  return method === "turn.end" || (method === "tools/call" && findTool(params?.["name"])?.kind === "write");
}

/** Returns true if the spool may keep the call. `values`: the call's arguments. */
export function isForLater({ spool }: Tool, values: Record<string, unknown>): boolean {
  return spool === "always" || (spool === "unless dry" && values["dry_run"] === false);
}

/**
 * Sends the spooled writes one after the other. Removes an acknowledged write, and moves a permanently refused write to the refused ones.
 * Stops at a temporary refusal, to keep the order; skips a write with more than `REFUSALS_MAX` temporary refusals. `ask`: sends a message;
 * returns undefined if the connection ended.
 */
export async function deliver(
  spool: Spool,
  ask: (message: RpcRequest, agent: string) => Promise<RpcResponse | undefined>,
): Promise<Delivery> {
  const seen = new Set<string>();
  /** Names of the temporarily refused writes of each tool. */
  const left = new Map<string, string[]>();
  const next = (): SpoolEntry[] => spool.entries().filter(({ name }) => !seen.has(name));
  for (let entries = next(); entries.length > 0; entries = next()) {
    for (const { name, tool, line, atMs, agent } of entries) {
      seen.add(name);
      const alike = left.get(tool) ?? [];
      if (alike.length >= LEFT_MAX) {
        alike.push(name);
        continue;
      }
      if (!isWrite(line)) {
        if (!spool.refuse(name, "it contains no write")) return "stuck";
        continue;
      }
      const response = await ask(signed(parseMessage(line), { atMs, agent }), agent);
      if (response === undefined) return "interrupted";
      const refusal = refusalOf(response, line);
      // This broker does not know turns, or this token may not write. The write waits for another broker or token.
      if (refusal === "elsewhere") continue;
      if (refusal === "passing") {
        const times = (spool.refusals.get(name) ?? 0) + 1;
        spool.refusals.set(name, times);
        if (times <= REFUSALS_MAX && alike.length === 0) return "stuck";
        left.set(tool, [...alike, name]);
        continue;
      }
      spool.refusals.delete(name);
      spool.unsendable.delete(name);
      if (refusal === undefined) {
        spool.remove(name);
        // The broker accepts writes, so it refused each skipped write because of its content.
        for (const one of [...left.values()].flat()) spool.unsendable.add(one);
      } else if (!spool.refuse(name, refusal.why, isUndone(response))) return "stuck";
    }
  }
  const waiting = [...left.values()].flat();
  if (waiting.length === 0) return "delivered";
  return waiting.every((name) => spool.unsendable.has(name)) ? "waiting" : "stuck";
}

function signed({ params, ...message }: Message, { atMs, agent }: Pick<SpoolEntry, "atMs" | "agent">): Message {
  const meta = isRecord(params?.["_meta"]) ? params["_meta"] : {};
  return { ...message, params: { ...params, _meta: { ...meta, [WRITTEN_META]: atMs, [AUTHOR_META]: agent } } };
}

/**
 * Returns how the broker refused, or undefined. "passing": for now, for example because of a full disk. "elsewhere": another broker or
 * token may accept the write. `why`: the reason of a permanent refusal.
 */
function refusalOf(response: RpcResponse, line: string): "passing" | "elsewhere" | { why: string } | undefined {
  if ("error" in response) {
    const data = (response.error.data ?? {}) as Partial<WireErrorData>;
    const isUnknown = response.error.code === RPC.METHOD_NOT_FOUND || data.code === "ENGINE_UNSUPPORTED";
    if ((isUnknown && parseMessage(line).method === "turn.end") || data.code === "BROKER_DENIED") return "elsewhere";
    const isPassing =
      data.retryable === true ||
      data.code === "PROTOCOL_VERSION_MISMATCH" ||
      /^(?:STORE|PALACE)_/.test(data.code ?? "");
    return isPassing ? "passing" : { why: response.error.message };
  }
  // The result of every tool is an object. Any other result is not an acknowledgement.
  if (!isRecord(response.result)) return "passing";
  const { content } = response.result as { content?: { text?: string }[] };
  const text = content?.[0]?.text ?? "";
  // Outcome tools and an engine `command` refuse with a sentence and `isError`.
  return refusalIn(parseMessage(text)) ?? (isRefusedResult(response.result) ? { why: text || REFUSED } : undefined);
}

/** Returns true if a tool refused the whole write. After a protocol error, the broker may still have executed the write. */
function isUndone(response: RpcResponse): boolean {
  return "result" in response && isRefusedResult(response.result);
}

/** Returns why a tool failed, also for a checkpoint that filed only some of its notes. */
function refusalIn(answer: object): { why: string } | undefined {
  const { success, error, errors, diary } = answer as Record<string, unknown>;
  if (success === false || typeof error === "string") return { why: String(error ?? REFUSED) };
  if (Array.isArray(errors) && errors.length > 0) return { why: `some of its parts failed: ${JSON.stringify(errors)}` };
  return isRecord(diary) ? refusalIn(diary) : undefined;
}

/** Parses a message. Returns an empty message if the line is not a JSON object. */
export function parseMessage(line: string): Message {
  return parseRecord(line) as Message;
}
