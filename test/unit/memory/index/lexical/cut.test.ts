import { expect, test } from "vitest";
import { cutWords, isSpecial } from "../../../../../src/memory/index/lexical/cut.ts";
import { askedWords, foundWords } from "../../../../../src/memory/index/lexical/found-words.ts";
import { parseQuery } from "../../../../../src/memory/index/lexical/query.ts";
import { formsOf } from "../../../../../src/memory/index/lexical/tokens.ts";

const formsIn = (text: string): string[][] => cutWords(text, true).map(({ forms }) => forms);

test("a word of several scripts is cut where the script changes, and text written without spaces becomes pairs", () => {
  expect(formsIn("把max_connections改成200以后").flat()).toEqual(["把", "max", "connections", "改成", "200", "以后"]);
  expect(formsIn("Redis를").flat()).toEqual(["redis", "를"]);
  expect(formsIn("バックアップ").flat()).toEqual(["バッ", "ック", "クア", "アッ", "ップ"]);
  expect(formsIn("ประชุม").flat()).toEqual(["ปร", "ระ", "ะชุ", "ชุม"]);
});

test("a word whose letters have several spellings gets one form per spelling", () => {
  expect(formsIn("Größe Straße Fjällräven")).toEqual([
    ["große", "grosse", "groesse"],
    ["straße", "strasse"],
    ["fjallraven", "fjaellraeven"],
  ]);
  expect(formsIn("Фёдор Мой ΑΘΉΝΑ")).toEqual([["фёдор", "федор"], ["мой"], ["αθήνα", "αθηνα"]]);
  expect(formsIn("مُحَمَّد").flat()).toContain("محمد");
  expect(formsIn("cœur łódź").flat()).toEqual(expect.arrayContaining(["coeur", "lodz"]));
});

test("an emoji is one word with or without a variation selector, and an emoji of joined emoji is several words", () => {
  expect(formsIn("🚀🚀 ❤️ 👩‍💻 🇩🇪").flat()).toEqual(["🚀", "🚀", "❤", "👩", "💻", "🇩🇪"]);
});

test("NFC, NFD and full-width letters give the same words", () => {
  for (const text of ["Größe", "Фёдор", "데이터", "バックアップ", "ＭＡＸ改"])
    expect(formsOf(text.normalize("NFD"))).toContain(formsOf(text));
  expect(formsIn("ＭＡＸ").flat()).toContain("max");
});

test("words that FTS5 does not fold get their plain form: ligatures, full-width letters, letters with two marks", () => {
  const formsWithoutParts = (text: string): string[] =>
    formsOf(text)
      .split(" ")
      .filter((form) => !form.startsWith("·"));
  expect(formsWithoutParts("a conﬁguration")).toEqual(["configur"]);
  expect(formsWithoutParts("ＭＡＸ size")).toEqual(["max"]);
  expect(formsWithoutParts("Nguyễn sửa")).toEqual(["nguyen", "sua"]);
  expect(formsOf("Café Größe".normalize("NFD"))).toBe(formsOf("Café Größe"));
});

test("plain English words get no other spellings and need no extra work", () => {
  const text = "The café’s naïve “façade” – 1,234.56 € © 2024™ • → it’s a_b’s … ✓";
  expect(isSpecial(text)).toBe(false);
  expect(formsOf(text)).toBe("");
});

test("a question is searched with each form of its words", () => {
  const { terms, forms, stems, pairs } = parseQuery("Größe 备份脚本");
  expect(terms).toEqual(["groß", "备份", "份脚", "脚本"]);
  expect(forms[0]).toEqual(["größe", "grosse", "groesse"]);
  expect(forms[1]).toEqual(["备份脚本", "备份"]);
  expect(stems[0]).toEqual(["groß", "gross", "groess"]);
  expect(pairs).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ]);
});

test.each([
  ["备份脚本", "每日复盘：备份脚本昨晚失败了", ["备份", "脚", "本"]],
  ["脚", "备份脚本", ["脚"]],
  ["max_connections", "把max_connections改成200", ["max", "connections"]],
  ["strasse", "Die Weißstraße, die Straße.", ["Straße"]],
  ["🚀", "🚀 went", ["🚀"]],
  ["cafe", "Das Café", ["Café"]],
])("a search for %s marks its words in %s", (question, text, marked) => {
  expect(foundWords(text, askedWords(question)).map(({ start, end }) => text.slice(start, end))).toEqual(marked);
});
