/** Tests the passage of a hit for people: the lines around the matching words as in the source, with heading and line number. */
import { expect, test } from "vitest";
import { passageOf, type Window } from "../../../src/cli/terminal/passage.ts";

const FILLER = Array.from({ length: 300 }, (_, at) => `filler${at}`).join(" ");
const TEXT = `# Deploying\n\n${FILLER}\n\n## On Fridays\n\nWe roll the servers back by hand, one after the other. ${FILLER}`;
const SIZE = { columns: 60, rows: 3 };

function shown(text: string, query: string, window: Partial<Window> = {}): string[] {
  return passageOf(text, query, { ...SIZE, ...window }).lines.map((line) => line.map((piece) => piece.text).join(""));
}

function marked(text: string, query: string): string[] {
  const { lines } = passageOf(text, query, SIZE);
  return lines.flat().flatMap(({ text: piece, isMatch }) => (isMatch ? [piece] : []));
}

test("the passage surrounds the matching words and fits the terminal", () => {
  const lines = shown(TEXT, "how do we roll back a server");
  expect(lines.join(" ")).toContain("roll the servers back by hand");
  expect(lines).toHaveLength(3);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
});

test("a passage marks the words that the index matches, with other endings and accents", () => {
  expect(marked(TEXT, "how do we roll back a server?")).toEqual(["roll", "servers", "back"]);
  expect(marked("(Café), cafe's and cafeteria", "cafés")).toEqual(["Café", "cafe"]);
});

test("a passage begins and ends between words, and an ellipsis shows where a line continues", () => {
  const words = new Set(TEXT.split(/\s+/));
  for (const columns of [20, 33, 60, 100]) {
    const lines = shown(TEXT, "filler150", { columns });
    expect(
      lines
        .join(" ")
        .split(" ")
        .filter((word) => word !== "…" && !words.has(word)),
    ).toEqual([]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines[0]).toMatch(/^… /);
    expect(lines.at(-1)).toMatch(/ …$/);
  }
});

test("a passage begins with the whole line before the match", () => {
  const text = `${FILLER}\n\nBefore it.\nThe key is here.\n\nAfter it.\nThe end.`;
  expect(shown(text, "key", { rows: 5 })).toEqual(["Before it.", "The key is here.", "", "After it.", "The end."]);
});

test("code and tables keep their lines and their relative indentation", () => {
  const code = "    if (spare) {\n\n\n\tkey();\n      }\n    return 1;";
  expect(shown(code, "key", { rows: 5 })).toEqual(["if (spare) {", "", "key();", "  }", "return 1;"]);
  const table = "| a | b |\n|---|---|\n| key | 1 |\n| door | 2 |";
  expect(shown(table, "key")).toEqual(["|---|---|", "| key | 1 |", "| door | 2 |"]);
});

test("without a matching word a passage shows the beginning of the text", () => {
  expect(shown(TEXT, "unrelated")[0]).toBe("# Deploying");
  expect(shown("the garage code is 4711", "open the parking door")).toEqual(["the garage code is 4711"]);
  expect(shown("", "anything")).toEqual([]);
});

test("a passage names the heading above it, unless it shows the heading", () => {
  const far = `# Deploying\n\n## On Fridays\n\n${FILLER} We roll the servers back.`;
  expect(passageOf(far, "servers", SIZE).heading).toBe("On Fridays");
  expect(passageOf("## On Fridays\n\nroll the servers back", "servers", SIZE).heading).toBeUndefined();
  const after = TEXT.slice(-80) + "\n\nroll the servers back";
  expect(passageOf(after, "roll", { ...SIZE, rows: 1, before: [TEXT] }).heading).toBe("On Fridays");
});

const FENCED =
  "## Install\n\n```bash\npi install https://x.example # raw\n# URLs work too\n```\n\nThe words that match.";

test("a comment in a code fence does not count as a heading", () => {
  expect(passageOf(FENCED, "match", { ...SIZE, rows: 1 }).heading).toBe("Install");
  const slice = FENCED.slice(FENCED.indexOf("# raw"));
  expect(passageOf(slice, "match", { ...SIZE, rows: 1, isFromStart: false }).heading).toBeUndefined();
  expect(passageOf(slice, "match", { ...SIZE, rows: 1, before: [FENCED.slice(0, 75)] }).heading).toBe("Install");
  const two = "~~~\n# one\n```\n~~~\n\n# Two\n\nmatch";
  expect(passageOf(two, "match", { ...SIZE, rows: 1 }).heading).toBe("Two");
});

test("a heading counts only in markdown, at the beginning of a line", () => {
  const slice = "# raw URLs work too\n\nThe words that match.";
  expect(passageOf(slice, "match", { ...SIZE, rows: 1, isFromStart: false }).heading).toBeUndefined();
  expect(passageOf(slice, "match", { ...SIZE, rows: 1, hasHeadings: false }).heading).toBeUndefined();
  expect(passageOf(slice, "match", { ...SIZE, rows: 1 }).heading).toBe("raw URLs work too");
  const matter = "---\n# of the page\ntitle: x\n---\n\nThe words that match.";
  expect(passageOf(matter, "match", { ...SIZE, rows: 1 }).heading).toBeUndefined();
});

test("a passage has the number of the line with the most words of the question", () => {
  const document = {
    text: "# Ovens\n\nAn oven is hot.\n\n## Care\n\nThe seal of the oven door is replaced by Ada.\n",
    at: 0,
  };
  const passage = passageOf(document.text, "who replaces the seal of the oven door", { ...SIZE, rows: 9, document });
  expect(passage.line).toBe(7);
});

test("line numbers are counted in the whole document", () => {
  const document = { text: `intro\n\n${FENCED}\n`, at: 7 };
  expect(passageOf(FENCED, "match", { ...SIZE, document })).toMatchObject({ line: 10, heading: "Install" });
  const slice = FENCED.slice(20);
  expect(passageOf(slice, "raw", { ...SIZE, document: { ...document, at: 27 } }).line).toBe(6);
  expect(passageOf(FENCED, "match", SIZE).line).toBeUndefined();
});

test("a word is cut into lines if it is wider than the terminal", () => {
  const lines = shown(`\u001B[2J${"x".repeat(500)}`, "y", { columns: 40 });
  expect(lines.every((line) => line.length <= 40 && !line.includes("\u001B"))).toBe(true);
});

test("overlapping neighbours complete a drawer that was cut inside a line", () => {
  const whole = "nothing then hundreds of them, and servers at the end of the servants' hall";
  const drawer = whole.slice(2, whole.indexOf("servants") + 4);
  const window = { columns: 100, before: [`# Top\n${whole.slice(0, 60)}`], after: [whole.slice(20)] };
  expect(shown(drawer, "servers", window)).toEqual([whole]);
  expect(shown(drawer, "servers", { columns: 100, before: ["another one"], after: ["and one more"] })).toEqual([
    drawer,
  ]);
});
