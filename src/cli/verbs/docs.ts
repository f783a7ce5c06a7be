/** `mempalace-docs DIR`, `palace mine docs DIR`: files the documentation of a project. */
import { relative, sep } from "node:path";
import { realpathSync, statSync } from "node:fs";
import { DOCS } from "../../feeders/doc-miner/kinds-of-run.ts";
import { filedElsewhere, findRoot } from "../../feeders/doc-miner/root.ts";
import { quoted } from "../../base/shell-word.ts";
import { mineDocuments } from "../feeding/documents.ts";
import { placeOf } from "../feeding/feeding.ts";
import { FEED_OPTIONS, feedPlace } from "../feeding/mining.ts";
import { plural } from "../terminal/output.ts";
import { defineVerb } from "../define-verb.ts";

export const verb = defineVerb({
  usage: `palace mine docs DIR|FILE [--wing W] [--limit N] [--dry-run] [--force] [--quiet]

Files the documentation of a project (markdown, text, YAML, TOML, shell scripts, build recipes, licences; never source
code, lockfiles or what .gitignore names). Run it again at any time: only what changed is filed, what vanished is removed.
With FILE, that one document of its project. The wing and rooms come from DIR/mempalace.yaml if there is one. \`mempalace-docs DIR\` is the same.

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
  run: async ({ values, args: [given = ""], config, out }) => {
    const { dir, only, wing } = targetOf(given, config.paths.cacheDir);
    const options = { front: DOCS, dir, wing, drawersMax: 0, ignoreFiles: true, include: [], only };
    if (only === undefined && values.quiet !== true)
      for (const { root, wing: other, files } of filedElsewhere(dir, values.wing, placeOf(config)))
        out.notice(`${plural(files, "file")} of ${root} are in wing ${other} already, and this files them again here`);
    const code = await mineDocuments({ command: "mempalace-docs", values, config, out, options });
    if (only !== undefined && code === 0 && !out.isJson)
      out.notice(out.spelled(`about this file: palace mine why ${quoted(given)}`));
    return code;
  },
});

/** Finds the project of a file, which is then filed alone. */
function targetOf(given: string, cacheDir: string): { dir: string; only?: string; wing?: string | undefined } {
  if (statSync(given, { throwIfNoEntry: false })?.isFile() !== true) return { dir: given };
  const file = realpathSync(given);
  const { root, from } = findRoot(file, { dir: undefined, cacheDir });
  return { dir: root, only: relative(root, file).split(sep).join("/"), wing: from.wing };
}
