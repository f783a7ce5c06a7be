/** `mempalace-docs why FILE` and `palace mine why FILE` explain what the docs feeder does with one file. */
import { explainFile } from "../../feeders/doc-miner/why.ts";
import { shownSource } from "../../feeders/came-from.ts";
import { connect, placeOf } from "../feeding/feeding.ts";
import { defineVerb, options } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace mine why FILE [--dir DIR] [--wing W]

Says whether \`palace mine docs\` files FILE and by which rule, and its wing, room and date.

  --dir DIR   the folder to scan (default: the folder it was filed from, the project's, or the file's own)
  --wing W    the wing that you would give to \`palace mine docs\``,
  options: options("dir= wing="),
  args: [1, 1],
  run: async ({ values, args, config, out }) => {
    const caller = await connect(config, "mempalace-docs", true);
    const found = await explainFile(
      { file: args[0] ?? "", dir: values.dir, wing: values.wing, ...placeOf(config) },
      caller,
    );
    if (out.isJson) return out.document(found);
    out.text(`${found.taken ? "taken" : "left out"}: ${found.reason}`);
    out.table(
      [
        ["project", `${found.project} (${found.projectFrom})`],
        ["wing", `${found.wing} (${found.wingFrom})`],
        ["room", found.room && `${found.room} (${found.roomFrom ?? ""})`],
        ["date", found.contentDate && `${found.contentDate} (${found.contentDateFrom ?? ""})`],
        ["source", found.sourceFile && shownSource(config, found.sourceFile)],
        ["palace", found.palace],
      ].filter((row): row is [string, string] => row[1] !== undefined && row[1] !== ""),
    );
    return 0;
  },
});
