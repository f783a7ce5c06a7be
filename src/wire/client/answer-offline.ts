/** Answers an agent in an outage: the handshake, lists, an acknowledgement for a spooled write, an error for a read. */
import { existsSync } from "node:fs";
import type { Config } from "../../config/config.ts";
import { RpcFailure } from "../../protocol/rpc-error.ts";
import { checkArguments } from "../../protocol/tools/arguments.ts";
import { isRecord } from "../../base/parse-json.ts";
import { mountOf } from "../../base/mount.ts";
import { VERSION } from "../../base/version.ts";
import { PalaceError, unwritable } from "../../base/errors.ts";
import { introduction } from "../../protocol/introduction.ts";
import { LISTS_TTL_MS, modernResult, readEnvelope } from "../../protocol/modern.ts";
import { offer } from "../../protocol/offers.ts";
import { IDEMPOTENCY_META } from "../../protocol/headers.ts";
import { toolsOf } from "../../protocol/tools/profile.ts";
import { toolResult } from "../../protocol/tools/result.ts";
import { findTool, type Tool } from "../../protocol/tools/table.ts";
import { type McpVersion, SERVER_NAME } from "../../protocol/version.ts";
import { isForLater, type Message, parseMessage } from "./send-spooled.ts";
import { promisedId } from "./learned-id-recipe.ts";
import { toRpcError } from "./rpc-error.ts";
import type { OfflineRules } from "./offline-rules.ts";
import type { Spool, SpooledWrite } from "./spool.ts";

/** Circumstances of an outage. `away`: why no broker answers. `revision`: MCP revision of the client's handshake. */
export type Absence = {
  agent: string;
  revision?: McpVersion | undefined;
  config: Config;
  rules: OfflineRules;
  spool: Spool;
  away: PalaceError;
};

/** Returns the answer to the request `line`. A write is on disk when this returns. */
export function answerInstead(line: string, absence: Absence): string {
  const message = parseMessage(line);
  const id = message.id ?? null;
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(message, line, absence) });
  } catch (error) {
    return JSON.stringify({ jsonrpc: "2.0", id, error: error instanceof RpcFailure ? error.error : toRpcError(error) });
  }
}

function resultOf(message: Message, line: string, absence: Absence): object {
  const { method = "", params = {} } = message;
  const { config, revision } = absence;
  const envelope = readEnvelope(method, params);
  if (envelope !== undefined) {
    if ("error" in envelope) throw new RpcFailure(envelope.error);
    const result = offer(method, config.tools) ?? keptWrite(message, line, absence, true);
    return modernResult(method, result, { serverInfo: { name: SERVER_NAME, version: VERSION }, ttlMs: LISTS_TTL_MS });
  }
  if (method === "initialize") return introduction(params["protocolVersion"], VERSION);
  if (method === "ping") return {};
  if (method === "tools/list") return { tools: toolsOf(config.tools, revision) };
  return keptWrite(message, line, absence, false);
}

/** Spools a write. Errors: `away` for every other call; RpcFailure for invalid arguments. */
function keptWrite(
  { method, params = {} }: Message,
  line: string,
  { agent, config, rules, spool, away }: Absence,
  isModern: boolean,
): object {
  const tool = method === "tools/call" ? findTool(params["name"]) : undefined;
  if (tool?.kind !== "write") throw away;
  const checked = checkArguments(tool, params["arguments"]);
  if (!checked.ok) throw new RpcFailure(checked.error);
  if (!isForLater(tool, checked.values)) throw away;
  const meta = params["_meta"];
  const key = isRecord(meta) ? meta[IDEMPOTENCY_META] : undefined;
  if (typeof key !== "string") throw away;
  const atMs = Date.now();
  const refused = rules.answerWithoutPalace({ tool: tool.name, params: checked.values, key, atMs, agent });
  if (refused !== undefined) return toolResult(tool, refused.value, isModern);
  append(spool, { atMs, agent, tool: tool.fullName, key, line }, { away, config });
  const id = tool.name === "add_drawer" ? promisedId(rules, config.paths, checked.values) : undefined;
  const kept = `No broker can be reached (${away.message}). The write is safe on this machine and is filed as soon as there is one`;
  if (tool.surface === "outcome") return toolResult(tool, { text: `${kept}.` }, isModern);
  const value = { success: true, spooled: true, ...(id !== undefined && { drawer_id: id }) };
  return toolResult(tool, { ...value, message: `${kept}; ${aboutId(tool, id)}.` }, isModern);
}

/** Spools the write. Errors: as Spool.append; TRANSPORT_SANDBOXED if the sandbox also forbids writing the spool. */
function append(spool: Spool, write: SpooledWrite, { away, config }: Pick<Absence, "away" | "config">): void {
  try {
    if (away.code === "TRANSPORT_SANDBOXED") assertOutlives(spool.folder, config);
    spool.append(write);
  } catch (error) {
    if (away.code !== "TRANSPORT_SANDBOXED" || !(error instanceof PalaceError)) throw error;
    const message = `${away.message}, and the write cannot be kept on this machine either: ${error.message}`;
    throw new PalaceError(away.code, message, away.hint, { cause: error });
  }
}

/** Mount points of the machine's own tmpfs file systems, which survive a sandbox. */
const SHARED_MEMORY = ["/dev/shm", "/tmp"];

/** Refuses a spool in the sandbox's own memory (tmpfs), which is lost when the sandbox ends. Errors: STORE_READ_ONLY. */
function assertOutlives(folder: string, { paths: { ledgerFile } }: Config): void {
  const mount = mountOf(folder);
  if (mount?.type !== "tmpfs" || SHARED_MEMORY.includes(mount.point) || existsSync(ledgerFile)) return;
  throw unwritable(`${folder} is in memory (tmpfs at ${mount.point}) and is lost with the sandbox`, "");
}

function aboutId({ name }: Tool, id: string | undefined): string {
  if (id !== undefined) return "drawer_id is the id that the drawer will have";
  if (name !== "add_drawer") return "the broker makes the ids then";
  return "the broker makes its id then, because no answer has shown this machine how the palace makes ids";
}
