/** `palace mine projects DIR`: files a project's text, source code too, as upstream's `mempalace mine DIR` does. */
import { PROJECTS } from "../../feeders/doc-miner/kinds-of-run.ts";
import { mineDocuments } from "../feeding/documents.ts";
import { FEED_OPTIONS, feedPlace } from "../feeding/mining.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace mine projects DIR [--wing W] [--limit N] [--max-chunks-per-file N]
    [--include-ignored PATHS] [--no-gitignore] [--dry-run] [--force] [--quiet]

Files a project as MemPalace does: text and source code, under the paths the files have, routed to wing and rooms by
DIR/mempalace.yaml (else a wing of the folder's name, room general). Run it again at any time: only what changed is filed.
What vanished stays in the palace until \`mempalace_sync\` takes it out. For documentation alone: palace mine docs DIR.

  --wing W                 file into wing W
  --limit N                file at most N files
  --max-chunks-per-file N  leave out files that would become more than N drawers (default 50000; 0 = none)
  --include-ignored PATHS  paths in DIR, with commas, to be filed although they are ignored; may be given again
  --no-gitignore           do not heed .gitignore files
  --agent NAME             who it is filed by
  --dry-run                say what would be filed, change nothing
  --force                  file everything again
  --quiet                  no progress, no summary`,
  options: { ...FEED_OPTIONS, ...options("max-chunks-per-file= include-ignored=... no-gitignore") },
  args: [1, 1],
  place: feedPlace,
  run: ({ values, args: [dir = ""], config, out }) => {
    const options = {
      ...{ front: PROJECTS, dir },
      drawersMax: readCount(values["max-chunks-per-file"], "max-chunks-per-file", config.chunksMax),
      ignoreFiles: values["no-gitignore"] !== true,
      include: (values["include-ignored"] ?? []).flatMap((one) => one.split(",")),
    };
    return mineDocuments({ command: "palace mine projects", values, config, out, options });
  },
});
