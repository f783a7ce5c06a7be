/** Names and finds drawers for people: the short id, the title, and a drawer by part of its id. */
import type { Client } from "../../wire/client/client.ts";
import { quoted } from "../../base/shell-word.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import type { JsonObject } from "../../protocol/spec.ts";
import { shorten } from "./output.ts";

/** A drawer in the answers of `drawer.show` and `drawer.list`, with only the fields that the verbs use. */
export type ShownDrawer = {
  drawer_id: string;
  wing: string;
  room: string;
  content?: string;
  content_preview?: string;
  source_path: string;
  metadata: Record<string, unknown>;
};

/** Number of hexadecimal digits in a short id: enough to distinguish a hundred thousand drawers. */
const SHORT_LENGTH = 10;
/** Minimum number of digits to erase a drawer: erasing cannot be undone, and a shorter part may be a typing error. */
const TO_ERASE_MIN = 4;
const HASHED = /_([0-9a-f]{12,})(?:_chunk_\d+)?$/;

/** Returns the beginning of the id's hash, which `palace show` accepts; the whole id if it has no hash. */
export function shortId(id: string): string {
  return HASHED.exec(id)?.[1]?.slice(0, SHORT_LENGTH) ?? id;
}

/** Returns a text's first line with words, without the marks of a heading or a list. */
export function titleOf(text: string, max: number): string {
  const lines = text.split("\n").map((line) => line.replace(/^\s*(?:#{1,6}|[-*>+]|\d+\.)\s+/, "").trim());
  return shorten(lines.find((line) => /[\p{L}\p{N}]/u.test(line)) ?? text, max);
}

/** Finds a drawer by its id, or by a unique beginning of the id or of its hash. Errors: PROTOCOL_BAD_PARAMS. */
export async function findDrawer(client: Client, id: string): Promise<ShownDrawer & JsonObject> {
  const answer = await client.call("drawer.show", { id });
  if (answer.found) return answer.drawer as ShownDrawer & JsonObject;
  const { matches } = answer;
  if (matches.length === 0) assertLongEnough(id);
  throw matches.length > 1
    ? severalBegin(id, matches)
    : new PalaceError("PROTOCOL_BAD_PARAMS", `no drawer ${id}`, "look for its id: palace search WORDS, or palace ls");
}

/** Refuses a part of a short id with fewer than six digits, because the broker does not search for it. Errors: CONFIG_USAGE. */
function assertLongEnough(id: string): void {
  if (!/^[0-9a-f]{1,5}$/.test(id)) return;
  const hint = "give the whole short id: palace ls WING/ROOM";
  throw wrongUsage(`${id} is too short: give at least 6 digits of a short id`, hint);
}

/** Completes a part of an id; returns `id` itself if no drawer fits. Errors: PROTOCOL_BAD_PARAMS if several drawers fit, CONFIG_USAGE. */
export async function wholeId(client: Client, id: string): Promise<string> {
  const answer = await client.call("drawer.show", { id });
  if (!answer.found && answer.matches.length === 0) {
    assertLongEnough(id);
    return id;
  }
  return answer.found ? String(answer.drawer["drawer_id"]) : (await findDrawer(client, id)).drawer_id;
}

/**
 * Completes a part of an id before its drawer is erased, also if the drawer was deleted but its text is still in the journal. Errors: as
 * wholeId; CONFIG_USAGE if the part is too short, PROTOCOL_BAD_PARAMS if no drawer fits.
 */
export async function wholeIdToErase(client: Client, given: string): Promise<string> {
  const answer = await client.call("drawer.show", { id: given });
  const isGone = !answer.found && answer.matches.length === 0;
  const id = isGone ? await goneId(client, given, answer.deleted ?? []) : await wholeId(client, given);
  if (isEnoughToErase(given, id)) return id;
  throw wrongUsage(
    `${given} is too short: forgetting takes at least ${TO_ERASE_MIN} characters of the id's hash; nothing was erased`,
    `look at the drawer first: palace show ${quoted(id)}; then give that id`,
  );
}

/** Completes a part of an id that fits no existing drawer. `deleted`: ids of deleted drawers that fit. Errors: as wholeIdToErase. */
async function goneId(client: Client, given: string, deleted: readonly string[]): Promise<string> {
  const [only, ...others] = deleted;
  if (others.length > 0) throw severalBegin(given, deleted);
  if (only !== undefined) return only;
  assertLongEnough(given);
  if (HASHED.test(given)) return given;
  // An id without a drawer is still valid if it is another id of a memory, or if facts, links or imported graphs name it.
  const { total, facts, links, carried = 0 } = await client.call("memory.forgetPreview", { ids: [given] });
  if (total + facts + links + carried > 0) return given;
  throw new PalaceError(
    "PROTOCOL_BAD_PARAMS",
    `no drawer ${given}; nothing was erased`,
    "look for its id: palace search WORDS, or palace ls; or erase by its text: printf %s TEXT | palace forget --match -",
  );
}

function severalBegin(given: string, ids: readonly string[]): PalaceError {
  return new PalaceError(
    "PROTOCOL_BAD_PARAMS",
    `several ids begin with ${given}`,
    `give one of them: ${ids.join(" ")}`,
  );
}

/** Returns true if `given` is the id, or at least `TO_ERASE_MIN` characters of its hash. Without a hash, the text after the last `_` counts. */
export function isEnoughToErase(given: string, id: string): boolean {
  if (given.startsWith(id)) return true;
  const hashAt = (HASHED.exec(id)?.index ?? id.lastIndexOf("_")) + 1;
  const part = id.startsWith(given) ? given.slice(hashAt) : given;
  return part.length >= TO_ERASE_MIN && id.startsWith(part, hashAt);
}

/** Returns the command that undoes `agent`'s writes since `sinceMs`; with `untilMs`, the command does not ask for confirmation. */
export function undoCommand(agent: string, sinceMs: number, untilMs?: number): string {
  const until = untilMs === undefined ? "" : ` --until ${new Date(untilMs).toISOString()} --yes`;
  return `palace history undo --client ${/^[\w.-]+$/.test(agent) ? agent : JSON.stringify(agent)} --since ${new Date(sinceMs).toISOString()}${until}`;
}
