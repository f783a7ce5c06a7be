/** Makes one tool call for a command: the broker answers it, or a write is spooled. */
import { type Client, connectClient } from "../wire/client/client.ts";
import type { CommandCall } from "../wire/client/command-offline.ts";
import { PalaceError, wrongUsage } from "../base/errors.ts";
import { newKey } from "../base/ids.ts";
import { isRecord, parseJson } from "../base/parse-json.ts";
import type { Json, JsonObject } from "../protocol/spec.ts";
import { isRefusal } from "../protocol/tools/result.ts";
import { findTool, TOOL_PREFIX } from "../protocol/tools/table.ts";
import { nearestWord } from "../base/nearest.ts";

export async function callOrSpool(call: CommandCall): Promise<Json> {
  const { config, agent } = call;
  const client = await connectClient({ config, agent, start: "auto" }).catch(asKnown);
  if (client instanceof PalaceError) return spool(call, client);
  try {
    return await callTool(client, call);
  } catch (error) {
    // A broker that disappeared during a write may have filed it. The spooled write has the same key, so it counts once.
    if (error instanceof PalaceError && error.code.startsWith("TRANSPORT_")) return await spool(call, error);
    throw error;
  } finally {
    client.close();
  }
}

/** Spools a write. Errors: `away`, the error of the missing broker, if the call does not write or cannot be spooled. */
async function spool(call: CommandCall, away: PalaceError): Promise<Json> {
  if (findTool(call.name)?.kind !== "write") throw away;
  const [{ spoolCall }, { OFFLINE_RULES }] = await Promise.all([
    import("../wire/client/command-offline.ts"),
    import("../broker/tools/offline.ts"),
  ]);
  return spoolCall(call, { away, rules: OFFLINE_RULES });
}

/** Makes a write for a person. Errors: as callOrSpool; PROTOCOL_BAD_PARAMS with `hint` if the tool refuses the write. */
export async function writeOrSpool(call: Omit<CommandCall, "key">, hint: string): Promise<JsonObject> {
  const done = (await callOrSpool({ ...call, key: newKey() })) as JsonObject;
  if (isRefusal(done)) throw new PalaceError("PROTOCOL_BAD_PARAMS", String(done["error"]), hint);
  return done;
}

function asKnown(error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  throw error;
}

async function callTool(client: Client, { name, args, key }: CommandCall): Promise<Json> {
  try {
    return await client.callTool(name, args, { key });
  } catch (error) {
    if (!(error instanceof PalaceError && error.code === "PROTOCOL_UNKNOWN_METHOD")) throw error;
    const names = (await client.listTools()).map((one) => one.name.slice(TOOL_PREFIX.length));
    const near = nearestWord(name.slice(TOOL_PREFIX.length), names);
    const hint = near === undefined ? "run `palace call tools`" : `did you mean \`palace call ${near}\`?`;
    throw new PalaceError(error.code, error.message, hint, { cause: error });
  }
}

/** Returns the JSON object in `text`. Errors: CONFIG_USAGE. */
export function readArguments(text: string): JsonObject {
  const value = parseJson(text);
  if (isRecord(value)) return value as JsonObject;
  const what = value === undefined ? "JSON" : "a JSON object";
  throw wrongUsage(`the arguments are not ${what}`, `write them as one word: '{"key":"value"}'`);
}
