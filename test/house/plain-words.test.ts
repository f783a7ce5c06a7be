/** Limits how many sentences of each page and folder have a mark of a hard sentence. A marked sentence may still be good. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, type SourceFile, sourceFiles } from "./source-files.ts";

const MARKS: Readonly<Record<string, RegExp>> = {
  "begins without a subject": /^(What|Of|As|Where|Who|Whoever|Whether|That|The same|Nor|Else|Such)\b/,
  "is no …": /\b(is|are|was|were) no (?!longer|more|other|one)\w+/,
  "a clause as subject":
    /(?:^|[.;:,] )(?:[Ww]hat|[Ww]ho) \w+ (?:\w+ ){0,6}?(?:is|are|has|have|was|goes|stands|stays|comes)\b/,
  "private word": /\b(anew|mend(?:ed|s)?|is told|are told|stands|tells of|come about|put right|goes by|lies)\b/,
  "nothing is …": /\b(nothing|nobody|nowhere) (?:is|was|waits|says|knows|goes)\b/,
};
const WORDS_MIN = 5;

const page = (path: string): SourceFile => ({ path, text: readFileSync(join(ROOT, path), "utf8") });
const code = (folder: string): string[] =>
  sourceFiles(folder).flatMap(({ text }) => [...comments(text), ...titles(text)]);
const docs = sourceFiles("docs", ".md").filter(({ path }) => !/^docs\/(upstream|lab)\//.test(path));

/** Maximum number of marked sentences. Lower a ceiling when its count falls, and never raise it. */
const CEILINGS: readonly (readonly [name: string, texts: () => string[], ceiling: number])[] = [
  ["README.md", () => sentences(page("README.md").text), 0],
  ["docs", () => docs.flatMap(({ text }) => sentences(text)), 1],
  ["src", () => code("src"), 0],
  ["scripts", () => code("scripts"), 0],
  ["test", () => code("test"), 3],
];

function* comments(text: string): Iterable<string> {
  for (const [, block = ""] of text.matchAll(/\/\*\*([\s\S]*?)\*\//g))
    yield block.replaceAll(/\s*\n\s*\*\s?/g, " ").trim();
  for (const [lines] of text.matchAll(/(?:^[ \t]*\/\/.*\n)+/gm))
    yield lines.replaceAll(/\s*\n?[ \t]*\/\/\s?/g, " ").trim();
}

function titles(text: string): string[] {
  return [...text.matchAll(/\b(?:it|test)(?:\.\w+)*\(\s*["'`]([^"'`]{20,})/g)].map(([, title = ""]) => title);
}

function sentences(text: string): string[] {
  const prose = text.replaceAll(/```[\s\S]*?```/g, "").replaceAll(/^[|#].*$/gm, "");
  return [...prose.matchAll(/[^.!?\n][^.!?]*[.!?]/g)].map(([one]) =>
    one.replaceAll(/\s+/g, " ").replace(/^[ *-]+/, ""),
  );
}

function marked(texts: readonly string[]): string[] {
  return texts
    .filter((text) => text.split(/\s+/).length >= WORDS_MIN)
    .filter((text) => Object.values(MARKS).some((mark) => mark.test(text)));
}

test.each(CEILINGS)("%s has no more marked sentences than its ceiling", (_name, texts, ceiling) => {
  const all = texts();
  expect(all.length).toBeGreaterThan(10);
  const found = marked(all);
  expect(found.length, found.slice(0, 20).join("\n")).toBeLessThanOrEqual(ceiling);
});

test("every example of a hard sentence is marked, and a plain sentence is not", () => {
  const riddles = [
    "What a log holds is taken in: the copy is ours.",
    "Who asks first gets what is there, and the rest goes by.",
    "The file is no palace of ours, and so it stays where it was.",
    "Then nothing is said of it to anybody at all.",
  ];
  expect(marked(riddles)).toEqual(riddles);
  expect(marked(["Returns the first project, by name, that has a volume."])).toEqual([]);
});

test("the README has at most 120 lines", () => {
  expect(page("README.md").text.trimEnd().split("\n").length).toBeLessThanOrEqual(120);
});
