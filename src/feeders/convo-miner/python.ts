/**
 * Formats values as upstream's Python writes them into a transcript: json.dumps without spaces, and str(). Pure. Used by
 * blocks.ts. Numbers come from JSON.parse, so 1.0 reads 1 here; upstream keeps the fraction.
 */

/** Deep enough for any tool's input; deeper JSON is cut off anyway, at 200 characters. */
const DEPTH_MAX = 200;

/** `json.dumps(value, separators=(",", ":"))`: ASCII alone. */
export function jsonDumps(value: unknown, depth = 0): string {
  return dumps(value, [",", ":"], depth);
}

/** `json.dumps(value)`. */
export function jsonDumpsSpaced(value: unknown): string {
  return dumps(value, [", ", ": "], 0);
}

function dumps(value: unknown, separators: readonly [string, string], depth: number): string {
  const [comma, colon] = separators;
  if (depth > DEPTH_MAX) return "null";
  if (typeof value === "string") return ascii(JSON.stringify(value));
  if (typeof value === "number") return numberText(value);
  if (Array.isArray(value)) return `[${value.map((one) => dumps(one, separators, depth + 1)).join(comma)}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(
      ([key, one]) => `${ascii(JSON.stringify(key))}${colon}${dumps(one, separators, depth + 1)}`,
    );
    return `{${entries.join(comma)}}`;
  }
  return value === true ? "true" : value === false ? "false" : "null";
}

/** `str(value)`. */
export function str(value: unknown): string {
  return typeof value === "string" ? value : repr(value, 0);
}

function repr(value: unknown, depth: number): string {
  if (depth > DEPTH_MAX) return "...";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return numberText(value);
  if (Array.isArray(value)) return `[${value.map((one) => repr(one, depth + 1)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, one]) => `${quoted(key)}: ${repr(one, depth + 1)}`);
    return `{${entries.join(", ")}}`;
  }
  return value === true ? "True" : value === false ? "False" : "None";
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

/** Python writes an exponent from 1e16 on, with at least two digits. */
function numberText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e16) return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  const text = Number.isInteger(value) ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

function ascii(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (unit) =>
    unit === "\u007f" ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
