/** `palace tools`: the MCP tools that agents see. */
import { connectClient } from "../../client/client.ts";
import { shorten } from "../output.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  usage: `palace tools

Lists the MCP tools with what they do; --json has their parameters.`,
  options: {},
  args: [0, 0],
  run: async ({ config, out }) => {
    const client = await connectClient({ config, agent: "palace tools", start: "auto" });
    const tools = await client.listTools();
    client.close();
    if (out.isJson) {
      out.document(tools);
      return 0;
    }
    const width = Math.max(0, ...tools.map(({ name }) => name.length));
    const room = out.isTerminal ? Math.max(out.columns - width - 3, 20) : Infinity;
    out.table(tools.map(({ name, description }) => [name, shorten(description, room)]));
    return 0;
  },
});
