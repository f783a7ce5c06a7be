/** Recognises changelogs, licences, lockfiles and generated files, which are long and seldom answer a question (docs/lab/figures.md). */

/** Matches `folder/file`, the end of such a file's path, in lower case and with hyphens in place of `_` and blanks. */
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

const ASKS = new RegExp(
  [
    String.raw`\b(?:change-?logs?|changes|history|news|releas\w+|what'?s new|licen[cs]\w+|copyright|lock-?files?|generated)\b`,
    String.raw`\bversions?\b|\bbreaking\b|\bdeprecat\w+|\bsince when\b|\bno longer\b|\bv\d+\b|\b\d+\.\d+`,
    String.raw`\bwhen (?:was|were|did|is|has|have)\b.{0,100}\b(?:add|introduc|chang|remov|drop|renam|fix)\w*`,
  ].join("|"),
  "i",
);

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

export function asksForSideFiles(query: string): boolean {
  return ASKS.test(query);
}
