/** `palace call TOOL [JSON|-]`: one MCP tool from the command line. */
import { text as readText } from "node:stream/consumers";
import { type Client, connectClient } from "../../client/client.ts";
import type { KeptCall } from "../../client/keep-call.ts";
import { newKey } from "../../platform/ids.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { Json, JsonObject } from "../../protocol/spec.ts";
import { nearestWord } from "../terminal/nearest.ts";
import { defineVerb } from "../verb.ts";

const PREFIX = "mempalace_";
/** The call was made and the tool said no; a call that could not be made has its error's own exit code. */
const EXIT_REFUSED = 1;

export const verb = defineVerb({
  usage: `palace call TOOL [JSON|-]

Calls one MCP tool with the JSON object as its arguments (- reads it from stdin) and prints its result. The prefix
${PREFIX} may be left out. Example: palace call search '{"query":"deployment"}'
While no broker can be reached, a write is kept and filed as soon as there is one ("spooled": true).
Exit code 1 when the tool's own answer is no (success false, or an error), which is printed all the same.`,
  options: {},
  args: [1, 2],
  place: ({ args: [tool = ""] }) => placeOfTool(tool),
  run: async ({ args: [tool = "", given], config, out }) => {
    const args = readArguments(given === "-" ? await readText(process.stdin) : (given ?? "{}"));
    const call = { config, agent: config.agentName ?? "palace call", name: fullName(tool), args, key: newKey() };
    const value = await callOrKeep(call);
    if (out.isTerminal && !out.isJson) out.text(JSON.stringify(value, undefined, 2));
    else out.document(value);
    return isRefusal(value) ? EXIT_REFUSED : 0;
  },
});

async function callOrKeep(call: KeptCall): Promise<Json> {
  const { config, agent } = call;
  const client = await connectClient({ config, agent, start: "auto" }).catch(asKnown);
  if (client instanceof PalaceError) return keep(call, client);
  try {
    return await callTool(client, call);
  } catch (error) {
    // A broker that went away under a write may have filed it: kept with its key, the write is done once.
    if (error instanceof PalaceError && error.code.startsWith("TRANSPORT_")) return await keep(call, error);
    throw error;
  } finally {
    client.close();
  }
}

/** Errors: `away` for what is no write, or cannot wait. */
async function keep(call: KeptCall, away: PalaceError): Promise<Json> {
  if (!(await isWriteTool(call.name))) throw away;
  const { keepCall } = await import("../../client/keep-call.ts");
  return keepCall(call, away);
}

function asKnown(error: unknown): PalaceError {
  if (error instanceof PalaceError) return error;
  throw error;
}

async function callTool(client: Client, { name, args, key }: KeptCall): Promise<Json> {
  try {
    return await client.callTool(name, args, { key });
  } catch (error) {
    if (!(error instanceof PalaceError && error.code === "PROTOCOL_UNKNOWN_METHOD")) throw error;
    const names = (await client.listTools()).map((one) => one.name.slice(PREFIX.length));
    const near = nearestWord(name.slice(PREFIX.length), names);
    const hint = near === undefined ? "run `palace tools`" : `did you mean \`palace call ${near}\`?`;
    throw new PalaceError(error.code, error.message, hint, { cause: error });
  }
}

/** What a tool that writes is told, may begin a palace. */
async function placeOfTool(tool: string): Promise<"anew" | "there"> {
  return (await isWriteTool(fullName(tool))) ? "anew" : "there";
}

async function isWriteTool(name: string): Promise<boolean> {
  const { WRITE_TOOLS } = await import("../../client/delivery.ts");
  return WRITE_TOOLS.has(name);
}

function fullName(tool: string): string {
  return tool.startsWith(PREFIX) ? tool : PREFIX + tool;
}

function isRefusal(value: Json): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return value["success"] === false || typeof value["error"] === "string";
}

function readArguments(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PalaceError("CONFIG_USAGE", "the arguments are not JSON", `write them as one word: '{"key":"value"}'`, {
      cause: error,
    });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new PalaceError(
    "CONFIG_USAGE",
    "the arguments are no JSON object",
    `write them as one word: '{"key":"value"}'`,
  );
}
