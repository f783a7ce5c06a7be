/** Shim: connects an agent's stdio to the broker. It must start fast, so it imports few files. */
import { Link } from "./client/link.ts";
import type { OfflineRules } from "./client/offline-rules.ts";
import type { Config } from "../config/config.ts";
import { newKey } from "../base/ids.ts";
import { projectHere } from "../base/project-names.ts";
import { agentName } from "../protocol/agent-name.ts";
import { PalaceError } from "../base/errors.ts";
import { requestTooLarge } from "../protocol/oversize.ts";
import { FRAME_SIZE_MAX_BYTES } from "../protocol/limits.ts";
import { CLIENT_INFO_META, IDEMPOTENCY_META } from "../protocol/headers.ts";
import { type RequestId, RPC } from "../protocol/spec.ts";
import { negotiateMcpVersion } from "../protocol/version.ts";
import type { ShimTrace } from "./shim-trace.ts";
import { decodeFrame, FrameSplitter, idOfUnread } from "./transport/frame.ts";

/** Time that open calls get for their answers after the agent has closed stdin. */
const FINISH_MAX_MS = 5_000;
const PARENT_CHECK_MS = 2_000;

type Message = { id?: RequestId | null; method?: string; params?: Record<string, unknown> };

/** Runs until the agent closes stdin or dies, then ends the process. `offline`: loads the rules for answers without a broker. */
export function runShim(config: Config, agent: string, offline: () => Promise<OfflineRules>): void {
  const parent = process.ppid;
  let ending = false;

  let trace: ShimTrace | undefined;
  const end = (): void => {
    link.close();
    if (trace === undefined) process.exit(0);
    void trace.close().then(() => process.exit(0));
  };
  const write = (line: Buffer | string): void => {
    trace?.answer(line);
    process.stdout.write(typeof line === "string" ? `${line}\n` : Buffer.concat([line, LF]));
    if (ending && link.pendingCount === 0) end();
  };
  const project = projectHere(config.model.userHome);
  const link = new Link({ config, agent, start: "auto", project, onLine: write, offline });

  link.connectSoon();
  const listen = (): void => {
    // Waits for the end of a too long request, up to twice the limit, because the id may be at the end.
    const splitter = new FrameSplitter(FRAME_SIZE_MAX_BYTES, 2 * FRAME_SIZE_MAX_BYTES);
    process.stdin.on("data", (chunk: Buffer) => {
      for (const frame of splitter.push(chunk)) {
        if ("bytes" in frame) forward(link, frame.bytes, write, trace);
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
    // A child of a killed agent may keep our stdin open. The shim must end anyway.
    setInterval(() => process.ppid !== parent && end(), PARENT_CHECK_MS).unref();
  };
  // Opens stdin only after the request to the broker is sent, so that the broker works while stdin is opened.
  if (config.tracing !== "on") setImmediate(listen);
  else
    void loadTrace().then((loaded) => {
      trace = loaded;
      listen();
    });
}

/** Returns undefined if the tracer cannot be loaded. Tracing is then off. */
async function loadTrace(): Promise<ShimTrace | undefined> {
  try {
    return new (await import("./shim-trace.ts")).ShimTrace();
  } catch {
    return undefined;
  }
}

const LF = Buffer.from("\n");

function forward(link: Link, bytes: Buffer, write: (line: string) => void, trace: ShimTrace | undefined): void {
  const decoded = decodeFrame(bytes);
  // The shim itself refuses an unreadable line, also in an outage.
  if (!decoded.ok) return decoded.why === "" ? undefined : write(unreadable(bytes, decoded.why));
  const line = bytes.toString("utf8");
  if (typeof decoded.message !== "object" || decoded.message === null) return link.send(undefined, line);
  const message = decoded.message as Message;
  const id = message.id ?? undefined;
  if (message.method === "notifications/cancelled") {
    const cancelled = message.params?.["requestId"];
    if (typeof cancelled !== "string" && typeof cancelled !== "number") return;
    link.cancel(cancelled, line);
    trace?.cancel(cancelled);
    return;
  }
  // Later connections send the agent's name and the revision in headers.
  if (message.method === "initialize") {
    nameAfterClient(link, message.params?.["clientInfo"]);
    link.revision = negotiateMcpVersion(message.params?.["protocolVersion"]);
  } else if (link.isUnnamed) nameAfterClient(link, metaOf(message)?.[CLIENT_INFO_META]);
  const isRequest = message.method !== undefined && id !== undefined;
  if (message.method === "tools/call" && typeof message.params === "object" && message.params !== null) {
    const meta = { [IDEMPOTENCY_META]: newKey(), ...metaOf(message) };
    message.params["_meta"] = isRequest && trace !== undefined ? trace.begin(id, message, meta, link.revision) : meta;
    link.send(isRequest ? id : undefined, JSON.stringify(message));
    return;
  }
  link.send(isRequest ? id : undefined, line);
}

function metaOf({ params }: Message): Record<string, unknown> | undefined {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as Record<string, unknown>) : undefined;
}

/** Sets the link's agent name to the MCP client's name, unless the link has a name. */
function nameAfterClient(link: Link, clientInfo: unknown): void {
  const name = (clientInfo as { name?: unknown } | null | undefined)?.name;
  if (link.isUnnamed && typeof name === "string") link.agent = agentName(name);
}

/** Returns the same error for an unreadable line as a broker does. */
function unreadable(bytes: Buffer, why: string): string {
  const error = new PalaceError("PROTOCOL_BAD_FRAME", why, "send one JSON-RPC message a line");
  return refusal(idOfUnread(bytes, bytes), RPC.PARSE_ERROR, error);
}

function refusal(id: RequestId | null, code: number, error: PalaceError): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: error.message, data: error.toWire() } });
}
