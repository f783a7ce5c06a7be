/** Formats values as Python's json.dumps and str() do, but 1.0 becomes 1, because JSON.parse does not distinguish them. */

/** Maximum depth. Deeper values are written as `tooDeep`, because recursion into very deep JSON would exhaust the stack. */
const DEPTH_MAX = 200;

type Style = {
  comma: string;
  colon: string;
  text: (text: string) => string;
  /** Words for true, false and null; any other value gets the word for null. */
  words: readonly [string, string, string];
  tooDeep: string;
};

const json = (text: string): string => ascii(JSON.stringify(text));
const JSON_WORDS = { text: json, words: ["true", "false", "null"], tooDeep: "null" } as const;
const COMPACT: Style = { comma: ",", colon: ":", ...JSON_WORDS };
const SPACED: Style = { comma: ", ", colon: ": ", ...JSON_WORDS };
const REPR: Style = { comma: ", ", colon: ": ", text: quoted, words: ["True", "False", "None"], tooDeep: "..." };

/** Works like `json.dumps(value, separators=(",", ":"))`. */
export function jsonDumps(value: unknown): string {
  return written(value, COMPACT);
}

/** Works like `json.dumps(value)`. */
export function jsonDumpsSpaced(value: unknown): string {
  return written(value, SPACED);
}

/** Works like `str(value)`. */
export function str(value: unknown): string {
  return typeof value === "string" ? value : written(value, REPR);
}

function written(value: unknown, style: Style, depth = 0): string {
  const { comma, colon, text, words, tooDeep } = style;
  if (depth > DEPTH_MAX) return tooDeep;
  if (typeof value === "string") return text(value);
  if (typeof value === "number") return numberText(value);
  if (Array.isArray(value)) return `[${value.map((one) => written(one, style, depth + 1)).join(comma)}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, one]) => `${text(key)}${colon}${written(one, style, depth + 1)}`);
    return `{${entries.join(comma)}}`;
  }
  return value === true ? words[0] : value === false ? words[1] : words[2];
}

function quoted(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")
    .replaceAll(mark, `\\${mark}`);
  return `${mark}${escaped}${mark}`;
}

/** Formats a number as Python does: from 1e16 on and below 1e-4 with an exponent of at least two digits. */
function numberText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  const text = Number.isInteger(value) || Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) =>
    unit === "\u007f" ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
