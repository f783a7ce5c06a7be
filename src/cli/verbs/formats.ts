/** `palace mine formats DIR`: files office documents, as upstream's `mempalace mine DIR --mode extract` does. */
import { join } from "node:path";
import { CONVERSION, Converter } from "../../feeders/converter.ts";
import { FORMATS } from "../../feeders/doc-miner/kinds-of-run.ts";
import { SOURCE_CALL_MAX_BYTES } from "../../protocol/limits.ts";
import { mineDocuments } from "../feeding/documents.ts";
import { FEED_OPTIONS, feedPlace } from "../feeding/mining.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace mine formats DIR [--wing W] [--limit N] [--max-chunks-per-file N] [--dry-run] [--force] [--quiet]

Files office documents: .pdf .docx .pptx .xlsx .rtf .epub, as text, under the paths the files have. They are converted on this
machine, without other programs and without the network; pictures of text are not read. The wing is that of the folder's
name, rooms are those of DIR/mempalace.yaml. Run it again at any time: only what changed is filed. What vanished stays in the
palace until \`mempalace_sync\` takes it out.

  --wing W                 file into wing W
  --limit N                file at most N documents
  --max-chunks-per-file N  leave out documents that would become more than N drawers (default 0: none)
  --agent NAME             who it is filed by
  --dry-run                say what would be filed, change nothing
  --force                  file everything again, and try again what could not be converted
  --quiet                  no progress, no summary`,
  options: { ...FEED_OPTIONS, ...options("max-chunks-per-file=") },
  args: [1, 1],
  place: feedPlace,
  run: async ({ values, args: [dir = ""], config, out }) => {
    const converter = new Converter({ ...CONVERSION, textMax: SOURCE_CALL_MAX_BYTES });
    const options = {
      ...{ front: FORMATS, dir },
      read: (root: string, path: string) => converter.read(join(root, path)),
      sizeMaxBytes: CONVERSION.sizeMax,
      drawersMax: readCount(values["max-chunks-per-file"], "max-chunks-per-file", 0),
      ...{ ignoreFiles: false, include: [] },
    };
    try {
      return await mineDocuments({ command: "palace mine formats", values, config, out, options });
    } finally {
      await converter.close();
    }
  },
});
