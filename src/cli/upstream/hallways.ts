/** `mempalace hallways` lists names that occur together in a wing, strongest pairs first, in upstream's format. */
import { PalaceError } from "../../base/errors.ts";
import { printable } from "../terminal/output.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";
import { isWithoutPalace } from "./format.ts";

const SHOWN = 50;
const PAGE = 500;
const WING_WIDTH = 36;
const COUNT_WIDTH = 7;

type Hallway = { label?: string; entity_a?: string; entity_b?: string };

export const verb = defineVerb({
  usage: `mempalace hallways [--wing W] [--limit N] [--rebuild]

Lists the pairs of names that occur in the same drawers. --rebuild finds them again in the drawers of a wing, or of every wing.`,
  options: options("wing= limit= rebuild prune-spellings yes"),
  place: "any",
  run: async ({ values, config, connect, out }) => {
    if (values["prune-spellings"] === true)
      throw new PalaceError(
        "ENGINE_UNSUPPORTED",
        "this program treats all spellings of a name as one name",
        "mempalace hallways --rebuild",
      );
    const limit = readCount(values.limit, "limit", SHOWN);
    if (isWithoutPalace(config, out)) return 0;
    const client = await connect("mempalace hallways");
    if (values.rebuild === true) {
      const wings = values.wing === undefined ? await wingsOf() : [values.wing];
      const made: { wing: string; hallways: number }[] = [];
      for (const wing of wings) {
        let answer = await client.call("link.rebuild", { wing });
        while (answer.left > 0) answer = await client.call("link.rebuild", { wing });
        made.push({ wing, hallways: answer.hallways });
        if (!out.isJson)
          out.text(`  ${printable(wing).padEnd(WING_WIDTH)} ${String(answer.hallways).padStart(COUNT_WIDTH)} hallways`);
      }
      const total = made.reduce((sum, { hallways }) => sum + hallways, 0);
      return out.answer({ wings: made, total }, `  Rebuilt ${total} hallways across ${made.length} wing(s).`);
    }
    const { hallways, total } = await page(0, 1);
    const shown: Hallway[] = [];
    while (shown.length < Math.min(limit, total)) {
      const next = await page(shown.length, Math.min(PAGE, limit - shown.length));
      if (next.hallways.length === 0) break;
      shown.push(...next.hallways);
    }
    const none = "No hallways yet -- they are built from drawer entities when you mine.";
    const labelOf = ({ label, entity_a: a = "?", entity_b: b = "?" }: Hallway): string =>
      `    ${printable(label || `${a} <-> ${b}`)}`;
    return out.answer({ total, hallways: shown }, () =>
      out.text(
        hallways.length === 0 ? none : [`  ${total} hallway(s):`, ...shown.map((one) => labelOf(one))].join("\n"),
      ),
    );

    async function page(offset: number, count: number): Promise<{ hallways: Hallway[]; total: number }> {
      const place = values.wing === undefined ? {} : { wing: values.wing };
      const answer = await client.callTool("mempalace_list_hallways", { ...place, offset, limit: count });
      return answer as { hallways: Hallway[]; total: number };
    }

    async function wingsOf(): Promise<string[]> {
      const { wings = {} } = (await client.callTool("mempalace_list_wings", {})) as { wings?: Record<string, number> };
      return Object.keys(wings).sort();
    }
  },
});
