/** Files one document (reads, stages and sends it), or removes it from the palace. */
import { dirname } from "node:path";
import { codePointLength, strip } from "../../memory/text/text.ts";
import { SOURCE_DRAWERS_MAX } from "../../protocol/limits.ts";
import { lostNotice } from "../decode.ts";
import { inodeOf } from "../inode.ts";
import { ofName } from "../notes.ts";
import { countRefused, countUnread } from "../run.ts";
import { type Caller, isRefusal, send } from "../send.ts";
import { contentDate, DATED_BY } from "./content-date.ts";
import { isFiled } from "./plan.ts";
import { placeDocument, stemOf } from "./room.ts";
import type { FeedOptions, Run } from "./run.ts";
import { sendText } from "./send-parts.ts";
import { type Document, type Found, readDocument, type Unread } from "./survey.ts";
import { type Entry, stageDocument, stagedPath, unstageDocument } from "./staging-area.ts";

export function isTooShort(text: string, { filing }: FeedOptions): boolean {
  const least = Math.max(1, filing.cut.sizeMin);
  return codePointLength(strip(text).slice(0, 2 * least)) < least;
}

/** Returns the number of written drawers; undefined if the document was not sent. */
export async function fileDocument(run: Run, caller: Caller, found: Found): Promise<number | undefined> {
  const { manifest, report, stage, records } = run;
  const record = records.get(found.path);
  const document = await inspect(run, found);
  if (document === undefined) return undefined;
  const settled = (entry: Entry, how: "filed" | "unchanged"): void => {
    manifest.files[found.path] = entry;
    settle(run, found.path, entry, how);
  };
  if ("refused" in document) {
    // Only `docs` removes the drawers of an unreadable file. Upstream keeps them, and so do our other kinds of run.
    if (run.options.front.removes) await removeDocument(run, caller, found.path);
    settled(document.refused, "unchanged");
    return undefined;
  }
  const { content, entry } = document;
  if (content.bytes !== undefined) stageDocument(stage, found.path, content.bytes, content.mtime);
  if (!document.isNew) {
    settled({ ...entry, drawers: record?.drawers ?? 0 }, "unchanged");
    return undefined;
  }
  const sourceFile = record?.sourceFile ?? stagedPath(stage, found.path);
  const drawers = await sendDocument(run, caller, found.path, sourceFile, content, entry.room);
  if (drawers === undefined) return undefined;
  settled({ ...entry, drawers }, "filed");
  report.drawers += drawers;
  return drawers;
}

/** Returns the number of drawers; undefined if the document is too long or the broker refuses only this document. */
async function sendDocument(
  run: Run,
  caller: Caller,
  path: string,
  sourceFile: string,
  content: Document,
  room: string,
): Promise<number | undefined> {
  const stem = stemOf(path.slice(path.lastIndexOf("/") + 1));
  const dated = contentDate(stem, content.text, content.mtime * 1000);
  const sourceDirIno = inodeOf(dirname(stagedPath(run.stage, path)));
  const { drawersMax, filing } = run.options;
  const knownNames = run.registry.namesIn(content.text);
  try {
    const sent = await sendText(caller, run.signal, sourceFile, content.text);
    const { drawers, tooMany } = await send(caller, run.signal, "source.replace", {
      wing: run.project.wing,
      room,
      sourceFile,
      mtime: content.mtime,
      sha256: content.sha256,
      ...sent,
      contentDate: dated.date,
      contentDateSource: DATED_BY[dated.by],
      ...(sourceDirIno !== undefined && { sourceDirIno }),
      ...(knownNames.length > 0 && { knownNames }),
      ...(drawersMax > 0 && { drawersMax }),
      cut: filing.cut,
      languages: filing.languages,
      ...(filing.halls !== undefined && { halls: filing.halls }),
      ...(run.options.front.name === "formats" && { isExtracted: true }),
      addedBy: run.options.agent,
    });
    if (tooMany === undefined) return drawers;
    const reason =
      tooMany > SOURCE_DRAWERS_MAX
        ? `more than ${SOURCE_DRAWERS_MAX} drawers, the maximum for a file; a larger chunk_size in config.json makes fewer drawers`
        : `${tooMany} drawers, more than ${drawersMax}; raise the limit with --max-chunks-per-file (0: no limit)`;
    run.report.skipped.push({ file: path, reason });
    return undefined;
  } catch (error) {
    return countRefused(run.report, path, error, isRefusal(error));
  }
}

type Inspected =
  | { refused: Entry & { refused: string } }
  | { content: Document; room: string; entry: Omit<Entry, "drawers">; isNew: boolean };

/** Reads a document and compares it with the filed one. If it cannot be read, counts it and returns undefined. */
export async function inspect(run: Run, found: Found): Promise<Inspected | undefined> {
  const { root, project, report, noted, records, options } = run;
  let content: Document | Unread | string;
  try {
    content = await (options.read ?? readDocument)(root, found.path);
  } catch (error) {
    return countUnread(report, found.path, error);
  }
  const { mtime, size } = found;
  const nothing = { mtime, size, sha256: "", room: "", drawers: 0 };
  if (typeof content === "string") return { refused: { ...nothing, refused: content } };
  if ("outcome" in content) {
    const { reason, outcome, isPassing } = content;
    if (!isPassing) return { refused: { ...nothing, refused: reason, outcome } };
    report.skipped.push({ file: found.path, reason, outcome });
    report.failed += 1;
    return undefined;
  }
  if (content.lost !== undefined) run.watch.notice(lostNotice(found.path, content.lost));
  const why = options.include.includes(found.path) ? undefined : options.front.refuseText(found.path, content.text);
  if (why !== undefined) return { refused: { ...nothing, refused: why } };
  const { room } = placeDocument(found.path, content.text, project.rooms);
  const known = ofName(noted?.files ?? {}, found.path) ?? undefined;
  const isNew = run.options.force || !isFiled(content.sha256, room, known, records.get(found.path));
  return { content, room, entry: { mtime: content.mtime, size: content.size, sha256: content.sha256, room }, isNew };
}

/** Removes a document and its staged copy. Returns true if the palace had the document. */
export async function removeDocument(run: Run, caller: Caller, path: string): Promise<boolean> {
  const record = run.records.get(path);
  if (record !== undefined)
    await send(caller, run.signal, "source.remove", { wing: run.project.wing, sourceFile: record.sourceFile });
  unstageDocument(run.stage, path);
  return record !== undefined;
}

/** Counts a finished document as filed or unchanged, or lists it as skipped. */
export function settle(
  { report, options }: Run,
  file: string,
  entry: Entry | undefined,
  how: "filed" | "unchanged",
): void {
  if (entry?.refused !== undefined) {
    const { refused: reason, outcome } = entry;
    report.skipped.push({ file, reason, ...(outcome !== undefined && { outcome }) });
  } else if (entry?.drawers === 0)
    report.skipped.push({ file, reason: `shorter than ${options.filing.cut.sizeMin} characters` });
  else report[how] += 1;
}
