/** Reads the journal, and formats the arguments of a write for a person. */
import type { AuditEntry, AuditRequest } from "../../protocol/hygiene.ts";
import type { Client } from "../../wire/client/client.ts";
import { shortId } from "../terminal/drawer.ts";

type Arguments = Readonly<Record<string, unknown>>;

const SOURCES: ReadonlySet<string> = new Set(["sourceFile", "source_file"]);
const TEXTS: ReadonlySet<string> = new Set(["content", "entry", "text", "new_content", "prompt", "key_takeaway"]);
/** Matches the length and hash that the journal stores in place of a long text. */
const LONG_TEXT = /^\[(\d+) characters, sha256 [0-9a-f]+\]$/;
/** Arguments to leave out, because the printed `wing/room` shows them or a person does not need them. */
const LEFT_OUT: ReadonlySet<string> = new Set(["wing", "room", "sha256", "mtime", "sourceDirIno", "cut"]);

/** Yields the journal's newest rows first, and asks for the next page when the caller needs one. */
export async function* journalRows(client: Client, asked: AuditRequest): AsyncGenerator<AuditEntry, void> {
  for (let before: { before?: number } = {}; ;) {
    const { entries, next } = await client.call("memory.audit", { ...asked, ...before });
    yield* entries;
    if (next === null) return;
    before = { before: next };
  }
}

/** Formats arguments as `wing/room, file, drawer, "text", name value`. `sourceOf` returns a source's name for people. */
export function inWords(asked: Arguments, sourceOf: (path: string) => string): string {
  const { wing, room } = asked;
  const place = [wing, room].filter((part) => typeof part === "string" && part !== "").join("/");
  const rank = (key: string): number => (SOURCES.has(key) ? 0 : key.endsWith("drawer_id") ? 1 : TEXTS.has(key) ? 2 : 3);
  const others = Object.entries(asked)
    .filter(([key, value]) => !LEFT_OUT.has(key) && value !== undefined && value !== null && value !== "")
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([key, value]) => wordsFor(key, value, sourceOf));
  return [place, ...others].filter((part) => part !== "").join(", ");
}

function wordsFor(key: string, value: unknown, sourceOf: (path: string) => string): string {
  if (typeof value === "string") {
    if (SOURCES.has(key)) return sourceOf(value);
    if (key.endsWith("drawer_id")) return shortId(value);
    const [, characters] = LONG_TEXT.exec(value) ?? [];
    if (characters !== undefined) return `${characters} characters`;
    return TEXTS.has(key) ? `"${value}"` : `${key} ${value}`;
  }
  if (Array.isArray(value)) {
    const words = value.filter((one) => typeof one === "string");
    return words.length === value.length && words.length < 4
      ? `${key} ${words.map((word) => (key.endsWith("ids") ? shortId(word) : word)).join(" ")}`
      : `${value.length} ${key}`;
  }
  return typeof value === "object" ? key : `${key} ${String(value)}`;
}
