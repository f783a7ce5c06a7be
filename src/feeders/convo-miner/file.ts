/** Files one transcript in parts. If a run is killed between two parts, the next run files the transcript again. */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import { strip } from "../../memory/text/text.ts";
import { sessionNameOf } from "../../base/session-name.ts";
import { CONVERSATION_PART_DRAWERS_MAX, CONVERSATION_PART_SIZE_MAX } from "../../protocol/limits.ts";
import { lostNotice } from "../decode.ts";
import { inodeOf } from "../inode.ts";
import { countRefused, countUnread } from "../run.ts";
import { type Caller, send } from "../send.ts";
import { chunkConversation } from "./chunk.ts";
import { copiedFrom, digestsOf, isWhole } from "./copied.ts";
import { extractMemories, type Memory } from "./general.ts";
import { type Entry, readCheckpoint, writeCheckpoint } from "./notes.ts";
import { type Reading, readTranscript, RESUME_SIZE_MIN_BYTES } from "./read.ts";
import { roomOf } from "./room.ts";
import type { Run, TranscriptFile } from "./run.ts";
import { type Time, timesOf } from "./times.ts";
import type { Conversation } from "./transcript.ts";

/** Maximum conversation hashes in a drawer's metadata. A file with more conversations gets no hashes, to keep the metadata short. */
const HASHES_MAX = 60;
const GAP = "\n\n";

type Prepared = { entry: Entry; reading: Reading; transcript: Conversation; hashes: string[]; isNew: boolean };

/** Returns the number of written drawers; undefined if the transcript was not sent. */
export async function fileTranscript(run: Run, caller: Caller, file: TranscriptFile): Promise<number | undefined> {
  const prepared = prepare(run, file);
  if (prepared === undefined) return undefined;
  if ("refused" in prepared) {
    // The drawers stay if a filed transcript has no content any more.
    return settle(run, file, prepared);
  }
  const { entry, reading, transcript } = prepared;
  if (!prepared.isNew) {
    const { exchanges, without } = run.notes.files[file.sourceFile] ?? {};
    const drawers = run.records.get(file.sourceFile)?.drawers ?? 0;
    return settle(run, file, { ...entry, drawers, ...(exchanges && { exchanges }), ...(without && { without }) });
  }
  const { extract, filing } = run.options;
  const { size } = filing.cut;
  const whole =
    extract === "general"
      ? piecesOf(extractMemories(transcript.text, size))
      : { texts: chunkConversation(transcript.text, size, filing.transcriptMin) };
  const times = timesOf(transcript.text, transcript.times, whole.texts);
  const { pieces, ...copied } = withoutCopies(run, file, { ...whole, ...(times && { times }) }, entry.hashes.length);
  const { texts } = pieces;
  if (texts.length === 0 && copied.without !== undefined)
    return settle(run, file, { ...entry, ...copied, refused: `all its messages are in ${copied.without.join(", ")}` });
  const before = run.exchanges.get(file.sourceFile);
  if (copied.exchanges !== undefined) run.exchanges.set(file.sourceFile, copied.exchanges);
  const sent = await sendParts(run, caller, file, prepared, pieces);
  if (sent === undefined) {
    if (before === undefined) run.exchanges.delete(file.sourceFile);
    else run.exchanges.set(file.sourceFile, before);
    return undefined;
  }
  writeCheckpoint(run.notesDir, file.path, reading.checkpoint);
  for (const hash of entry.hashes) run.known.set(hash, file.sourceFile);
  run.notes.files[file.sourceFile] = { ...entry, ...copied, drawers: texts.length };
  run.report.filed += 1;
  run.report.drawers += sent.drawers;
  run.report.kept += sent.unchanged;
  return sent.drawers;
}

export function wouldFile(run: Run, file: TranscriptFile): boolean {
  const prepared = prepare(run, file);
  if (prepared === undefined) return false;
  if (!("refused" in prepared) && prepared.isNew) return true;
  settle(run, file, "refused" in prepared ? prepared : prepared.entry);
  return false;
}

/** Records in the notes and in the report that a transcript is unchanged or refused. */
export function settle(run: Run, { sourceFile, name }: TranscriptFile, entry: Entry): undefined {
  run.notes.files[sourceFile] = entry;
  if (entry.refused === undefined) run.report.unchanged += 1;
  else run.report.skipped.push({ file: name, reason: entry.refused });
  return undefined;
}

/** Returns the other filed source of the same session: the agent's own file, or the transcript that we made from it. */
function twinOf({ records, sessions }: Run, { sourceFile }: TranscriptFile): string | undefined {
  const name = sessionNameOf(sourceFile);
  if (name === undefined || records.has(sourceFile)) return undefined;
  return sessions.get(name.uuid)?.find((other) => sessionNameOf(other)?.isWrittenDown !== name.isWrittenDown);
}

