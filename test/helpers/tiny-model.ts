/** Writes a tiny model whose only layer has a seeded random vector per token. Texts that share pieces of words are similar. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DIMENSIONS = 384;
const SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
const FLOAT = 1;
const INT64 = 7;
const IR_VERSION = 8;
const OPSET = 14;

/** Writes a model into `folder` and returns `folder`. Each seed gives another model. */
export function writeTinyModel(folder: string, seed = 1): string {
  const vocabulary = listPieces();
  mkdirSync(join(folder, "onnx"), { recursive: true });
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(describeTokenizer(vocabulary)));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ tokenizer_class: "BertTokenizer" }));
  writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "bert", hidden_size: DIMENSIONS }));
  writeFileSync(join(folder, "special_tokens_map.json"), JSON.stringify({ unk_token: "[UNK]" }));
  writeFileSync(join(folder, "vocab.txt"), vocabulary.join("\n"));
  writeFileSync(join(folder, "onnx/model.onnx"), modelOf(seed, vocabulary.length));
  return folder;
}

/** Cache of models by seed. Making a model takes longer than writing it, and most tests of a file write the same model. */
const models = new Map<number, Buffer>();

function modelOf(seed: number, rows: number): Buffer {
  const model = models.get(seed) ?? describeModel(randomTable(rows, seed), rows);
  models.set(seed, model);
  return model;
}

/** Writes a tiny cross-encoder. Its score is the sum of the `weights` of the second text's pieces (one or two characters each). */
export function writeTinyReranker(folder: string, weights: Readonly<Record<string, number>>): string {
  const vocabulary = listPieces();
  mkdirSync(join(folder, "onnx"), { recursive: true });
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify(describeTokenizer(vocabulary)));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ tokenizer_class: "BertTokenizer" }));
  const table = Float32Array.from(vocabulary, (piece) => weights[piece] ?? 0);
  writeFileSync(join(folder, "onnx/model.onnx"), describeReranker(table));
  return folder;
}

/** Lists letters, digits and pairs of letters, each both at the start of a word and inside (`##`). */
function listPieces(): string[] {
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const pieces = [...letters, ..."0123456789", ...letters.flatMap((a) => letters.map((b) => a + b))];
  return [...SPECIALS, ...pieces, ...pieces.map((piece) => `##${piece}`)];
}

function describeTokenizer(vocabulary: readonly string[]): object {
  const id = (token: string): number => vocabulary.indexOf(token);
  const special = (token: string): object => ({ SpecialToken: { id: token, type_id: 0 } });
  return {
    version: "1.0",
    // The real file has `truncation` and `padding`, and our tokenizer must ignore them.
    truncation: { direction: "Right", max_length: 128, strategy: "LongestFirst", stride: 0 },
    padding: { strategy: { Fixed: 128 }, direction: "Right", pad_id: 0, pad_type_id: 0, pad_token: "[PAD]" },
    added_tokens: SPECIALS.map((content) => ({
      ...{ id: id(content), content, single_word: false, lstrip: false, rstrip: false },
      ...{ normalized: false, special: true },
    })),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [special("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, special("[SEP]")],
      pair: [
        ...[special("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, special("[SEP]")],
        ...[{ Sequence: { id: "B", type_id: 1 } }, { SpecialToken: { id: "[SEP]", type_id: 1 } }],
      ],
      special_tokens: Object.fromEntries(
        ["[CLS]", "[SEP]"].map((token) => [token, { id: token, ids: [id(token)], tokens: [token] }]),
      ),
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      ...{ type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100 },
      vocab: Object.fromEntries(vocabulary.map((token, index) => [token, index])),
    },
  };
}

function randomTable(rows: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: rows * DIMENSIONS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

// The functions below encode messages of onnx.proto. The numbers are field numbers of onnx.proto.

function describeModel(table: Float32Array, rows: number): Buffer {
  const shape = ["batch_size", "sequence_length"];
  const tokens = (name: string): Buffer => describeValue(name, INT64, shape);
  const gather = describeNode("Gather", ["table", "input_ids"], "last_hidden_state");
  const weights = describeTensor("table", FLOAT, [rows, DIMENSIONS], table);
  const graph = message([
    [1, gather],
    [2, text("tiny")],
    [5, weights],
    [11, tokens("input_ids")],
    [11, tokens("attention_mask")],
    [11, tokens("token_type_ids")],
    [12, describeValue("last_hidden_state", FLOAT, [...shape, DIMENSIONS])],
  ]);
  return describeFile(graph);
}

/** Sums the weights of the second text's pieces: the token types are the factors, 0 for the first text and 1 for the second. */
function describeReranker(table: Float32Array): Buffer {
  const shape = ["batch_size", "sequence_length"];
  const tokens = (name: string): Buffer => describeValue(name, INT64, shape);
  const flat = message([
    [1, text("keepdims")],
    [3, 0],
    [20, 2],
  ]);
  const graph = message([
    [1, describeNode("Gather", ["table", "input_ids"], "weights")],
    [1, describeNode("Gather", ["types", "token_type_ids"], "isSecond")],
    [1, describeNode("Mul", ["weights", "isSecond"], "counted")],
    [1, describeNode("ReduceSum", ["counted", "axes"], "logits", flat)],
    [2, text("tiny")],
    [5, describeTensor("table", FLOAT, [table.length, 1], table)],
    [5, describeTensor("types", FLOAT, [2, 1], Float32Array.of(0, 1))],
    [5, describeTensor("axes", INT64, [1], BigInt64Array.of(1n))],
    [11, tokens("input_ids")],
    [11, tokens("attention_mask")],
    [11, tokens("token_type_ids")],
    [12, describeValue("logits", FLOAT, ["batch_size", 1])],
  ]);
  return describeFile(graph);
}

function describeFile(graph: Buffer): Buffer {
  return message([
    [1, IR_VERSION],
    [7, graph],
    [8, message([[2, OPSET]])],
  ]);
}

function describeNode(operator: string, inputs: readonly string[], output: string, attribute?: Buffer): Buffer {
  return message([
    ...inputs.map((name): Field => [1, text(name)]),
    [2, text(output)],
    [4, text(operator)],
    ...(attribute === undefined ? [] : [[5, attribute] satisfies Field]),
  ]);
}

function describeTensor(
  name: string,
  type: number,
  dimensions: readonly number[],
  values: Float32Array | BigInt64Array,
): Buffer {
  return message([
    ...dimensions.map((size): Field => [1, size]),
    [2, type],
    [8, text(name)],
    [9, Buffer.from(values.buffer, values.byteOffset, values.byteLength)],
  ]);
}

function describeValue(name: string, type: number, shape: readonly (string | number)[]): Buffer {
  const dimensions = shape.map((size): Field => [1, message([typeof size === "string" ? [2, text(size)] : [1, size]])]);
  const tensor = message([
    [1, type],
    [2, message(dimensions)],
  ]);
  return message([
    [1, text(name)],
    [2, message([[1, tensor]])],
  ]);
}

type Field = [number: number, value: number | Buffer];

/** Encodes numbers as varints (wire type 0), and everything else with its length first (wire type 2). */
function message(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) =>
      typeof value === "number"
        ? [varint(number * 8), varint(value)]
        : [varint(number * 8 + 2), varint(value.length), value],
    ),
  );
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 0x80);
  }
}

function text(value: string): Buffer {
  return Buffer.from(value);
}
