/** Tests which texts of a prompt are searched for. Their size is limited, whatever an agent sends. */
import { expect, test } from "vitest";
import { identifiersOf } from "../../../src/memory/index/lexical/identifiers.ts";
import { partsOf, sanitizeQuery } from "../../../src/memory/search/query-sanitizer.ts";
import { createSearchPalace } from "../../helpers/search-palace.ts";

const parts = (prompt: string): string[] => partsOf(prompt, sanitizeQuery(prompt));
const FIRST = "We have a gateway behind a proxy.";
const LAST = "How do I switch the cache off for one loader?";

test("a short prompt is one text", () => {
  expect(parts(LAST)).toEqual([LAST]);
});

test("a long prompt is searched for as a whole and sentence by sentence, but not by its greeting", () => {
  const prompt = `Hi there! ${FIRST} ${"It was set up by a colleague last year. ".repeat(5)}${LAST} Thanks!`;
  expect(parts(prompt)).toEqual([prompt, FIRST, "It was set up by a colleague last year.", LAST]);
});

test("only the beginning and the end of a huge prompt are searched for, in few texts with few identifiers", () => {
  const log = Array.from({ length: 40_000 }, (_, at) => `at step_${at} of the build something_${at} failed.`).join(
    "\n",
  );
  const found = parts(`${FIRST}\n${log}\n${LAST}`);
  expect(found.length).toBeLessThan(20);
  expect(found.join("").length).toBeLessThan(30_000);
  expect(found).toContain(FIRST);
  expect(found).toContain(LAST);
  expect(identifiersOf(found[0] ?? "").length).toBeLessThan(20);
});

test("a question is looked for in the last hundred thousand characters of a prompt", () => {
  const log = "step done\n".repeat(11_000);
  expect(sanitizeQuery(`${log}${LAST}`)).toMatchObject({ query: LAST, method: "question_extraction" });
  const early = sanitizeQuery(`${LAST}\n${log}`);
  expect(early.method).not.toBe("question_extraction");
  expect(early.originalLength).toBe(LAST.length + log.length);
});

test("of two notes, the note that answers the question comes first, although the other note has more words of the prompt", async () => {
  await using palace = await createSearchPalace();
  const wanted = "Loader results are remembered. With cache: false a loader asks the database on every call.";
  palace.file(wanted);
  palace.file("We are on Node 22 here, and it runs in Docker.");
  for (let at = 0; at < 40; at++)
    palace.file(`Service ${at} is here: it runs in Docker, and we are on it on day ${at}.`);
  const aside = "We are on Node 22 here. It runs in Docker. What we are on is Node 22, and it runs in Docker here.";
  const wish = "How can I make one loader ask the database on every call?";
  for (const prompt of [
    `${aside} ${wish} It runs in Docker, thank you so much in advance!`,
    `${aside} ${aside} ${wish}`,
  ])
    expect((await palace.texts(prompt))[0], prompt).toBe(wanted);
});

test("a question counts more than a statement, for the order of hits and for their confidence", async () => {
  await using palace = await createSearchPalace();
  const asked = "With cache: false one loader asks the database on every call.";
  const situation = "The gateway Heron runs behind Caddy in Frankfurt since last year, and costs nothing.";
  for (const text of [asked, situation]) palace.file(text);
  for (let at = 0; at < 40; at++) palace.file(`Service ${at} is here, and note ${at} is about it.`);
  const prompt = (end: string): string =>
    `Our gateway Heron runs in Frankfurt behind Caddy. ${"I have read all that is there. ".repeat(5)}
I want one loader to ask the database on every call${end}`;
  expect((await palace.texts(prompt("?")))[0]).toBe(asked);
  expect((await palace.texts(prompt(".")))[0]).toBe(situation);
  const confidence = async (end: string): Promise<number> => {
    const { results } = await palace.search(prompt(end), { explain: true });
    const explain = results.find(({ text }) => text === situation)?.["explain"];
    return (explain as { confidence: number }).confidence;
  };
  expect(await confidence("?")).toBeCloseTo(0.7 * (await confidence(".")), 2);
});