/** Reads a transcript and compares it with its filed state. Reports it and returns undefined if it is unreadable or filed from elsewhere. */
function prepare(run: Run, file: TranscriptFile): Prepared | (Entry & { refused: string }) | undefined {
  const twin = twinOf(run, file);
  if (twin !== undefined) {
    // Does not note this skip, because the other source may later be removed from the palace.
    run.report.skipped.push({ file: file.name, reason: `the session is filed already, from ${twin}` });
    return undefined;
  }
  let reading: Reading | string;
  try {
    reading = readTranscript(file.path, {
      earlier: readCheckpoint(run.notesDir, file.path),
      resumeSizeMin: RESUME_SIZE_MIN_BYTES,
      names: run.slackNames(file.path),
    });
  } catch (error) {
    return countUnread(run.report, file.name, error);
  }
  const { mtime, size } = file;
  const refuse = (refused: string): Entry & { refused: string } => ({
    ...{ mtime, size, sha256: "", drawers: 0, hashes: [] },
    refused,
  });
  if (typeof reading === "string") return refuse(reading);
  if (reading.lost !== undefined) run.watch.notice(lostNotice(file.name, reading.lost));
  const all = reading.conversations.map((one) => ({ ...one, hash: sha256(strip(one.text)) }));
  const filled = all.filter(({ text }) => strip(text) !== "");
  if (filled.length === 0) return refuse("contains no text");
  const fresh = filled.filter(({ hash }) => (run.known.get(hash) ?? file.sourceFile) === file.sourceFile);
  if (fresh.length === 0) return refuse(`the same conversation as ${run.known.get(filled[0]?.hash ?? "") ?? ""}`);
  const hashes = fresh.map(({ hash }) => hash);
  const entry: Entry = {
    mtime: reading.mtime,
    size: reading.size,
    sha256: hashes.length === 1 ? (hashes[0] ?? "") : sha256(hashes.join(",")),
    drawers: 0,
    hashes,
  };
  const noted = run.notes.files[file.sourceFile];
  const isHeld = noted === undefined || isWhole(noted, run.records);
  const isNew = run.options.force || !isHeld || run.records.get(file.sourceFile)?.sha256 !== entry.sha256;
  return { entry, reading, transcript: joined(fresh), hashes, isNew };
}

function joined(conversations: readonly Conversation[]): Conversation {
  const times: Time[] = [];
  let start = 0;
  for (const one of conversations) {
    times.push(...one.times.map(([at, time]): Time => [start + at, time]));
    start += one.text.length + GAP.length;
  }
  return { text: conversations.map(({ text }) => text).join(GAP), times };
}

type Pieces = {
  texts: readonly string[];
  rooms?: readonly string[];
  /** Time of each text, or null for a text without a time. */
  times?: readonly (string | null)[];
};

/** Leaves out the first exchanges if other sources have them. A file with several conversations is filed completely. */
function withoutCopies(
  { options, exchanges }: Run,
  { sourceFile }: TranscriptFile,
  pieces: Pieces,
  conversations: number,
): { pieces: Pieces } & Pick<Entry, "exchanges" | "without"> {
  const digests = digestsOf(pieces.texts, pieces.times);
  const [first = ""] = digests;
  if (options.extract !== "exchange" || conversations !== 1 || first === "") return { pieces };
  const { count, sources } = copiedFrom(digests, sourceFile, exchanges);
  const [texts, times] = [pieces.texts.slice(count), pieces.times?.slice(count)];
  return {
    pieces: { texts, ...(times && { times }) },
    exchanges: { first, held: digests.slice(count) },
    ...(count > 0 && { without: sources }),
  };
}

function piecesOf(memories: readonly Memory[]): Pieces {
  return { texts: memories.map(({ text }) => text), rooms: memories.map(({ type }) => type) };
}

type Sent = { drawers: number; unchanged: number };

/** Sends the drawers in parts. Returns undefined if the broker refuses this transcript; other errors end the run. */
async function sendParts(
  run: Run,
  caller: Caller,
  file: TranscriptFile,
  { entry, reading, transcript, hashes }: Prepared,
  { texts, rooms, times }: Pieces,
): Promise<Sent | undefined> {
  const sent: Sent = { drawers: 0, unchanged: 0 };
  const room = roomOf(transcript.text);
  const sourceDirIno = inodeOf(dirname(file.path));
  const common = {
    wing: run.options.wing,
    room,
    sourceFile: run.records.get(file.sourceFile)?.sourceFile ?? file.sourceFile,
    ...(rooms !== undefined && { extractMode: run.options.extract }),
    mtime: reading.mtime,
    sha256: entry.sha256,
    total: texts.length,
    addedBy: run.options.agent,
    ...(hashes.length <= HASHES_MAX && { contentHash: hashes.join(",") }),
    ...(reading.authoredAt !== undefined && { authoredAt: reading.authoredAt }),
    ...(sourceDirIno !== undefined && { sourceDirIno }),
    ...(run.options.filing.halls !== undefined && { halls: run.options.filing.halls }),
  };
  try {
    // A transcript without drawers is filed as empty, so that the next run does not read it again.
    for (let from = 0, to = 0; from === 0 || from < texts.length; from = to) {
      to = endOfPart(texts, from);
      const part = {
        ...{ from, texts: texts.slice(from, to) },
        ...(rooms !== undefined && { rooms: rooms.slice(from, to) }),
        ...(times !== undefined && { authoredAts: times.slice(from, to) }),
      };
      const result = await send(caller, run.signal, "conversation.replace", { ...common, ...part });
      sent.drawers += result.drawers;
      sent.unchanged += result.unchanged;
    }
    return sent;
  } catch (error) {
    return countRefused(run.report, file.name, error);
  }
}

/** Returns the index after the next part. A part has at least one drawer, even if that drawer is above the size limit. */
function endOfPart(texts: readonly string[], from: number): number {
  let size = 0;
  const more = texts.slice(from, from + CONVERSATION_PART_DRAWERS_MAX);
  const at = more.findIndex((text) => (size += text.length) > CONVERSATION_PART_SIZE_MAX);
  return from + Math.max(1, at < 0 ? more.length : at);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
