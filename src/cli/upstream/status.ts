/** `mempalace status` lists drawers by wing and room, as upstream prints them. */
import { printable } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";
import { banner, explainNoPalace, isWithoutPalace } from "./format.ts";

const ROOM_WIDTH = 20;
const COUNT_WIDTH = 5;

export const verb = defineVerb({
  usage: `mempalace status

Shows what has been filed: drawers by wing and room.`,
  place: "any",
  run: async ({ config, connect, out }) => {
    if (isWithoutPalace(config, out)) return 0;
    const client = await connect("mempalace status");
    const answer = (await client.callTool("mempalace_get_taxonomy", {})) as {
      taxonomy?: Record<string, Record<string, number>>;
      error?: string;
    };
    if (out.isJson) return out.document(answer);
    if (answer.taxonomy === undefined) {
      if (answer.error === "No palace found") explainNoPalace(out, config.paths.palaceDir);
      else out.notice(`mempalace status: ${answer.error ?? "no answer"}`);
      return 0;
    }
    const wings = Object.entries(answer.taxonomy).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const total = wings.flatMap(([, rooms]) => Object.values(rooms)).reduce((sum, count) => sum + count, 0);
    banner(out, [`MemPalace Status -- ${total} drawers`]);
    for (const [wing, rooms] of wings) {
      out.text(`  WING: ${printable(wing)}`);
      for (const [room, count] of Object.entries(rooms).sort(([, a], [, b]) => b - a))
        out.text(`    ROOM: ${printable(room).padEnd(ROOM_WIDTH)} ${String(count).padStart(COUNT_WIDTH)} drawers`);
      out.text("");
    }
    out.text(`${"=".repeat(55)}\n`);
    return 0;
  },
});
