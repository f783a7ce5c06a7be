/**
 * What happens to one document: looked into, staged, sent; or removed. Called by feed.ts for each document of its plan.
 */
import { dirname } from "node:path";
import { inodeOf } from "../inode.ts";
import { type Caller, isRefusal, send } from "../send.ts";
import { contentDate, DATED_BY } from "./content-date.ts";
import { isFiled } from "./plan.ts";
import { placeDocument, stemOf } from "./room.ts";
import type { FeedReport, Run } from "./run.ts";
import { type Document, type Found, readDocument } from "./source.ts";
import { type Entry, stageDocument, stagedPath, unstageDocument } from "./stage.ts";

const TOO_SHORT = "shorter than 50 characters";

/** Returns how many drawers were written; undefined where nothing was sent. */
export async function fileDocument(run: Run, caller: Caller, found: Found): Promise<number | undefined> {
  const { manifest, report, stage, marks } = run;
  const mark = marks.get(found.path);
  const document = inspect(run, found);
  if (document === undefined) return undefined;
  const settled = (entry: Entry, how: "filed" | "unchanged"): void => {
    manifest.files[found.path] = entry;
    settle(report, found.path, entry, how);
  };
  if ("refused" in document) {
    // Upstream leaves what it has filed of a file that it cannot read any more.
    if (run.options.front.removes) await removeDocument(run, caller, found.path);
    settled(document.refused, "unchanged");
    return undefined;
  }
  const { content, entry } = document;
  stageDocument(stage, found.path, content.bytes, content.mtime);
  if (!document.isNew) {
    settled({ ...entry, drawers: mark?.drawers ?? 0 }, "unchanged");
    return undefined;
  }
  const sourceFile = mark?.sourceFile ?? stagedPath(stage, found.path);
  const drawers = await sendDocument(run, caller, found.path, sourceFile, content, entry.room);
  if (drawers === undefined) return undefined;
  settled({ ...entry, drawers }, "filed");
  report.drawers += drawers;
  return drawers;
}

/** Undefined when the broker refuses this document alone, or it is too long; the others may still be filed. */
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
  const { drawersMax } = run.options;
  const knownNames = run.registry.namesIn(content.text);
  try {
    const { drawers, tooMany } = await send(caller, run.signal, "source.replace", {
      wing: run.project.wing,
      room,
      sourceFile,
      mtime: content.mtime,
      sha256: content.sha256,
      content: content.text,
      contentDate: dated.date,
      contentDateSource: DATED_BY[dated.by],
      ...(sourceDirIno !== undefined && { sourceDirIno }),
      ...(knownNames.length > 0 && { knownNames }),
      ...(drawersMax > 0 && { drawersMax }),
      addedBy: run.options.agent,
    });
    if (tooMany === undefined) return drawers;
    const reason = `${tooMany} drawers, more than ${drawersMax}; raise it with --max-chunks-per-file, 0 for no bound`;
    run.report.skipped.push({ file: path, reason });
    return undefined;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    run.report.skipped.push({ file: path, reason: `refused by the broker: ${error.message}` });
    run.report.failed += 1;
    return undefined;
  }
}

type Inspected =
  | { refused: Entry & { refused: string } }
  | { content: Document; room: string; entry: Omit<Entry, "drawers">; isNew: boolean };

/** Looks into a document; undefined when it cannot be read, which is counted. */
export function inspect(run: Run, found: Found): Inspected | undefined {
  const { root, project, report, noted, marks } = run;
  let content: Document | string;
  try {
    content = readDocument(root, found.path);
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === "ENOENT";
    report.skipped.push({ file: found.path, reason: isGone ? "vanished while we looked" : "cannot be read" });
    if (!isGone) report.failed += 1;
    return undefined;
  }
  if (typeof content === "string")
    return { refused: { mtime: found.mtime, size: found.size, sha256: "", room: "", drawers: 0, refused: content } };
  const { room } = placeDocument(found.path, content.text, project.rooms);
  const known =
    noted !== undefined && Object.hasOwn(noted.files, found.path) ? (noted.files[found.path] ?? undefined) : undefined;
  const isNew = run.options.force || !isFiled(content.sha256, room, known, marks.get(found.path));
  return { content, room, entry: { mtime: content.mtime, size: content.size, sha256: content.sha256, room }, isNew };
}

/** True if the palace held it. */
export async function removeDocument(run: Run, caller: Caller, path: string): Promise<boolean> {
  const mark = run.marks.get(path);
  if (mark !== undefined)
    await send(caller, run.signal, "source.remove", { wing: run.project.wing, sourceFile: mark.sourceFile });
  unstageDocument(run.stage, path);
  return mark !== undefined;
}

/** Counts a document that is dealt with: filed, unchanged, or with nothing in it that could be filed. */
export function settle(report: FeedReport, file: string, entry: Entry | undefined, how: "filed" | "unchanged"): void {
  if (entry?.refused !== undefined) report.skipped.push({ file, reason: entry.refused });
  else if (entry?.drawers === 0) report.skipped.push({ file, reason: TOO_SHORT });
  else report[how] += 1;
}
