/**
 * Masks secrets in texts that agents get; stored texts stay verbatim (docs/how-to/forget.md). Masks only what is nearly certainly a secret,
 * because a hash or UUID must be returned as it was filed. Each pattern can begin only at the start of a run of its characters, so masking
 * takes time in proportion to the text's length.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { entityId } from "./text.ts";

/** Modes: `off` masks nothing, `recall` text that is almost certainly a secret, `strict` also values of names like `password`. */
const REDACT_MODES = ["off", "recall", "strict"] as const;
export type RedactMode = (typeof REDACT_MODES)[number];

export type Redacted = { text: string; kinds: string[] };
type Secret = { kind: string; part: string };

/** Form of a secret. The first group of `pattern` is the secret. `isSecret`: a further check of the secret. */
type Shape = { kind: string; pattern: RegExp; isSecret?: (part: string) => boolean };

/** Beginning of every mask. A text that is written back with a mask would lose its secret, so drawer.ts refuses it. */
export const MASK_START = "[redacted: ";
const MASK_END = "]";

/** Start of a token's pattern. The token may not begin inside a longer word, so a run of these characters is tried only once. */
const START = "(?<![A-Za-z0-9_-])";
const END = "(?![A-Za-z0-9_-])";

/** Kinds of tokens, each with its pattern: a prefix that its issuer chose so that scanners recognise it, and the characters after it. */
const TOKENS: readonly (readonly [kind: string, shape: string])[] = [
  ["aws access key", `(?:AKIA|ASIA)[A-Z2-7]{16}${END}`],
  ["github token", `(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{60,255})${END}`],
  ["gitlab token", `gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent)-[A-Za-z0-9_-]{20,255}`],
  ["slack token", `(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{20,255}`],
  ["api key", `sk-(?:ant|proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{20,255}`],
  ["api key", `sk-[A-Za-z0-9]{40,64}${END}`],
  ["stripe key", `(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9+/]{32,255})`],
  ["google key", `(?:AIza[A-Za-z0-9_-]{35}${END}|GOCSPX-[A-Za-z0-9_-]{24,40}|ya29\\.[A-Za-z0-9_-]{20,2048})`],
  ["npm token", `npm_[A-Za-z0-9]{36}${END}`],
  ["pypi token", `pypi-[A-Za-z0-9_-]{50,512}`],
  ["hub token", `(?:hf_[A-Za-z0-9]{34,64}|dckr_[a-z]{1,8}_[A-Za-z0-9_-]{20,64})${END}`],
  ["cloud token", `(?:do[opr]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32})${END}`],
  ["mail key", `SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}${END}`],
  ["vault token", `hv[sbr]\\.[A-Za-z0-9_-]{24,255}`],
  ["bot token", `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}${END}`],
  ["age key", `AGE-SECRET-KEY-1[A-Z0-9]{58}${END}`],
  ["json web token", `eyJ[A-Za-z0-9_-]{10,4096}\\.eyJ[A-Za-z0-9_-]{10,8192}\\.[A-Za-z0-9_-]{16,4096}`],
];

