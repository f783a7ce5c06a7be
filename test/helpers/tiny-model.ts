/**
 * A real ONNX model of half a megabyte: one Gather from a seeded table of word vectors, with a WordPiece tokenizer over
 * single characters and common pieces. It runs the whole real path (tokenizer, onnxruntime, pooling, normalising) where
 * the true model is not at hand; its vectors know letters, not meaning.
 * Source: field numbers of onnx.proto3.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "./random.ts";

const DIMENSIONS = 384;
const FLOAT = 1;
const INT64 = 7;

/** Writes the model into `folder` and returns it, for MEMPALACE_MODEL_DIR. */
export function writeTinyModel(folder: string): string {
  const vocabulary = words();
  mkdirSync(join(folder, "onnx"), { recursive: true });
  writeFileSync(join(folder, "onnx/model.onnx"), model(vocabulary.length));
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(tokenizer(vocabulary)));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ tokenizer_class: "BertTokenizer", do_lower_case: true }));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "bert", hidden_size: DIMENSIONS }));
  return folder;
}

function words(): string[] {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789".split("");
  const pairs = letters.flatMap((a) => letters.slice(0, 26).map((b) => `##${a}${b}`));
  return ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...letters, ...letters.map((letter) => `##${letter}`), ...pairs];
}

function tokenizer(vocabulary: string[]): object {
  const special = (token: string, id: number): object => ({ id, content: token, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: vocabulary.slice(0, 5).map(special),
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "[CLS]", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "[SEP]", type_id: 0 } }],
      pair: [],
      special_tokens: { "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] }, "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] } },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
    },
  };
}

// --- protobuf, as much as an ONNX file needs ---

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

const number = (field: number, value: number): Buffer => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field: number, value: Buffer | string): Buffer => {
  const content = Buffer.from(value as string);
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
};
const message = (...fields: Buffer[]): Buffer => Buffer.concat(fields);

function model(vocabularySize: number): Buffer {
  const random = seededRandom(7);
  const table = Float32Array.from({ length: vocabularySize * DIMENSIONS }, () => random() - 0.5);
  const initializer = message(number(1, vocabularySize), number(1, DIMENSIONS), number(2, FLOAT), bytes(8, "table"), bytes(9, Buffer.from(table.buffer)));
  const node = message(bytes(1, "table"), bytes(1, "input_ids"), bytes(2, "last_hidden_state"), bytes(3, "gather"), bytes(4, "Gather"));
  const inputs = ["input_ids", "attention_mask", "token_type_ids"].map((name) => bytes(11, tensorInfo(name, INT64, ["batch", "sequence"])));
  const output = bytes(12, tensorInfo("last_hidden_state", FLOAT, ["batch", "sequence", DIMENSIONS]));
  const graph = message(bytes(1, node), bytes(2, "tiny"), bytes(5, initializer), ...inputs, output);
  return message(number(1, 8), bytes(2, "palace-devbox tests"), bytes(7, graph), bytes(8, message(bytes(1, ""), number(2, 14))));
}

function tensorInfo(name: string, elementType: number, shape: (string | number)[]): Buffer {
  const dimensions = shape.map((size) => bytes(1, typeof size === "number" ? number(1, size) : bytes(2, size)));
  return message(bytes(1, name), bytes(2, bytes(1, message(number(1, elementType), bytes(2, message(...dimensions))))));
}
