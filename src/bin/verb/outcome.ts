/** `palace outcome`: what memory that learns from outcomes holds, why a memory stands where it stands, and a person's own word on it. */
import { type Client, connectClient } from "../../client/client.ts";
import { newKey } from "../../platform/ids.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { MemoryTold } from "../../protocol/outcome.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import type { Output } from "../terminal/output.ts";
import { defineVerb, usageError } from "../verb.ts";

const USAGE = `palace outcome stats
palace outcome why ID
palace outcome score ID worked|failed|partial

Memory that learns from outcomes (docs/learning.md).

  stats  how many memories each collection holds
  why    what came of a memory: its outcomes, where it was moved, the conversations it was shown in. Any drawer that was scored has them
  score  your own word on it, which counts as an agent's does. \`palace forget ID\` erases it, \`palace undo\` takes an agent's scores back`;

export const verb = defineVerb({
  usage: USAGE,
  options: {},
  args: [1, 3],
  run: async ({ args: [what = "", ...rest], config, out }) => {
    const [id = "", outcome = ""] = rest;
    if (what === "stats" && rest.length === 0) return asking((client) => stats(client, out));
    if (what === "why" && rest.length === 1) return asking((client) => why(client, id, out));
    if (what === "score" && rest.length === 2) return asking((client) => score(client, id, outcome, out));
    throw usageError(
      USAGE,
      ["stats", "why", "score"].includes(what) ? "the arguments do not fit" : `there is no ${what}`,
    );

    async function asking(ask: (client: Client) => Promise<number>): Promise<number> {
      const client = await connectClient({ config, agent: config.agentName ?? "palace outcome", start: "auto" });
      return ask(client).finally(() => client.close());
    }
  },
});

async function stats(client: Client, out: Output): Promise<number> {
  const held = await client.call("outcome.stats", {});
  if (out.isJson) out.document(held);
  else
    out.table([
      ...Object.entries(held.collections),
      ["archived", held.archived],
      ["conversations", held.conversations],
    ]);
  return 0;
}

async function why(client: Client, id: string, out: Output): Promise<number> {
  const told = await client.call("outcome.why", { id });
  if (!told.found) throw new PalaceError("PROTOCOL_BAD_PARAMS", `no memory ${id}`, "palace search WORDS shows ids");
  if (out.isJson) out.document(told);
  else print(told, out);
  return 0;
}

function print(told: MemoryTold, out: Output): void {
  const { id, wing, room, text, score, uses, successes, proven, outcomes, moves, shownIn } = told;
  out.text(text);
  out.table([
    ["id", id],
    ["place", `${wing}/${room}`],
    ["score", score ?? "nobody has scored it"],
    ["uses", uses === 0 ? "none" : `${uses}, ${successes} of them well; ${Math.round((proven ?? 0) * 100)} % proven`],
    ...outcomes.map(({ at, outcome, reason }) => [at, reason === null ? outcome : `${outcome}: ${reason}`]),
    ...moves.map(({ timestamp, from, to, score: then, uses: times }) => [
      timestamp,
      `${from} → ${to}, score ${then}, uses ${times}`,
    ]),
    ...shownIn.map(({ at, conversation, turn }) => [at, `shown in ${conversation}, turn ${turn}`]),
  ]);
}

async function score(client: Client, id: string, outcome: string, out: Output): Promise<number> {
  const { found } = await client.call("outcome.why", { id });
  if (!found) throw new PalaceError("PROTOCOL_BAD_PARAMS", `no memory ${id}`, "palace search WORDS shows ids");
  const args = { outcome: "unknown", memory_scores: { [id]: outcome } };
  const { text, isError } = (await client.callTool("score_memories", args, { key: newKey() })) as JsonObject;
  if (isError === true)
    throw new PalaceError(
      "CONFIG_USAGE",
      `${outcome} is no outcome`,
      `palace outcome score ${id} worked|failed|partial`,
    );
  if (out.isJson) out.document({ id, outcome, text });
  else out.text(`${id}: ${outcome}`);
  return 0;
}