const SHAPES: readonly Shape[] = [
  ...TOKENS.map(([kind, shape]) => ({ kind, pattern: new RegExp(`${START}(${shape})`, "g") })),
  {
    kind: "aws secret",
    pattern: /secret_?access_?key["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
    isSecret: isMixed,
  },
  {
    kind: "storage key",
    pattern: /AccountKey=([A-Za-z0-9+/]{86}==)/g,
  },
  {
    kind: "webhook",
    pattern: /hooks\.slack\.com\/services\/(T[A-Z0-9]{6,16}\/B[A-Z0-9]{6,16}\/[A-Za-z0-9]{20,64})/g,
  },
  {
    kind: "bearer token",
    pattern: /(?<![A-Za-z])bearer\s{1,4}([A-Za-z0-9._~+/=-]{20,8192})/gi,
    isSecret: isMixed,
  },
  {
    kind: "basic credentials",
    pattern: /authorization["']?\s{0,4}[:=]\s{0,4}["']?basic\s{1,4}([A-Za-z0-9+/]{8,2048}={0,2})/gi,
  },
  {
    kind: "api key",
    pattern: /x-api-key["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9._-]{16,512})/gi,
    isSecret: isMixed,
  },
  {
    // The pattern begins at `://`, so that each address is examined once. User name and password end before the next address.
    kind: "password in address",
    pattern: /:\/\/[^\s:/?#@"'`<>]{0,128}:([^\s/?#@"'`<>]{3,256})@/g,
    isSecret: isNoPlaceholder,
  },
];

/** Minimum number of characters after the prefix of a secret that a preview or slice has cut. Fewer characters look like other words. */
const CUT_MIN = 8;
const CUT_TOKENS: readonly (readonly [kind: string, prefix: string, rest: string])[] = [
  ["aws access key", "(?:AKIA|ASIA)", "[A-Z2-7]"],
  ["github token", "(?:gh[pousr]_|github_pat_)", "[A-Za-z0-9_]"],
  ["gitlab token", "gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent)-", "[A-Za-z0-9_-]"],
  ["slack token", "(?:xox[abeoprs]|xapp)-", "[A-Za-z0-9-]"],
  ["api key", "sk-(?:ant|proj|svcacct|admin|or|lf)-", "[A-Za-z0-9_-]"],
  ["api key", "sk-", "[A-Za-z0-9]"],
  ["stripe key", "(?:[sr]k_(?:live|test)|whsec)_", "[A-Za-z0-9+/]"],
  ["google key", "(?:AIza|GOCSPX-|ya29\\.)", "[A-Za-z0-9_-]"],
  ["npm token", "npm_", "[A-Za-z0-9]"],
  ["pypi token", "pypi-AgE", "[A-Za-z0-9_-]"],
  ["hub token", "hf_", "[A-Za-z0-9]"],
  ["hub token", "dckr_[a-z]{1,8}_", "[A-Za-z0-9_-]"],
  ["cloud token", "(?:do[opr]_v1_|dapi|shp(?:at|ca|pa|ss)_)", "[0-9a-fA-F]"],
  ["mail key", "SG\\.", "[A-Za-z0-9._-]"],
  ["vault token", "hv[sbr]\\.", "[A-Za-z0-9_-]"],
  ["bot token", "(?:[0-9]{8,10}):AA", "[A-Za-z0-9_-]"],
  ["age key", "AGE-SECRET-KEY-1", "[A-Z0-9]"],
  [
    "aws secret",
    "[Ss](?:ecret|ECRET)_?[Aa](?:ccess|CCESS)_?[Kk](?:ey|EY)[\"']?\\s{0,4}[:=]\\s{0,4}[\"']?",
    "[A-Za-z0-9/+]",
  ],
  ["storage key", "AccountKey=", "[A-Za-z0-9+/=]"],
  ["bearer token", "(?:[Bb]earer|BEARER)\\s{1,4}", "[A-Za-z0-9._~+/=-]"],
  ["api key", "[Xx]-[Aa][Pp][Ii]-[Kk]ey[\"']?\\s{0,4}[:=]\\s{0,4}[\"']?", "[A-Za-z0-9._-]"],
  ["password in address", ":\\/\\/[^\\s:/?#@\"'`<>]{0,128}:", "[^\\s/?#@\"'`<>]"],
];
// A prefix that begins with `[` or `:` may follow other letters, as in MY_SECRET_ACCESS_KEY, so it has no START.
const CUT_SHAPES: readonly Shape[] = CUT_TOKENS.map(([kind, prefix, rest]) => ({
  kind,
  pattern: new RegExp(`${/^[:[]/.test(prefix) ? "" : START}${prefix}(${rest}{${CUT_MIN},255}?)(?:\\.\\.\\.|…)?$`, "g"),
  isSecret: isMixed,
}));
/** Number of characters at the end of a text that are searched for a cut secret. No match of `CUT_SHAPES` is longer. */
const CUT_TAIL = 600;

const STRICT: Shape = {
  kind: "assigned secret",
  pattern:
    /(?:passwd|password|passphrase|secret|token|api_?key|private_?key)["']?\s{0,4}(?::|=>?)\s{0,4}["']?([^\s"'`,;(){}<>]{8,512})/gi,
  isSecret: (part) => isNoPlaceholder(part) && isMixed(part),
};

/** Matches the first line of a private key in text form. It contains the kind of the key. */
const BLOCK_BEGIN = /-----BEGIN ([A-Z0-9 ]{0,32})PRIVATE KEY( BLOCK)?-----/g;
const BLOCK_END = /-----END [A-Z0-9 ]{0,32}PRIVATE KEY( BLOCK)?-----/y;
/** Matches the key's lines in base64 and older formats' headers, also with line feeds written as \n. It ends before the next key. */
const BLOCK_BODY = /(?:[A-Za-z0-9+/=\s\\:,.()<>@]|-(?!----))*/y;
const KEY_KIND = "private key";

/** Returns the text with masks, or the same string if it has no secrets. Adds the secrets, except private keys, to `secrets`. */
export function redact(text: string, mode: RedactMode, secrets: Secret[] = []): Redacted {
  if (mode === "off" || text.length < MIN_LENGTH) return { text, kinds: [] };
  const kinds: string[] = [];
  let masked = maskBlocks(text, kinds);
  for (const shape of mode === "strict" ? [...SHAPES, STRICT] : SHAPES)
    masked = maskShape(masked, shape, kinds, secrets);
  const whole = masked.slice(0, -CUT_TAIL);
  let tail = masked.slice(-CUT_TAIL);
  for (const shape of CUT_SHAPES) tail = maskShape(tail, shape, kinds, secrets);
  return { text: whole + tail, kinds };
}

/** Length of the shortest text that can contain a secret: `://:pwd@`. */
const MIN_LENGTH = 8;

/** Number of characters that are searched before other calls may run. */
const PART_SIZE = 512 * 1024;

/** Masks every string of an answer; an object then gets the field `redacted`. Returns an answer without secrets as the same object. */
export async function redactAnswer(value: unknown, mode: RedactMode): Promise<unknown> {
  if (mode === "off") return value;
  const kinds: string[] = [];
  const secrets: Secret[] = [];
  const strings = walk(value, mode, kinds, secrets);
  let size = 0;
  let step = strings.next();
  for (; step.done !== true; step = strings.next()) {
    size += step.value;
    if (size < PART_SIZE) continue;
    size = 0;
    await nextTurn();
  }
  const found = step.value;
  if (kinds.length === 0) return value;
  const masked = secrets.length === 0 ? found : withoutIds(found, secrets);
  if (typeof masked !== "object" || masked === null || Array.isArray(masked)) return masked;
  return { ...masked, redacted: { count: kinds.length, kinds: [...new Set(kinds)].sort(), note: NOTE } };
}

const NOTE =
  "secrets in this answer are masked as [redacted: KIND]; they are stored verbatim, `palace show DRAWER_ID --unmask` shows them to a person";

/** Masks the strings of a value and returns the new value. Yields the length of each string that it has searched. */
function* walk(value: unknown, mode: RedactMode, kinds: string[], secrets: Secret[]): Generator<number, unknown, void> {
  if (typeof value === "string") {
    const redacted = redact(value, mode, secrets);
    kinds.push(...redacted.kinds);
    yield value.length;
    return redacted.text;
  }
  if (Array.isArray(value)) {
    const copy: unknown[] = [];
    for (const one of value) copy.push(yield* walk(one, mode, kinds, secrets));
    return copy;
  }
  if (typeof value !== "object" || value === null) return value;
  // Keeps the prototype. An object whose keys are names of wings or rooms has no prototype, because a name may be `__proto__`.
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  for (const [key, one] of Object.entries(value)) copy[key] = yield* walk(one, mode, kinds, secrets);
  return copy;
}

/** Fields whose ids contain the words of a fact or entity in lower case. No tool takes such an id, so the words can be masked. */
const ID_KEYS: ReadonlySet<string> = new Set(["triple_id", "entity_id", "id"]);
/** Minimum number of characters of a secret that is searched for in ids. A shorter secret also occurs in other words. */
const ID_PART_MIN = 8;

function withoutIds(value: unknown, secrets: readonly Secret[]): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutIds(one, secrets));
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>;
  for (const [key, one] of Object.entries(value))
    copy[key] = ID_KEYS.has(key) && typeof one === "string" ? idWithout(one, secrets) : withoutIds(one, secrets);
  return copy;
}

function idWithout(id: string, secrets: readonly Secret[]): string {
  let masked = id;
  for (const { kind, part } of secrets) {
    const inId = entityId(part);
    if (inId.length >= ID_PART_MIN) masked = masked.replaceAll(inId, mask(kind));
  }
  return masked;
}

function maskShape(text: string, { kind, pattern, isSecret }: Shape, kinds: string[], secrets: Secret[]): string {
  pattern.lastIndex = 0;
  if (!pattern.test(text)) return text;
  return text.replace(pattern, (match: string, part: string) => {
    if (part.startsWith(MASK_START.slice(0, -1)) || isSecret?.(part) === false) return match;
    kinds.push(kind);
    secrets.push({ kind, part });
    // The match may contain the secret's text twice. The last occurrence is the secret, because the pattern ends with it.
    const at = match.lastIndexOf(part);
    return match.slice(0, at) + mask(kind) + match.slice(at + part.length);
  });
}

/** Masks private-key blocks in one pass. Each search begins after the previous block, even if that block has no end mark. */
function maskBlocks(text: string, kinds: string[]): string {
  let result = "";
  let done = 0;
  BLOCK_BEGIN.lastIndex = 0;
  for (let begin = BLOCK_BEGIN.exec(text); begin !== null; begin = BLOCK_BEGIN.exec(text)) {
    BLOCK_BODY.lastIndex = BLOCK_BEGIN.lastIndex;
    const body = BLOCK_BODY.exec(text)?.[0] ?? "";
    BLOCK_END.lastIndex = BLOCK_BEGIN.lastIndex + body.length;
    const end = BLOCK_END.exec(text)?.[0] ?? "";
    const upTo = BLOCK_BEGIN.lastIndex + body.length + end.length;
    // A first line without a key is not masked, as in code that searches for keys. A key that is cut off has at least one whole line.
    if ((end === "" ? /[A-Za-z0-9+/]{60}/ : /[A-Za-z0-9+/]{24}/).test(body)) {
      result += text.slice(done, begin.index) + mask(KEY_KIND);
      done = upTo;
      kinds.push(KEY_KIND);
    }
    BLOCK_BEGIN.lastIndex = Math.max(upTo, BLOCK_BEGIN.lastIndex);
  }
  return done === 0 ? text : result + text.slice(done);
}

function mask(kind: string): string {
  return MASK_START + kind + MASK_END;
}

/** Returns true if the part has letters and digits. A word or a number alone does not count as a token. */
function isMixed(part: string): boolean {
  return /[A-Za-z]/.test(part) && /[0-9]/.test(part);
}

/** Returns true unless the text is a placeholder for a password, as in documentation. */
function isNoPlaceholder(part: string): boolean {
  if (/^[$%{[<*]/.test(part) || /^(.)\1*$/.test(part)) return false;
  return !/^(?:pass|passwd|password|pwd|pw|secret|token|user|port|example|changeme|your.{0,40})$/i.test(part);
}
