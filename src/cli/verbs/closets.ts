/** `palace repair closets` rebuilds the index of mined files from their drawers. */
import { readRegistry } from "../../feeders/doc-miner/registry.ts";
import { nearestWord } from "../../base/nearest.ts";
import { wrongUsage } from "../../base/errors.ts";
import { CLOSET_SOURCES_MAX, KNOWN_NAMES_MAX } from "../../protocol/limits.ts";
import { type Output, plural, printable } from "../terminal/output.ts";
import type { Client } from "../../wire/client/client.ts";
import { defineVerb, options } from "../define-verb.ts";

/** Maximum number of known names for a request about several files. With more names, such a request would take too long. */
const NAMES_FEW = 100;

export const verb = defineVerb({
  usage: `palace repair closets [--wing W]

Rebuilds the closets of mined files from their drawers. Use it after you adopted a palace without closets, or after an edit removed
the closets of a file. Closets point MemPalace's search at the right files. It keeps closets that a language model has written;
conversations have no closets.

  --wing W    only files of wing W`,
  options: options("wing="),
  args: [0, 1],
  forOwner: true,
  run: async ({ values: { wing }, args, config, connect, out }) => {
    // `palace closets rebuild` is the old name.
    if (args[0] !== undefined && args[0] !== "rebuild")
      throw wrongUsage(`palace repair closets ${args[0]} is not a command`, "palace repair closets --help");
    const client = await connect("palace closets");
    const { sources } = await client.call("closet.sources", wing === undefined ? {} : { wing });
    if (wing !== undefined && sources.length === 0) await tellAbsentWing(client, wing, out);
    const report = { sources: 0, closets: 0, kept: 0 };
    const knownNames = readRegistry(config.paths.knownEntitiesFile).names.slice(0, KNOWN_NAMES_MAX);
    const { languages } = config.filing();
    const atOnce = knownNames.length > NAMES_FEW ? 1 : CLOSET_SOURCES_MAX;
    for (let from = 0; from < sources.length; from += atOnce) {
      const sourceFiles = sources.slice(from, from + atOnce);
      const done = await client.call("closet.rebuild", {
        sourceFiles,
        ...(knownNames.length > 0 && { knownNames }),
        languages,
      });
      report.sources += done.sources;
      report.closets += done.closets;
      report.kept += done.kept;
    }
    const kept = report.kept === 0 ? "" : `; ${plural(report.kept, "file")} with a language model's were left alone`;
    return out.answer(report, `${plural(report.closets, "closet")} for ${plural(report.sources, "file")}${kept}.`);
  },
});

async function tellAbsentWing(client: Client, wing: string, out: Output): Promise<void> {
  const { wings = {} } = (await client.callTool("mempalace_list_wings", {})) as { wings?: object };
  const names = Object.keys(wings);
  if (names.includes(wing)) return;
  const near = nearestWord(wing, names);
  out.notice(printable(`there is no wing ${wing}${near === undefined ? "" : `; did you mean ${near}?`}`));
}
