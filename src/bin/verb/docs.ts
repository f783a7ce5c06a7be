/** `mempalace-docs DIR`, `palace mine docs DIR`: files the documentation of a project. */
import { DOCS } from "../../feeder/doc-miner/front.ts";
import { mineDocuments, readDocuments } from "../feeding/documents.ts";
import { FEED_OPTIONS, feedPlace } from "../feeding/feeding.ts";
import { defineVerb } from "../verb.ts";

export const verb = defineVerb({
  usage: `palace mine docs DIR [--wing W] [--limit N] [--dry-run] [--force] [--quiet]

Files the documentation of a project (markdown, text, YAML, TOML, shell scripts, build recipes, licences; never source
code, lockfiles or what .gitignore names). Run it again at any time: only what changed is filed, what vanished is removed.
The wing and rooms come from DIR/mempalace.yaml if there is one. \`mempalace-docs DIR\` is the same.

  --wing W    file into wing W
  --limit N   file at most N documents
  --agent NAME  who it is filed by
  --dry-run   say what would be done, change nothing
  --force     file everything again
  --quiet     no progress, no summary
To ask about one file: palace mine why FILE`,
  options: FEED_OPTIONS,
  args: [1, 1],
  place: feedPlace,
  run: ({ values, args, config, out }) => {
    const options = {
      ...readDocuments(DOCS, values, args),
      ...{ drawersMax: 0, ignoreFiles: true, include: [] },
    };
    return mineDocuments("mempalace-docs", options, config, out);
  },
});
