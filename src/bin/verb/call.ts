/** `palace call TOOL [JSON|-]`: one MCP tool from the command line. */
import { text as readText } from "node:stream/consumers";
import { connectClient } from "../../client/client.ts";
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
Exit code 1 when the tool's own answer is no (success false, or an error), which is printed all the same.`,
  options: {},
  args: [1, 2],
  place: ({ args: [tool = ""] }) => placeOfTool(tool),
  run: async ({ args: [tool = "", given], config, out }) => {
    const args = readArguments(given === "-" ? await readText(process.stdin) : (given ?? "{}"));
    const client = await connectClient({ config, agent: config.agentName ?? "palace call", start: "auto" });
    const name = fullName(tool);
    try {
      const value = await client.callTool(name, args);
      if (out.isTerminal && !out.isJson) out.text(JSON.stringify(value, undefined, 2));
      else out.document(value);
      return isRefusal(value) ? EXIT_REFUSED : 0;
    } catch (error) {
      if (!(error instanceof PalaceError && error.code === "PROTOCOL_UNKNOWN_METHOD")) throw error;
      const names = (await client.listTools()).map((one) => one.name.slice(PREFIX.length));
      const near = nearestWord(name.slice(PREFIX.length), names);
      throw new PalaceError(
        error.code,
        error.message,
        near === undefined ? "run `palace tools`" : `did you mean \`palace call ${near}\`?`,
        { cause: error },
      );
    } finally {
      client.close();
    }
  },
});

/** What a tool that writes is told, may begin a palace. */
async function placeOfTool(tool: string): Promise<"anew" | "there"> {
  const { WRITE_TOOLS } = await import("../../client/delivery.ts");
  return WRITE_TOOLS.has(fullName(tool)) ? "anew" : "there";
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
