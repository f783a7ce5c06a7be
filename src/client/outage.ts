/**
 * What an agent is told while no broker can be reached: that the server is there and which tools it has, that its write is
 * kept and will be filed, and, at once, that nothing can be read for now. Loaded when it happens.
 */
import { checkArguments, isRecord } from "../engine/arguments.ts";
import { findTool, TOOL_PREFIX, TOOLS } from "../engine/tool-table.ts";
import { VERSION } from "../platform/version.ts";
import { PalaceError, type WireErrorData } from "../protocol/errors.ts";
import { IDEMPOTENCY_META, RPC, type RpcError, type RpcRequest, type RpcResponse } from "../protocol/spec.ts";
import { negotiateMcpVersion, SERVER_NAME } from "../protocol/version.ts";
import type { Spool, SpoolEntry } from "./spool.ts";

/** The tools that change the palace; a test holds the list against the engine's own. */
export const WRITE_TOOLS: ReadonlySet<string> = new Set(
  ["add_drawer", "delete_drawer", "update_drawer", "diary_write"].map((name) => TOOL_PREFIX + name),
);

/** Why there is no broker, and where writes are kept meanwhile. */
export type Absence = { agent: string; spool: Spool; away: PalaceError };

/** What became of all that was kept; `interrupted` and `stuck` leave the rest where it is, in its order. */
export type Delivery = "delivered" | "interrupted" | "stuck";

type Message = RpcRequest & { params?: Record<string, unknown> };

/** The broker's errors that leave nothing but waiting for a broker; others are the user's to mend and say so. */
export function isOutage({ code }: PalaceError): boolean {
  if (["BROKER_STOPPED", "BROKER_START_FAILED", "PALACE_FOREIGN_MOUNT"].includes(code)) return true;
  return code.startsWith("TRANSPORT_") || code.startsWith("STORE_");
}

export function isWrite(line: string): boolean {
  const { method, params } = parse(line);
  return method === "tools/call" && WRITE_TOOLS.has(String(params?.["name"]));
}

/** The answer to `line`, a request, in the broker's place. A write has been kept when this returns. */
export function answerInstead(line: string, { agent, spool, away }: Absence): string {
  const message = parse(line);
  const id = message.id ?? null;
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(message, line, { agent, spool, away }) });
  } catch (error) {
    return JSON.stringify({ jsonrpc: "2.0", id, error: toRpcError(error as Error) });
  }
}

function resultOf({ method, params = {} }: Message, line: string, { agent, spool, away }: Absence): object {
  if (method === "initialize")
    return {
      protocolVersion: negotiateMcpVersion(params["protocolVersion"]),
      capabilities: { tools: {} },
      serverInfo: { name: SERVER_NAME, version: VERSION },
    };
  if (method === "ping") return {};
  if (method === "tools/list") return { tools: TOOLS };
  const name = String(params["name"]);
  const tool = method === "tools/call" ? findTool(name) : undefined;
  if (tool === undefined || !WRITE_TOOLS.has(name)) throw away;
  const checked = checkArguments(name, tool.inputSchema, params["arguments"]);
  if (!checked.ok) throw new Refusal(checked.error);
  const meta = params["_meta"];
  const key = isRecord(meta) ? meta[IDEMPOTENCY_META] : undefined;
  if (typeof key !== "string") throw away;
  spool.append({ atMs: Date.now(), agent, tool: name, key, line });
  const value = {
    success: true,
    spooled: true,
    message: `No broker can be reached (${away.message}). The write is safe on this machine and is filed as soon as there is one.`,
  };
  return { content: [{ type: "text", text: JSON.stringify(value, null, 2) }] };
}

/**
 * Puts what is kept to a broker, one by one, in order; `ask` gives its answer, undefined when the connection ended. Each goes
 * away when it is acknowledged, and aside when the broker refuses it for good.
 */
export async function deliver(
  spool: Spool,
  ask: (message: RpcRequest) => Promise<RpcResponse | undefined>,
): Promise<Delivery> {
  const seen = new Set<string>();
  const next = (): SpoolEntry[] => spool.entries().filter(({ name }) => !seen.has(name));
  for (let entries = next(); entries.length > 0; entries = next()) {
    for (const { name, line } of entries) {
      seen.add(name);
      if (!isWrite(line)) {
        if (!spool.refuse(name, "it holds no write")) return "stuck";
        continue;
      }
      const response = await ask(parse(line));
      if (response === undefined) return "interrupted";
      const refusal = refusalOf(response);
      if (refusal === "passing") return "stuck";
      if (refusal === undefined) spool.remove(name);
      else if (!spool.refuse(name, refusal.why)) return "stuck";
    }
  }
  return "delivered";
}

/** A full disk passes; wrong arguments do not, nor does a tool's own "no". */
function refusalOf(response: RpcResponse): "passing" | { why: string } | undefined {
  if ("error" in response) {
    const data = (response.error.data ?? {}) as Partial<WireErrorData>;
    const isPassing = data.retryable === true || /^(?:STORE|PALACE)_/.test(data.code ?? "");
    return isPassing ? "passing" : { why: response.error.message };
  }
  const { content } = response.result as { content?: { text?: string }[] };
  const value = parse(content?.[0]?.text ?? "") as Record<string, unknown>;
  return value["success"] === false ? { why: String(value["error"] ?? "the tool refused it") } : undefined;
}

class Refusal extends Error {
  readonly error: RpcError;
  constructor(error: RpcError) {
    super(error.message);
    this.error = error;
  }
}

function toRpcError(error: Error): RpcError {
  if (error instanceof Refusal) return error.error;
  if (!(error instanceof PalaceError)) throw error;
  const message = error.hint === "" ? error.message : `${error.message}; ${error.hint}`;
  return { code: RPC.SERVER_ERROR, message, data: error.toWire() };
}

function parse(line: string): Message {
  try {
    const message = JSON.parse(line) as unknown;
    return isRecord(message) ? (message as Message) : ({} as Message);
  } catch {
    return {} as Message;
  }
}
