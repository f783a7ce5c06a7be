/** Turns text into token ids as in the model's training, at most 256 with the final separator (source: models README). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { isRecord, parseAs } from "../../../base/parse-json.ts";
import { damaged } from "../../../base/errors.ts";
import { orElse } from "../../../base/or-else.ts";

const TOKENS_MAX = 256;
/** Longest expected token, in characters. A text is read only up to TOKENS_MAX times this length. */
const TOKEN_LENGTH_MAX = 128;

export type Tokenize = (text: string) => number[];

/** Maximum number of tokens of a pair, as in the training of cross-encoders. */
const PAIR_TOKENS_MAX = 512;
/** Maximum length of a question, in UTF-16 units. The rest is cut off, to leave room for the text. */
const QUESTION_LENGTH_MAX = 1000;

/** Token ids of two texts together. `secondAt`: index of the second text's first id. */
export type TokenPair = { ids: number[]; secondAt: number };
export type TokenizePair = (question: string, text: string) => TokenPair;

/** Opens a tokenizer for a model that reads two texts together. `folder`: as for `openTokenizer`. */
export function openPairTokenizer(folder: string): TokenizePair {
  const tokenizer = new Tokenizer(readJson(folder, "tokenizer.json"), readConfig(folder));
  return (question, text) => {
    const { ids, token_type_ids: types } = tokenizer.encode(question.slice(0, QUESTION_LENGTH_MAX), {
      text_pair: text.slice(0, PAIR_TOKENS_MAX * TOKEN_LENGTH_MAX),
      return_token_type_ids: true,
    });
    const cut = cutTokens(ids, PAIR_TOKENS_MAX);
    const second = types.indexOf(1);
    return { ids: cut, secondAt: second < 0 ? cut.length : Math.min(second, cut.length) };
  };
}

/** Opens a tokenizer. `folder` has tokenizer.json and, if the model has one, tokenizer_config.json. */
export function openTokenizer(folder: string): Tokenize {
  const tokenizer = new Tokenizer(readJson(folder, "tokenizer.json"), readConfig(folder));
  return (text) => cutTokens(tokenizer.encode(text.slice(0, TOKENS_MAX * TOKEN_LENGTH_MAX)).ids, TOKENS_MAX);
}

/** Shortens a list to its first `max` - 1 ids and its last id, which is the separator. */
export function cutTokens(ids: number[], max: number): number[] {
  if (ids.length <= max) return ids;
  return [...ids.slice(0, max - 1), ...ids.slice(-1)];
}

function readJson(folder: string, name: string): object {
  const content = parseAs(readFileSync(join(folder, name), "utf8"), isRecord);
  if (content === undefined) throw damaged(`${join(folder, name)} is not a JSON object`, "palace doctor");
  return content;
}

/** Reads tokenizer_config.json; empty if it is missing, because the library has a default for each of its fields. */
function readConfig(folder: string): object {
  return orElse(() => readJson(folder, "tokenizer_config.json"), {});
}
