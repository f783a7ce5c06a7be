/** `palace call TOOL [JSON|-]` calls one MCP tool from the command line. */
import { newKey } from "../../base/ids.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import { findTool, TOOL_PREFIX } from "../../protocol/tools/table.ts";
import { isRefusal } from "../../protocol/tools/result.ts";
import { callOrSpool, readArguments } from "../tool-call.ts";
import { readUtf8 } from "../terminal/utf8.ts";
import { defineVerb } from "../define-verb.ts";

/** Exit code if the tool refused. If the call could not be made, the error decides the exit code. */
const EXIT_REFUSED = 1;

export const verb = defineVerb({
  usage: `palace call TOOL [JSON|-]

Calls one MCP tool with the JSON object as its arguments (- reads it from stdin) and prints its result. The prefix
${TOOL_PREFIX} may be left out. Example: palace call search '{"query":"deployment"}'
If no broker answers, a write is spooled and filed as soon as one does ("spooled": true).
Exit code 1 if the tool reports failure (success false, or an error); its answer is printed anyway.`,
  args: [1, 2],
  // A call of a tool that writes may create a palace.
  place: ({ args: [tool = ""] }) => (findTool(fullName(tool))?.kind === "write" ? "anew" : "there"),
  run: async ({ args: [tool = "", given], config, out }) => {
    const args = readArguments(given === "-" ? await readUtf8(process.stdin) : (given ?? "{}"));
    const call = { config, agent: config.agentName ?? "palace call", name: fullName(tool), args, key: newKey() };
    const value = await callOrSpool(call);
    if (!out.isJson && findTool(call.name)?.surface === "outcome") out.text(String((value as JsonObject)["text"]));
    else if (out.isTerminal && !out.isJson) out.text(JSON.stringify(value, undefined, 2));
    else out.document(value);
    return isRefusal(value) ? EXIT_REFUSED : 0;
  },
});

function fullName(tool: string): string {
  return tool.startsWith(TOOL_PREFIX) || findTool(tool) !== undefined ? tool : TOOL_PREFIX + tool;
}
