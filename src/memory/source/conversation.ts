/** Files the exchanges of a transcript with the ids and metadata of upstream's miner (palace.md 4.7, upstream-latest.md 2.3). */
import { type Drawer, type IdRecipe, type Metadata, type NewDrawer } from "../port/drawer.ts";
import { type LedgerTx, type WriteCall } from "../port/ledger.ts";
import { MODE_SEPARATOR } from "../port/source.ts";
import { EXTRACT_MODES, type ExtractMode } from "../../protocol/filing.ts";
import { CONVERSATION_PART_DRAWERS_MAX, DRAWER_SIZE_MAX } from "../../protocol/limits.ts";
import { hash24, lengthJoined, recipeNote } from "../drawer/drawer-id.ts";
import { hallFinder, hallList } from "../drawer/hall.ts";
import { codePointLength, localTimestamp } from "../text/text.ts";
import { InvalidValue, validName } from "../text/validate.ts";
import { addedBy, countIn, filledTextIn, optionalText, secondsIn, textIn } from "./params.ts";
import { structuralEntities } from "./structural-entities.ts";

const NORMALIZE_VERSION = 2;
const CHUNKER_VERSION = 2;

type Part = ReturnType<typeof readPart>;

/**
 * Files one part of a transcript: the drawers `from` to `from + texts.length` of `total`. The last part removes the drawers beyond `total`
 * and stores the digest. Until then the source counts as not filed. Errors: PROTOCOL_BAD_PARAMS.
 */
export function replaceConversation(tx: LedgerTx, call: WriteCall): unknown {
  const part = readPart(call.params, tx.idRecipe());
  const { sourceFile, wing, mtime, from, total, mode } = part;
  const before = tx.drawersOfSource(sourceFile).filter((drawer) => isOfConversation(drawer, mode));
  const byId = new Map(before.map((drawer) => [drawer.id, drawer]));
  const filedAt = localTimestamp(call.atMs * 1000);
  const fresh: NewDrawer[] = [];
  let unchanged = 0;
  part.texts.forEach((text, offset) => {
    const id = drawerId(part, offset);
    const known = byId.get(id);
    const metadata = metadataOf(part, offset, text, filedAt);
    if (known === undefined) fresh.push({ id, text, metadata });
    else if (known.text !== text) tx.updateDrawer(id, { text, metadata });
    else {
      unchanged += 1;
      refresh(tx, known, metadata, part.authored[offset] !== undefined);
    }
  });
  tx.insertDrawers(fresh);

  const end = from + part.texts.length;
  const superfluous = before.filter((drawer) => isSuperfluous(part, drawer));
  tx.deleteDrawers(superfluous.map(({ id }) => id));
  const isWhole = end === total && before.length - superfluous.length + fresh.length === total;
  tx.putSource({
    ...{ sourceFile: recordName(sourceFile, mode), wing, mtime, sha256: isWhole ? part.sha256 : "", drawers: end },
  });
  return { drawers: part.texts.length - unchanged, added: fresh.length, unchanged, removed: superfluous.length };
}

/** Returns true if a drawer is to be removed, because a drawer of this part replaces it or because it is beyond the end of the source. */
function isSuperfluous(part: Part, { id, metadata }: Drawer): boolean {
  const { from, total, texts } = part;
  const index = metadata["chunk_index"];
  const end = from + texts.length;
  if (typeof index === "number" && index >= from && index < end) return id !== drawerId(part, index - from);
  return end === total && (typeof index !== "number" || index >= total);
}

/** Returns the name of a filing record. Each extract mode of a transcript has its own record. */
function recordName(sourceFile: string, mode: ExtractMode): string {
  return mode === "exchange" ? sourceFile : `${sourceFile}${MODE_SEPARATOR}${mode}`;
}

/** Updates the metadata of an unchanged drawer. The drawer keeps its filing time and, if the transcript has no times, its `authored_at`. */
function refresh(tx: LedgerTx, known: Drawer, metadata: Metadata, isDated: boolean): void {
  const { filed_at: filedAt, last_modified: modified, authored_at: authored = filedAt } = known.metadata;
  const kept: Metadata = {
    ...metadata,
    ...(filedAt !== undefined && { filed_at: filedAt }),
    ...(modified !== undefined && { last_modified: modified }),
    ...(!isDated && authored !== undefined && { authored_at: authored }),
  };
  const isSame =
    Object.keys(kept).length === Object.keys(known.metadata).length &&
    Object.entries(kept).every(([key, value]) => known.metadata[key] === value);
  if (!isSame) tx.updateDrawer(known.id, { metadata: kept });
}

