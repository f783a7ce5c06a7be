/** Makes raw requests of MCP 2026-07-28, and the HTTP headers that they need. */
import { type Message, messageIn, type RawDoor } from "./mcp-doors.ts";

export const VERSION_META = "io.modelcontextprotocol/protocolVersion";
export const ENVELOPE = {
  [VERSION_META]: "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "modern", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

type Params = Record<string, unknown>;

/** Makes a request. `envelope`: the keys of `_meta`, by default those that every valid request has. */
export function modern(method: string, params: Params = {}, envelope: object = ENVELOPE): Message {
  return { id: 7, method, params: { ...params, _meta: envelope } };
}

export function headersOf({ method, params }: Message): Record<string, string> {
  const name = params?.["name"] ?? params?.["uri"];
  const version = (params?.["_meta"] as Params)[VERSION_META];
  return {
    "mcp-protocol-version": String(version),
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": name }),
  };
}

export type Said = { result?: Params; error?: { code: number; message: string; data?: unknown } };

export async function ask(door: RawDoor, method: string, params: Params = {}, envelope?: object): Promise<Said> {
  const message = modern(method, params, envelope);
  return messageIn(await door.say(message, headersOf(message))) as Said;
}
