/**
 * What a feeder is told of sources: the marks of a wing, of one way that transcripts are taken apart, and which sessions of
 * agents are filed in any wing. Called by the route table.
 */
import { sessionNameOf } from "../platform/session-name.ts";
import { SESSIONS_ASKED_MAX } from "../protocol/limits.ts";
import type { Methods, SourceMark } from "../protocol/spec.ts";
import { type LedgerReader, MARK_OF_MODE, type SourceRow } from "../store/port.ts";
import { asTyped, InvalidValue } from "./validate.ts";

/** Errors: PROTOCOL_BAD_PARAMS. */
export function sourceList(
  reader: Pick<LedgerReader, "sources">,
  wing: string,
  { extractMode, sessions }: Record<string, unknown>,
): Methods["source.list"]["result"] {
  const suffix = suffixOf(extractMode);
  const sources = marksOf(reader.sources(wing), suffix);
  if (sessions === undefined) return { sources };
  if (!Array.isArray(sessions) || sessions.length > SESSIONS_ASKED_MAX)
    throw asTyped(new InvalidValue(`sessions must be a list of at most ${SESSIONS_ASKED_MAX} numbers of sessions`));
  const asked = new Set<unknown>(sessions);
  const filed = marksOf(reader.sources(undefined), suffix).filter(
    ({ sourceFile, sha256, drawers }) =>
      sha256 !== "" && drawers > 0 && asked.has(sessionNameOf(sourceFile)?.uuid ?? null),
  );
  return { sources, sessions: filed.map(({ sourceFile }) => sourceFile) };
}

/** Undefined: what is marked without one. */
function suffixOf(mode: unknown): string | undefined {
  return mode === undefined || mode === "exchange" ? undefined : `${MARK_OF_MODE}${String(mode)}`;
}

function marksOf(rows: readonly SourceRow[], suffix: string | undefined): SourceMark[] {
  return rows.flatMap(({ sourceFile, mtime, sha256, drawers }) => {
    if (suffix === undefined) return sourceFile.includes(MARK_OF_MODE) ? [] : [{ sourceFile, mtime, sha256, drawers }];
    if (!sourceFile.endsWith(suffix)) return [];
    return [{ sourceFile: sourceFile.slice(0, -suffix.length), mtime, sha256, drawers }];
  });
}
