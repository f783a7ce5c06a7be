/** What a person sees of a hit: the words around the matching ones, whole words, wrapped at words. */
import { expect, test } from "vitest";
import { passageOf } from "../../../src/bin/terminal/passage.ts";

const FILLER = Array.from({ length: 300 }, (_, at) => `filler${at}`).join(" ");
const TEXT = `# Deploying\n\n${FILLER}\n\n## On Fridays\n\nWe roll the servers back by hand, one after the other. ${FILLER}`;

function shown(text: string, query: string, columns = 60, rows = 3): string[] {
  return passageOf(text, query, { columns, rows }).lines.map((line) => line.map((piece) => piece.text).join(""));
}

function marked(text: string, query: string): string[] {
  const { lines } = passageOf(text, query, { columns: 60, rows: 3 });
  return lines.flat().flatMap(({ text: piece, isMatch }) => (isMatch ? [piece] : []));
}

test("the passage is the one around the matching words, in lines that are no wider than the terminal", () => {
  const lines = shown(TEXT, "how do we roll back a server");
  expect(lines.join(" ")).toContain("roll the servers back by hand");
  expect(lines).toHaveLength(3);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
});

test("words are marked as the index matches them, by their stems and without accents, and nothing else is", () => {
  expect(marked(TEXT, "how do we roll back a server?")).toEqual(["roll", "servers", "back"]);
  expect(marked("(Café), cafe's and cafeteria", "cafés")).toEqual(["Café", "cafe"]);
});

test("a passage begins and ends at words and says where it was cut", () => {
  const words = new Set(TEXT.split(/\s+/));
  for (const columns of [20, 33, 60, 100]) {
    const lines = shown(TEXT, "servers", columns);
    expect(
      lines
        .join(" ")
        .split(" ")
        .filter((word) => word !== "…" && !words.has(word)),
    ).toEqual([]);
    expect(lines[0]).toMatch(/^… /);
    expect(lines.at(-1)).toMatch(/ …$/);
  }
});

test("without a matching word the passage is the beginning, and a short text is shown whole", () => {
  expect(shown(TEXT, "unrelated")[0]).toMatch(/^# Deploying filler0 /);
  expect(shown("the garage code is 4711", "open the parking door")).toEqual(["the garage code is 4711"]);
  expect(shown("", "anything")).toEqual([]);
});

test("the heading above the passage is told, unless the passage holds it, also from before the drawer", () => {
  const far = `# Deploying\n\n## On Fridays\n\n${FILLER} We roll the servers back.`;
  const options = { columns: 60, rows: 3 };
  expect(passageOf(far, "servers", options).heading).toBe("On Fridays");
  expect(passageOf("## On Fridays\n\nroll the servers back", "servers", options).heading).toBeUndefined();
  expect(passageOf("roll the servers back", "servers", { ...options, before: [TEXT] }).heading).toBe("On Fridays");
});

test("one word that is wider than the terminal is cut into lines and steers nothing", () => {
  const lines = shown(`\u001B[2J${"x".repeat(500)}`, "y", 40);
  expect(lines.every((line) => line.length <= 40 && !line.includes("\u001B"))).toBe(true);
});

test("a drawer that was cut inside a word is shown from the next word on, and to the last whole one", () => {
  const whole = "nothing then hundreds of them, and servers at the end of the servants' hall";
  const drawer = whole.slice(2, whole.indexOf("servants") + 4);
  const shownOf = (before: string[], after: string[]): string =>
    passageOf(drawer, "servers", { columns: 60, rows: 3, before, after })
      .lines.map((line) => line.map(({ text }) => text).join(""))
      .join(" ");
  expect(shownOf([`# Top\n${whole.slice(0, 60)}`], [whole.slice(20)])).toBe(
    "… then hundreds of them, and servers at the end of the",
  );
  expect(shownOf(["another one"], ["and one more"])).toBe(drawer);
});
