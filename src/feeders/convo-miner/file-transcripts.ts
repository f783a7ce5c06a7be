/** Files changed transcripts. Drawers of deleted transcripts stay, because agents delete their old transcripts. */
import { basename, dirname, join } from "node:path";
import { removeLeftovers } from "../../base/atomic-file.ts";
import { sessionNameOf } from "../../base/session-name.ts";
import { SESSIONS_ASKED_MAX } from "../../protocol/limits.ts";
import type { FilingRecord } from "../../protocol/filing.ts";
import { type IsMined, minedFinder, whenAdopted } from "../mined.ts";
import { isAsNoted, notedRecords, ofName, readJson, readNotes, writeNotes } from "../notes.ts";
import { type FeedDeps, fileEach } from "../run.ts";
import type { Caller } from "../send.ts";
import { filedExchanges, isWhole } from "./copied.ts";
import { fileTranscript, settle, wouldFile } from "./file.ts";
import { type Entry, type Notes, notesFile, type NotesPlace } from "./notes.ts";
import type { MineOptions, MineReport, Run, TranscriptFile } from "./run.ts";
import { type SlackNames, slackNamesOf } from "./slack.ts";

export type TranscriptsDeps = FeedDeps & {
  options: MineOptions;
  place: Omit<NotesPlace, "wing">;
  files: readonly TranscriptFile[];
  /** Returns the local path for a filed `sourceFile`; undefined if it is not a source of these transcripts. */
  nameOf: (sourceFile: string) => string | undefined;
  /** Folder of the files, set if MemPalace may have mined it, too. Undefined for our own copies of sessions. */
  folder?: string;
};

const IN_FLIGHT_MAX = 3;

/** Errors: the broker's, except errors about a single transcript. */
export async function feedTranscripts(deps: TranscriptsDeps): Promise<MineReport> {
  const { options, place, files, caller, watch, signal } = deps;
  const { extract } = options;
  const root = extract === "exchange" ? place.root : `${extract} of ${place.root}`;
  if (!options.dryRun) removeLeftovers(place.home);
  const file = notesFile({ ...place, root, wing: options.wing });
  const notes = readNotes<Notes>(file, "files") ?? { schema: 1, files: {} };
  const noted = notedRecords(notes.files, (name) => name);
  const asked = { sources: noted, sessions: new Map<string, string[]>(), isMined: () => false };
  const { sources: records, sessions, isMined } = caller === undefined ? asked : await askRecords(caller, deps);
  const report: MineReport = {
    ...{ wing: options.wing, files: files.length, filed: 0, unchanged: 0, skipped: [], drawers: 0, kept: 0 },
    ...{ dryRun: options.dryRun, interrupted: false, failed: 0 },
  };
  const known = knownConversations(notes.files, records);
  const slackNames = slackNamesNear(files);
  const run: Run = {
    options,
    notesDir: place.home,
    notes,
    records,
    known,
    sessions,
    slackNames,
    exchanges: filedExchanges(notes.files, records),
    report,
    watch,
    signal,
  };
  const changed: TranscriptFile[] = [];
  for (const transcript of files) {
    const entry = ofName(notes.files, transcript.sourceFile);
    if (!options.force && entry !== undefined && isUnchanged(transcript, entry, records))
      settle(run, transcript, entry);
    else if (!options.force && isMined(transcript)) report.unchanged += 1;
    else changed.push(transcript);
  }
  if (options.dryRun || caller === undefined) {
    const would = changed.filter((transcript) => wouldFile(run, transcript)).map(({ name }) => name);
    report.wouldFile = options.limit === 0 ? would : would.slice(0, options.limit);
    return report;
  }
  try {
    await fileEach(run, changed, {
      limit: options.limit,
      inFlightMax: IN_FLIGHT_MAX,
      nameOf: ({ name }) => name,
      file: (transcript) => fileTranscript(run, caller, transcript),
    });
  } finally {
    writeNotes(file, notes);
  }
  return report;
}

/** Returns true if our notes of the last run still match the file and its filed drawers. Does not read the file. */
function isUnchanged(file: TranscriptFile, entry: Entry, records: ReadonlyMap<string, FilingRecord>): boolean {
  const isHeld = entry.refused !== undefined || records.get(file.sourceFile)?.sha256 === entry.sha256;
  return isAsNoted(file, entry) && isHeld && isWhole(entry, records);
}

type Asked = { sources: Map<string, FilingRecord>; sessions: Map<string, string[]>; isMined: IsMined };

async function askRecords(
  caller: Caller,
  { options, files, nameOf, folder, watch, signal }: TranscriptsDeps,
): Promise<Asked> {
  const { wing, extract } = options;
  if (folder !== undefined) await whenAdopted(caller, signal, (line) => watch.notice(line));
  const uuids = new Set(files.flatMap(({ sourceFile }) => sessionNameOf(sourceFile)?.uuid ?? []));
  const wanted = [...uuids].slice(0, SESSIONS_ASKED_MAX);
  const {
    sources,
    sessions = [],
    mined,
  } = await caller.call("source.list", {
    ...{ wing, extractMode: extract },
    ...(folder !== undefined && { mined: { by: extract, below: folder } }),
    ...(wanted.length > 0 && { sessions: wanted }),
  });
  const records = new Map<string, FilingRecord>();
  for (const record of sources) {
    const name = nameOf(record.sourceFile);
    // Sources of several home directories may get the same `name`. The source that is filed under this very name wins.
    if (name !== undefined && (!records.has(name) || record.sourceFile === name)) records.set(name, record);
  }
  return {
    sources: records,
    sessions: Map.groupBy(sessions, (name) => sessionNameOf(name)?.uuid ?? ""),
    isMined: minedFinder(mined),
  };
}

/** Returns the source of each filed conversation by its SHA-256, because users export a conversation under several names. */
function knownConversations(
  files: Readonly<Record<string, Entry>>,
  records: ReadonlyMap<string, FilingRecord>,
): Map<string, string> {
  const known = new Map<string, string>();
  for (const [name, record] of records) if (record.drawers > 0 && record.sha256 !== "") known.set(record.sha256, name);
  for (const [name, { sha256, hashes }] of Object.entries(files))
    if (sha256 !== "" && records.get(name)?.sha256 === sha256) for (const hash of hashes) known.set(hash, name);
  return known;
}

/** Finds users.json beside a file or one folder above, but only among the files of the run. */
function slackNamesNear(files: readonly TranscriptFile[]): Run["slackNames"] {
  const lists = new Set(files.map(({ path }) => path).filter((path) => basename(path) === "users.json"));
  const read = new Map<string, SlackNames>();
  return (path) => {
    const folder = dirname(path);
    const list = [folder, dirname(folder)].map((one) => join(one, "users.json")).find((one) => lists.has(one));
    if (list === undefined) return undefined;
    const names = read.get(list) ?? slackNamesOf(readJson(list));
    read.set(list, names);
    return names;
  };
}
