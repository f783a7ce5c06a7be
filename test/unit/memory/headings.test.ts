/** Tests which lines of a Markdown text are headings, and which headings are above a part of a document. */
import { expect, test } from "vitest";
import { headingsAbove, headingsOf, isMarkdown } from "../../../src/memory/text/headings.ts";
import { chunkDocument } from "../../../src/memory/source/chunk.ts";

const FILLER = "The office opens at eight and closes when the last boat has left. ".repeat(14);

/** Cuts a document as the miner does. Returns the nearest heading above each part. */
function nearestAbove(document: string): (string | undefined)[] {
  const parts = chunkDocument(document).map(({ text }) => text);
  return headingsAbove("/p/a.md", parts).map((above) => above.split("\n").at(-1));
}

test("a part has the headings above its beginning: the title and one heading of each level, none from inside the part", () => {
  const document = `# Handbook\n\n## Ferry\n\n### Tickets\n\n${FILLER}\n\n${FILLER}\n\n## Trains\n\n${FILLER}`;
  const above = headingsAbove(
    "/p/a.md",
    chunkDocument(document).map(({ text }) => text),
  );
  expect(above[0]).toBe("");
  expect(above[1]).toBe("Handbook\nFerry\nTickets");
  expect(above.at(-1)).toBe("Handbook\nTrains");
});

test("a heading that is split between two parts counts as a whole", () => {
  const parts = [
    "# Handbook\n\nA boat leaves each hour of the day.\n\n## Night fer",
    "hour of the day.\n\n## Night ferry\n\nNone.",
  ];
  expect(headingsAbove("/p/a.md", [...parts, "ferry\n\nNone. But see the bus."])).toEqual([
    "",
    "Handbook",
    "Handbook\nNight ferry",
  ]);
});

test("lines of code, of front matter and of files that are not Markdown do not count as headings", () => {
  const code = `---\n# key: value\n---\n# Title\n\n\`\`\`\`sh\n# install\n\`\`\`\n# still code\n\`\`\`\`\n\n${FILLER}\n\n${FILLER}`;
  expect(new Set(nearestAbove(code).slice(1))).toEqual(new Set(["Title"]));
  expect(headingsAbove("/p/run.py", ["# a comment of the program", "and its rest"])).toEqual([]);
  expect(["a.md", "b/C.MDX", "d.markdown"].every(isMarkdown)).toBe(true);
  expect(["", "Makefile", "md", "a.md.py"].some(isMarkdown)).toBe(false);
});

test.each([
  ["## Title ##", 2, "Title"],
  ["   # C#", 1, "C#"],
  ["#\tTab # inside \r", 1, "Tab # inside"],
  ["###### six", 6, "six"],
])("%j is a heading", (line, level, title) => {
  expect(headingsOf(line, true)).toEqual([{ at: 0, level, title }]);
});

test.each(["####### seven", "#none", "    # code", "#", "##   ", "a # b"])("%j is not a heading", (line) => {
  expect(headingsOf(line, true)).toEqual([]);
});

test("the headings above one part have at most 400 characters, each at most 120", () => {
  const deep = Array.from({ length: 6 }, (_, at) => `${"#".repeat(at + 1)} ${"word ".repeat(60)}`).join("\n");
  const [, above = ""] = headingsAbove("/p/a.md", [deep, "the text below"]);
  expect(above).toHaveLength(400);
  expect(above.indexOf("\n")).toBe(120);
});
