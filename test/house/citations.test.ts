import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { ROOT, type SourceFile, sourceFiles } from "./source-files.ts";

const code = ["src", "scripts", "test"].flatMap((folder) => sourceFiles(folder));
/** Pages that comments cite by their bare name: `palace.md 5.2`. */
const cited = sourceFiles("docs/upstream", ".md");

/** Name of a page, and the section numbers after it: `palace.md 3.6–3.8, 5.2`. */
const CITATION = /(?<![\w./-])([\w./-]+\.md)((?:(?:,| to| and|[–-])? ?\d+(?:\.\d+)*)*)/g;
const COMMENT = /\/\*\*?[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm;

type Citation = { at: string; page: string; sections: string[] };

function citations({ path, text }: SourceFile): Citation[] {
  return [...text.matchAll(COMMENT)].flatMap(([comment]) =>
    [...comment.replaceAll(/\n\s*\*/g, "").matchAll(CITATION)].map(([, page = "", sections = ""]) => ({
      ...{ at: path, page },
      sections: [...sections.matchAll(/\d+(?:\.\d+)*/g)].map(([section]) => section),
    })),
  );
}

/** Returns the path of a cited page: at the root, beside the citing file or in docs/upstream. Undefined: the page does not exist. */
function pageOf({ at, page }: Citation): string | undefined {
  const places = [page, posix.join(posix.dirname(at), page), posix.join("docs/upstream", page)];
  return places.find((place) => existsSync(join(ROOT, place)));
}

test("comments cite only existing pages and sections", () => {
  const all = code.flatMap(citations);
  expect(all.filter(({ sections }) => sections.length > 0).length).toBeGreaterThan(80);
  const missing = all.flatMap((citation) => {
    const page = pageOf(citation);
    if (page === undefined) return [`${citation.at}: ${citation.page}`];
    const text = cited.find(({ path }) => path === page)?.text ?? "";
    const lost = citation.sections.filter((section) => !new RegExp(`^#+ ${section}[. ]`, "m").test(text));
    return lost.map((section) => `${citation.at}: ${citation.page} ${section}`);
  });
  expect(missing).toEqual([]);
});
