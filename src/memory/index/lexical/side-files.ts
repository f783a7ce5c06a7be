/**
 * Recognises changelogs, licences, lockfiles and generated files by their names. Such files are long, repeat the project's terms and seldom
 * answer a question. So a search ranks them lower, unless the question is about such a file. Pure; used by lexical-search.ts. Source:
 * docs/lab/figures.md, kinds of files.
 */

/** Matches `/folder/file` of a changelog, licence, lockfile or generated file, in lower case, with hyphens for `_` and blanks. */
const SIDE_FILE = new RegExp(
  [
    String.raw`/change-?logs?(?:[-.][^/]*)?$`,
    String.raw`/(?:changes|history|news|releases?|whats-?new)(?:-v?\d[^/]*)?(?:\.(?:md|mdx|markdown|rst|txt|adoc|org|html?))?$`,
    String.raw`release-?notes?(?:[-.][^/]*)?$`,
    String.raw`^(?:change-?logs?|releases|release-?notes|whats-?new)/`,
    String.raw`/(?:licen[cs]es?|copying|notice|third-party-(?:licen[cs]es|notices?))(?:[-.][^/]*)?$`,
    String.raw`/(?:(?:package|composer)-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|[^/]+\.lock)$`,
    String.raw`\.min\.(?:js|css)$|\.(?:js|css)\.map$|[-.]generated\.[^/]+$|\.pb\.[^/]+$|-pb2\.py$`,
  ].join("|"),
);

/** Matches words of a question about releases or about a changelog, a licence, a lockfile or a generated file. */
const ASKS = new RegExp(
  [
    String.raw`\b(?:change-?logs?|changes|history|news|releas\w+|what'?s new|licen[cs]\w+|copyright|lock-?files?|generated)\b`,
    String.raw`\bversions?\b|\bbreaking\b|\bdeprecat\w+|\bsince when\b|\bno longer\b|\bv\d+\b|\b\d+\.\d+`,
    String.raw`\bwhen (?:was|were|did|is|has|have)\b.{0,100}\b(?:add|introduc|chang|remov|drop|renam|fix)\w*`,
  ].join("|"),
  "i",
);

/** Returns true for the path of a changelog, a licence, a lockfile or a generated file. */
export function isSideFile(sourceFile: string): boolean {
  const path = `//${sourceFile.replaceAll("\\", "/")}`;
  const folder = path.lastIndexOf("/", path.lastIndexOf("/") - 1);
  return SIDE_FILE.test(
    path
      .slice(folder + 1)
      .toLowerCase()
      .replaceAll(/[_ ]/g, "-"),
  );
}

/** Returns true if the question is about releases or about changelogs, licences, lockfiles or generated files. */
export function asksForSideFiles(query: string): boolean {
  return ASKS.test(query);
}