/** Returns true for a drawer that a conversation miner filed in this extract mode, and false for one that was added by hand. */
function isOfConversation({ metadata }: Drawer, mode: ExtractMode): boolean {
  const isMined = metadata["ingest_mode"] === "convos" || metadata["ingest_mode"] === "registry";
  return isMined && (metadata["extract_mode"] ?? "exchange") === mode;
}

function drawerId({ wing, rooms, sourceFile, mode, recipe, from }: Part, offset: number): string {
  const parts = [sourceFile, mode, String(from + offset)];
  const hash = hash24(recipe === "v3" ? lengthJoined(...parts) : parts.join(":"));
  return `drawer_${wing}_${rooms[offset] ?? ""}_${hash}`;
}

function metadataOf(part: Part, offset: number, text: string, filedAt: string): Metadata {
  const index = part.from + offset;
  const { content_hash: contentHash, ...optional } = part.optional;
  return {
    wing: part.wing,
    room: part.rooms[offset] ?? "",
    hall: part.hallOf(text),
    source_file: part.sourceFile,
    chunk_index: index,
    added_by: part.addedBy,
    filed_at: filedAt,
    entities: structuralEntities(text),
    authored_at: part.authored[offset] ?? filedAt,
    ingest_mode: "convos",
    extract_mode: part.mode,
    normalize_version: NORMALIZE_VERSION,
    ...recipeNote(part.recipe),
    chunk_total: part.total,
    ...(part.mode === "exchange" && { convo_chunker_version: CHUNKER_VERSION }),
    source_mtime: part.mtime,
    last_modified: filedAt,
    ...optional,
    // Upstream reads this field only from the first drawer.
    ...(index === 0 && contentHash !== undefined && { content_hash: contentHash }),
  };
}

function readPart(params: Record<string, unknown>, recipe: IdRecipe) {
  const texts = params["texts"];
  if (!Array.isArray(texts) || !texts.every(isDrawerText))
    throw new InvalidValue(`texts must be a list of non-empty strings of at most ${DRAWER_SIZE_MAX} characters`);
  if (texts.length > CONVERSATION_PART_DRAWERS_MAX)
    throw new InvalidValue(`texts holds more than ${CONVERSATION_PART_DRAWERS_MAX} drawers`);
  const from = countIn(params, "from");
  const total = countIn(params, "total");
  const isWhole = from + texts.length <= total && (texts.length > 0 || total === 0);
  if (!isWhole) throw new InvalidValue("from, texts and total contradict each other");
  return {
    wing: validName(params["wing"], "wing"),
    rooms: readRooms(params, texts.length),
    mode: readMode(params["extractMode"]),
    recipe,
    sourceFile: filledTextIn(params, "sourceFile"),
    mtime: secondsIn(params, "mtime"),
    sha256: textIn(params, "sha256"),
    texts: texts.map((one) => one.toWellFormed()),
    from,
    total,
    addedBy: addedBy(params),
    hallOf: hallFinder(hallList(params["halls"])),
    optional: {
      ...optionalText(params, "contentHash", "content_hash"),
      ...optionalText(params, "sourceDirIno", "source_dir_ino"),
    },
    authored: readTimes(params, texts.length),
  };
}

function readRooms(params: Record<string, unknown>, count: number): string[] {
  const { room, rooms } = params;
  if (rooms === undefined) return Array<string>(count).fill(validName(room, "room"));
  if (!Array.isArray(rooms) || rooms.length !== count) throw new InvalidValue("rooms must name the room of each text");
  return rooms.map((one) => validName(one, "room"));
}

/** Returns the time at which each text was said; undefined if the transcript does not have it. */
function readTimes({ authoredAt, authoredAts }: Record<string, unknown>, count: number): (string | undefined)[] {
  const whole = typeof authoredAt === "string" ? authoredAt.toWellFormed() : undefined;
  if (authoredAts === undefined) return Array<string | undefined>(count).fill(whole);
  if (!Array.isArray(authoredAts) || authoredAts.length !== count)
    throw new InvalidValue("authoredAts must have the time of each text");
  return authoredAts.map((one) => (typeof one === "string" ? one.toWellFormed() : whole));
}

function readMode(value: unknown): ExtractMode {
  const mode = EXTRACT_MODES.find((one) => one === (value ?? "exchange"));
  if (mode === undefined) throw new InvalidValue(`extractMode is none of ${EXTRACT_MODES.join(", ")}`);
  return mode;
}

function isDrawerText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && codePointLength(value) <= DRAWER_SIZE_MAX;
}
