/**
 * The shim connects an agent's stdio to the broker's stream. It adds an idempotency key to every tool call and otherwise
 * passes lines through. It holds no state worth saving; stdout carries only the protocol. Its start must be fast, so it
 * imports only a few of the client's files and Node's net and fs.
 */
import { Link } from "./client/link.ts";
import type { OfflineRules } from "./client/offline-rules.ts";
import type { Config } from "../config/config.ts";
import { newKey } from "../base/ids.ts";
import { projectHere } from "../base/project-names.ts";
import { agentName } from "../protocol/agent-name.ts";
import { PalaceError } from "../base/errors.ts";
import { requestTooLarge } from "../protocol/oversize.ts";
import { FRAME_SIZE_MAX_BYTES } from "../protocol/limits.ts";
import { CLIENT_INFO_META, IDEMPOTENCY_META, type RequestId, RPC } from "../protocol/spec.ts";
import { negotiateMcpVersion } from "../protocol/version.ts";
import { decodeFrame, FrameSplitter, idOfUnread } from "./transport/frame.ts";

/** The time that open calls still get for their answers after the agent has closed stdin. */
const FINISH_MAX_MS = 5_000;
const PARENT_CHECK_MS = 2_000;

type Message = { id?: RequestId | null; method?: string; params?: Record<string, unknown> };

/**
 * Runs until the agent goes; then the process ends. The folder that the agent has started it in tells the agent's project. `offline`:
 * loads the rules by which calls are answered without a broker.
 */
export function runShim(config: Config, agent: string, offline: () => Promise<OfflineRules>): void {
  const parent = process.ppid;
  let ending = false;

  const end = (): void => {
    link.close();
    process.exit(0);
  };
  const write = (line: Buffer | string): void => {
    process.stdout.write(typeof line === "string" ? `${line}\n` : Buffer.concat([line, LF]));
    if (ending && link.pendingCount === 0) end();
  };
  const project = projectHere(config.model.userHome);
  const link = new Link({ config, agent, start: "auto", project, onLine: write, offline });

  link.connectSoon();
  const listen = (): void => {
    // The id of a request that is too long may be at its end.
    const splitter = new FrameSplitter(FRAME_SIZE_MAX_BYTES, 2 * FRAME_SIZE_MAX_BYTES);
    process.stdin.on("data", (chunk: Buffer) => {
      for (const frame of splitter.push(chunk)) {
        if ("bytes" in frame) forward(link, frame.bytes, write);
        else write(refusal(idOfUnread(frame.head, frame.tail), RPC.INVALID_REQUEST, requestTooLarge()));
      }
    });
    process.stdin.on("end", () => {
      ending = true;
      if (link.pendingCount === 0) end();
      setTimeout(end, FINISH_MAX_MS);
    });
    process.stdin.on("error", end);
    process.stdout.on("error", end);
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, end);
    // The shim must not outlive a killed agent whose child keeps our stdin open.
    setInterval(() => process.ppid !== parent && end(), PARENT_CHECK_MS).unref();
  };
  // Reading stdin starts one turn later, when the handshake is sent: opening stdin takes as long as the broker's answer.
  setImmediate(listen);
}

const LF = Buffer.from("\n");

function forward(link: Link, bytes: Buffer, write: (line: string) => void): void {
  const decoded = decodeFrame(bytes);
  // The shim itself refuses such a line, because there may be no broker to do so.
  if (!decoded.ok) return decoded.why === "" ? undefined : write(unreadable(bytes, decoded.why));
  const line = bytes.toString("utf8");
  if (typeof decoded.message !== "object" || decoded.message === null) return link.send(undefined, line);
  const message = decoded.message as Message;
  const id = message.id ?? undefined;
  if (message.method === "notifications/cancelled") {
    const cancelled = message.params?.["requestId"];
    if (typeof cancelled === "string" || typeof cancelled === "number") link.cancel(cancelled, line);
    return;
  }
  // This message tells the broker the agent's name; the next connections give it in their handshake.
  if (message.method === "initialize") {
    nameAfterClient(link, message.params?.["clientInfo"]);
    link.revision = negotiateMcpVersion(message.params?.["protocolVersion"]);
  } else if (link.isUnnamed) nameAfterClient(link, metaOf(message)?.[CLIENT_INFO_META]);
  const isRequest = message.method !== undefined && id !== undefined;
  if (message.method === "tools/call" && typeof message.params === "object" && message.params !== null) {
    message.params["_meta"] = { [IDEMPOTENCY_META]: newKey(), ...metaOf(message) };
    link.send(isRequest ? id : undefined, JSON.stringify(message));
    return;
  }
  link.send(isRequest ? id : undefined, line);
}

function metaOf({ params }: Message): Record<string, unknown> | undefined {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as Record<string, unknown>) : undefined;
}

/** Requires a `link` without a name. */
function nameAfterClient(link: Link, clientInfo: unknown): void {
  const name = (clientInfo as { name?: unknown } | null | undefined)?.name;
  if (link.isUnnamed && typeof name === "string") link.agent = agentName(name);
}

/** The error has the broker's wording. */
function unreadable(bytes: Buffer, why: string): string {
  const error = new PalaceError("PROTOCOL_BAD_FRAME", why, "send one JSON-RPC message a line");
  return refusal(idOfUnread(bytes, bytes), RPC.PARSE_ERROR, error);
}

function refusal(id: RequestId | null, code: number, error: PalaceError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: error.message, data: error.toWire() } });
}
