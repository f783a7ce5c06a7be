/** Rules for the answer to any JSON-RPC message, independent of the code that answers. */
import { isErrorCode } from "../../src/base/errors.ts";
import { JSON_DEPTH_MAX } from "../../src/protocol/limits.ts";
import { REPLAYED_META } from "../../src/protocol/headers.ts";
import { RPC } from "../../src/protocol/spec.ts";
import { isDeeper } from "../../src/wire/transport/frame.ts";

export type Answer = {
  jsonrpc?: unknown;
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: Record<string, unknown> };
};

/** Returns the message in a line, or undefined if it has none. */
export function understood(line: Buffer): { message: unknown } | undefined {
  const text = line.toString();
  if (!Buffer.from(text).equals(line) || isDeeper(text, JSON_DEPTH_MAX)) return undefined;
  try {
    return { message: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Returns the id that the answer must have, or undefined if the broker must not answer. */
export function answerDue(line: Buffer): { id: string | number | null } | undefined {
  const known = understood(line);
  if (known === undefined) return line.toString().trim() === "" && isUtf8(line) ? undefined : { id: null };
  const { message } = known;
  if (!isObject(message)) return { id: null };
  const { id, method } = message;
  const isKnown = typeof method === "string" && METHODS.has(method);
  // The broker answers a method of METHODS even without an id, as upstream does.
  if (id === undefined && !isKnown) return undefined;
  return { id: typeof id === "string" || (typeof id === "number" && Number.isFinite(id)) ? id : null };
}

const METHODS = new Set([
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "palace.status",
  "palace.stats",
  "source.list",
  "source.replace",
  "source.part",
  "source.remove",
  "conversation.replace",
  "closet.sources",
  "closet.rebuild",
  "closet.compressPreview",
  "closet.compress",
  "link.rebuild",
  "message.add",
  "drawer.search",
  "drawer.show",
  "drawer.places",
  "drawer.list",
  ...["turn.begin", "turn.end", "turn.list", "turn.scored", "turn.owed", "turn.judge", "outcome.stats", "outcome.why"],
  ...["book.ingest", "book.remove", "book.list", "fact.add", "fact.update", "fact.archive"],
  ...["outcome.record", "outcome.score", "outcome.search", "outcome.insights", "outcome.rewrite"],
]);

/** Returns why an answer is not allowed, or undefined if it is. */
export function objection({ jsonrpc, result, error }: Answer): string | undefined {
  if (jsonrpc !== "2.0") return "it is no JSON-RPC 2.0";
  if ((result === undefined) === (error === undefined)) return "it has not one of result and error";
  if (error === undefined) return undefined;
  const { code, message, data } = error;
  if (typeof message !== "string" || message === "") return "the error says nothing";
  if (code === RPC.METHOD_NOT_FOUND || code === RPC.INVALID_PARAMS || code === RPC.INVALID_REQUEST) return undefined;
  if (isUpstreams(data)) return undefined;
  if (code !== RPC.SERVER_ERROR && code !== RPC.PARSE_ERROR) return `the number ${code} is none of ours`;
  const named = data?.["code"];
  if (!isErrorCode(named)) return `an untyped error: ${JSON.stringify(error)}`;
  // Database and broker are healthy, so an input that makes them report a fault has broken something.
  return /^(PROTOCOL_|BROKER_BUSY|BROKER_DENIED)/.test(named) ? undefined : `${named} for an input`;
}

/** Recognizes the errors that upstream raises on purpose, as agents get them (palace.md 2.6). */
function isUpstreams(data: Record<string, unknown> | undefined): boolean {
  const { error_class: name, message } = data ?? {};
  if (typeof message !== "string") return false;
  return (
    (name === "ValueError" && /^name /.test(message)) ||
    (name === "TypeError" && /^\w+ must be a string$/.test(message))
  );
}

/** Drawer that a sender filed last, and its number of rows. */
export type Filed = { id: string; rows: number };

type Effect = { grown: number; wrong?: string; filed?: Filed };

/** Returns by how many drawers this call changed the palace, according to its answer. `wrong`: why it should not have succeeded. */
export function effectOf(message: unknown, { result }: Answer, own?: Filed): Effect {
  if (!isObject(message) || result === undefined) return { grown: 0 };
  const params = isObject(message["params"]) ? message["params"] : {};
  if (message["method"] === "source.replace") {
    const isValid = isName(params["wing"]) && isName(params["room"]) && typeof params["content"] === "string";
    return { grown: Number(result["drawers"]) - Number(result["removed"]), ...(!isValid && { wrong: "a bad source" }) };
  }
  if (message["method"] === "conversation.replace") {
    const isValid = isName(params["wing"]) && isName(params["room"]) && Array.isArray(params["texts"]);
    return {
      grown: Number(result["added"]) - Number(result["removed"]),
      ...(!isValid && { wrong: "a bad transcript" }),
    };
  }
  if (message["method"] === "message.add") return { grown: Number(result["added"]) };
  const memories = memoriesMadeBy(message["method"], result);
  if (memories !== undefined) return { grown: memories };
  if (message["method"] === "source.remove") return { grown: -Number(result["removed"]) };
  if (message["method"] !== "tools/call" || isReplayed(result)) return { grown: 0 };
  if (!String(params["name"]).startsWith("mempalace_")) return { grown: memoriesMade(params["name"], result) };
  const value = valueOf(result) ?? {};
  const args = isObject(params["arguments"]) ? params["arguments"] : {};
  switch (params["name"]) {
    case "mempalace_checkpoint":
      return { grown: sum(value["added"], "chunks") + sum([value["diary"]], "chunks") };
    case "mempalace_delete_drawers": {
      const results = Array.isArray(value["results"]) ? (value["results"] as unknown[]) : [];
      const ids = results.flatMap((one) => (isObject(one) ? ((one["deleted_ids"] as string[] | undefined) ?? []) : []));
      return { grown: -new Set(ids).size };
    }
    default:
      return value["success"] === true ? effectOfSuccess(params["name"], args, value, own) : { grown: 0 };
  }
}

/** Counts the memories that a method made; undefined for a method that makes none. */
function memoriesMadeBy(method: unknown, result: Record<string, unknown>): number | undefined {
  switch (method) {
    case "turn.end":
      return result["id"] === null ? 0 : 1;
    case "fact.add":
    case "outcome.record":
      return 1;
    case "book.ingest":
      return result["isNew"] === true ? Number(result["chunks"]) : 0;
    case "book.remove":
      return -Number(result["removed"]);
    default:
      return undefined;
  }
}

/** Counts the memories that a tool of the `outcome` profile made, by its answer. A removal only archives a memory, so it does not count. */
function memoriesMade(name: unknown, { content }: Record<string, unknown>): number {
  const [{ text = "" } = {}] = (content ?? []) as { text?: string }[];
  const isMade =
    name === "add_to_memory_bank" ? text.startsWith("Added to memory bank") : text.startsWith("Recorded: ");
  return isMade && (name === "add_to_memory_bank" || name === "record_response") ? 1 : 0;
}

function effectOfSuccess(
  name: unknown,
  args: Record<string, unknown>,
  value: Record<string, unknown>,
  own: Filed | undefined,
): Effect {
  const chunks = Number(value["chunks"] ?? 0);
  switch (name) {
    case "mempalace_add_drawer": {
      if (value["reason"] === "already_exists") return { grown: 0 };
      const right = isName(args["wing"]) && isName(args["room"]) && isContent(args["content"]);
      const filed = { id: String(value["drawer_id"]), rows: chunks };
      return { grown: chunks, filed, ...(!right && { wrong: "a bad drawer" }) };
    }
    case "mempalace_diary_write": {
      const right = isName(args["agent_name"]) && isContent(args["entry"] ?? args["content"]);
      return { grown: chunks, ...(!right && { wrong: "a bad diary entry" }) };
    }
    case "mempalace_update_drawer": {
      // The answer gives no number of rows if the drawer was one row and still is.
      if (chunks === 0) return { grown: 0 };
      if (args["drawer_id"] !== own?.id || own === undefined) return { grown: 0, wrong: "a drawer nobody filed" };
      return { grown: chunks - own.rows, filed: { ...own, rows: chunks } };
    }
    case "mempalace_delete_drawer":
      return {
        grown: -Number(value["chunks_deleted"]),
        ...(typeof args["drawer_id"] !== "string" && { wrong: "an id that is none" }),
      };
    case "mempalace_delete_by_source":
      return { grown: -Number(value["deleted"] ?? 0) };
    case "mempalace_sync":
      return { grown: -Number(value["removed_drawers"]) };
    default:
      return { grown: 0 };
  }
}

function sum(rows: unknown, key: string): number {
  if (!Array.isArray(rows)) return 0;
  return rows.reduce<number>((total, row) => total + (isObject(row) ? Number(row[key] ?? 0) : 0), 0);
}

function valueOf(result: Record<string, unknown>): Record<string, unknown> | undefined {
  const [first] = (result["content"] ?? []) as { text?: string }[];
  const value: unknown = JSON.parse(first?.text ?? "null");
  return isObject(value) ? value : undefined;
}

function isReplayed({ _meta }: Record<string, unknown>): boolean {
  return isObject(_meta) && _meta[REPLAYED_META] === true;
}

/** Applies the rule for names in palace.md 2.6. */
function isName(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const name = value.trim();
  const letters = Array.from(name);
  return (
    letters.length > 0 &&
    letters.length <= 128 &&
    !name.includes("..") &&
    letters.every((letter) => /[\p{L}\p{N}_ .'-]/u.test(letter)) &&
    [letters[0], letters.at(-1)].every((letter) => /[\p{L}\p{N}]/u.test(letter ?? ""))
  );
}

function isContent(value: unknown): boolean {
  return (
    typeof value === "string" && value.trim() !== "" && !value.includes("\0") && Array.from(value).length <= 100_000
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isUtf8(line: Buffer): boolean {
  return Buffer.from(line.toString()).equals(line);
}
