/** Compares static vectors and tokens with the table's golden values and with the model's own library. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { expect, test } from "vitest";
import { STATIC_DIMENSIONS, staticTable } from "../../../../../src/memory/index/static/static-table.ts";
import { WordPiece } from "../../../../../src/memory/index/static/wordpiece.ts";
import { ROOT } from "../../../../helpers/palace.ts";

const table = staticTable();
const FOLDER = join(ROOT, "src/memory/index/static");
const words = new WordPiece(readFileSync(join(FOLDER, "vocab.txt"), "utf8").trimEnd().split("\n"));

const cosine = (a: string, b: string): number => {
  const [left, right] = [table.vectorOf(a), table.vectorOf(b)];
  return left === undefined || right === undefined
    ? 0
    : left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
};

/** Values from the file `golden.jsonl` that belongs to the table. */
const GOLDEN = {
  key: "The spare key hangs behind the door.",
  asked: "where do we keep the extra key",
  ids: [1996, 8622, 3145, 17991, 2369, 1996, 2341, 1012],
  first8: [0.01643, 0.03511, -0.05657, 0.02939, 0.06035, -0.09732, -0.01157, 0.10476],
  cosine: 0.3127,
};

test("tokens, vectors and cosines equal the table's golden values", () => {
  expect(words.encode(GOLDEN.key)).toEqual(GOLDEN.ids);
  const vector = table.vectorOf(GOLDEN.key) ?? new Float32Array();
  expect(vector).toHaveLength(STATIC_DIMENSIONS);
  GOLDEN.first8.forEach((value, at) => expect(vector[at]).toBeCloseTo(value, 4));
  expect(cosine(GOLDEN.key, GOLDEN.asked)).toBeCloseTo(GOLDEN.cosine, 3);
});

test("a text without tokens has no vector, and a static code of zeros", () => {
  expect(table.vectorOf(" \n ")).toBeUndefined();
  expect(table.codeOf("")).toEqual({ code: new Int8Array(STATIC_DIMENSIONS), scale: 0 });
});

test("each golden text gets its golden tokens and cosines", ({ skip }) => {
  const file = join(ROOT, "../shared/models/static-minilm-256/golden.jsonl");
  if (!existsSync(file)) return skip("../shared/models is not beside this checkout");
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const golden = lines.map((line) => JSON.parse(line) as { text: string; ids: number[]; cosines: number[] });
  expect(golden).toHaveLength(10);
  for (const { text, ids, cosines } of golden) {
    expect(words.encode(text)).toEqual(ids);
    golden.forEach((other, at) => expect(cosine(text, other.text)).toBeCloseTo(cosines[at] ?? 2, 3));
  }
});

/** Texts for the tokenizer, without [UNK] and [MASK], which the library treats as special tokens and we treat as text. */
const HOSTILE = [
  "İstanbul ǅ ﬁ ½ ① ÀÉ ñ naïve façade",
  "日本語テキスト 한국어 ไทย 中文abc中文 १२३ العربية",
  "🎉 emoji 👩‍👩‍👧 \u200b zero\u00adsoft \ufffd \0 \u0007 bell\ttab\r\nline",
  "a".repeat(101),
  "x_y-z.w:v/u#t@s$r%q^p&o*n+m=l~k`j|i\\h",
  "don't can't; rock'n'roll — “quotes” … ‚low‘ ¿qué?",
  "\ud83d lone \udc00 surrogates",
];

test("the tokens equal the tokens of the model's own library", ({ skip }) => {
  const folder = join(ROOT, "../shared/models/all-MiniLM-L6-v2");
  if (!existsSync(folder)) return skip("../shared/models is not beside this checkout");
  const read = (name: string): object => JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
  const library = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
  const pages = ["README.md", "CHANGELOG.md", "docs/reference/commands.md", "package-lock.json"];
  for (const text of [...HOSTILE, ...pages.map((name) => readFileSync(join(ROOT, name), "utf8"))])
    expect(words.encode(text)).toEqual(library.encode(text).ids.slice(1, -1));
});
