import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { ROOT, type SourceFile, sourceFiles } from "./source-files.ts";

const atRoot = readdirSync(ROOT)
  .filter((name) => name.endsWith(".md"))
  .map((path): SourceFile => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
const pages = [...atRoot, ...["docs", "src", "test"].flatMap((folder) => sourceFiles(folder, ".md"))];

/** Code blocks and inline code, in which links and headings do not count. */
const FENCED = /^(```|~~~)[\s\S]*?^\1/gm;
const CODE = /(`+)[^`\n]+?\1/g;
const LINK = /\]\(([^()\s]+)\)/g;

/** Returns the anchors that GitHub gives the headings of a page. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replaceAll(FENCED, "").matchAll(/^#{1,6} +(.+)$/gm)) {
    const words = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-");
    const twin = [...anchors].filter((one) => one === anchor || one.replace(/-\d+$/, "") === anchor).length;
    anchors.add(twin === 0 ? anchor : `${anchor}-${twin}`);
  }
  return anchors;
}

/** Returns a page's relative links, each with its file's path from the root. */
function linksOf({ path, text }: SourceFile): { link: string; file: string; anchor: string }[] {
  const prose = text.replaceAll(FENCED, "").replaceAll(CODE, "");
  return [...prose.matchAll(LINK)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [page = "", anchor = ""] = link.split("#");
      return { link, anchor, file: page === "" ? path : posix.join(posix.dirname(path), page) };
    });
}

test("every link in a page leads to an existing file and heading", () => {
  const links = pages.flatMap((page) => linksOf(page).map((link) => ({ from: page.path, ...link })));
  expect(links.length).toBeGreaterThan(100);
  expect(links.filter(({ anchor }) => anchor !== "").length).toBeGreaterThan(20);
  const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]));
  const dead = links.filter(
    ({ file, anchor }) => !existsSync(join(ROOT, file)) || (anchor !== "" && anchors.get(file)?.has(anchor) !== true),
  );
  expect(dead.map(({ from, link }) => `${from}: ${link}`)).toEqual([]);
});

test("every test that a page names exists", () => {
  const named = pages
    .filter(({ path }) => path !== "CHANGELOG.md")
    .flatMap(({ path, text }) =>
      [...text.matchAll(/`(test\/[\w/.-]+\.ts)`/g)].map(([, file = ""]) => ({ path, file })),
    );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(({ file }) => !existsSync(join(ROOT, file)))).toEqual([]);
});
