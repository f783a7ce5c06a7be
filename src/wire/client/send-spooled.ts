/** Delivers spooled writes to a broker: one by one, in order, each until it is acknowledged. Loaded only when needed. */
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import type { WireErrorData } from "../../base/errors.ts";
import { AUTHOR_META, WRITTEN_META } from "../../protocol/headers.ts";
import { RPC, type RpcRequest, type RpcResponse } from "../../protocol/spec.ts";
import { isRefusedResult } from "../../protocol/tools/result.ts";
import { findTool, type Tool } from "../../protocol/tools/table.ts";
import type { Spool, SpoolEntry } from "./spool.ts";

/**
 * Result of a delivery. `interrupted` and `stuck` leave the remaining writes in place and in order. `waiting` leaves single writes that the
 * broker refuses for now, although it accepts others.
 */
export type Delivery = "delivered" | "waiting" | "interrupted" | "stuck";

/** Maximum number of temporary refusals of a write. After more refusals the delivery skips the write and continues. */
const REFUSALS_MAX = 3;
/** Maximum number of temporarily refused writes of one tool in one delivery. Then the delivery skips the tool's other writes. */
const LEFT_MAX = 16;
/** Reason of a refusal that gives none. */
const REFUSED = "the tool refused it";

/** A request or notification; its `params`, if any, are an object. */
export type Message = RpcRequest & { params?: Record<string, unknown> };

/** Returns true for an agent's write and for the end of its turn. */
export function isWrite(line: string): boolean {
  const { method, params } = parseMessage(line);
  return method === "turn.end" || (method === "tools/call" && findTool(params?.["name"])?.kind === "write");
}

/** Returns true if the call may wait for a broker. */
export function isForLater({ spool }: Tool, values: Record<string, unknown>): boolean {
  return spool === "always" || (spool === "unless dry" && values["dry_run"] === false);
}

/**
 * Sends the spooled writes one by one, in order. `ask` sends one message of `agent`, and returns undefined if the connection ended. Removes
 * an acknowledged write, and sets aside a write that the broker refuses permanently. After a temporary refusal the delivery stops, so that
 * the writes stay in order. After `REFUSALS_MAX` temporary refusals of one write the delivery skips that write.
 */
export async function deliver(
  spool: Spool,
  ask: (message: RpcRequest, agent: string) => Promise<RpcResponse | undefined>,
): Promise<Delivery> {
  const seen = new Set<string>();
  /** Writes of each tool that the broker refused for now in this delivery. */
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
      // An older broker or another engine does not know turns, and a reader may not write. The write waits for another broker or token.
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
        // The broker accepts this write, so it refused each skipped write because of that write's content.
        for (const one of [...left.values()].flat()) spool.unsendable.add(one);
      } else if (!spool.refuse(name, refusal.why, isUndone(response))) return "stuck";
    }
  }
  const waiting = [...left.values()].flat();
  if (waiting.length === 0) return "delivered";
  return waiting.every((name) => spool.unsendable.has(name)) ? "waiting" : "stuck";
}

/** Adds the time of writing and the agent that wrote. */
function signed({ params, ...message }: Message, { atMs, agent }: Pick<SpoolEntry, "atMs" | "agent">): Message {
  const meta = isRecord(params?.["_meta"]) ? params["_meta"] : {};
  return { ...message, params: { ...params, _meta: { ...meta, [WRITTEN_META]: atMs, [AUTHOR_META]: agent } } };
}

/**
 * Returns why the broker refused. "passing": a temporary refusal, because a person can change the palace's state (a full disk, a damaged or
 * newer ledger). "elsewhere": another broker or token may accept the write. `why`: wrong arguments, or the tool's own failure.
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
  // No tool answers like this, so the write is not acknowledged.
  if (!isRecord(response.result)) return "passing";
  const { content } = response.result as { content?: { text?: string }[] };
  const text = content?.[0]?.text ?? "";
  // Outcome tools and the engine `command` refuse in a sentence, with `isError`.
  return refusalIn(parseMessage(text)) ?? (isRefusedResult(response.result) ? { why: text || REFUSED } : undefined);
}

/** Returns true if a tool refused the whole write. After a protocol error the write may have been done all the same. */
function isUndone(response: RpcResponse): boolean {
  return "result" in response && isRefusedResult(response.result);
}

/** Returns a tool's own failure, or a checkpoint's report of parts that it could not file. */
function refusalIn(answer: object): { why: string } | undefined {
  const { success, error, errors, diary } = answer as Record<string, unknown>;
  if (success === false || typeof error === "string") return { why: String(error ?? REFUSED) };
  if (Array.isArray(errors) && errors.length > 0) return { why: `some of its parts failed: ${JSON.stringify(errors)}` };
  return isRecord(diary) ? refusalIn(diary) : undefined;
}

/** Parses a message; any other text gives an empty message. */
export function parseMessage(line: string): Message {
  return parseRecord(line) as Message;
}
