/** Lists the filing records, agents' sessions and mined sources that a feeder asks for. */
import { isAbsolute } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { badParams } from "../../base/errors.ts";
import { sessionNameOf } from "../../base/session-name.ts";
import { type LedgerReader } from "../port/ledger.ts";
import { MODE_SEPARATOR, type MinedRow, type SourceRow } from "../port/source.ts";
import { type FilingRecord, type MinedSource, MINERS } from "../../protocol/filing.ts";
import { SESSIONS_ASKED_MAX } from "../../protocol/limits.ts";
import type { Methods } from "../../protocol/spec.ts";

/** Answers a feeder's query. Errors: PROTOCOL_BAD_PARAMS. */
export async function sourceList(
  reader: Pick<LedgerReader, "sources" | "minedSources">,
  wing: string,
  { extractMode, sessions, mined: asked }: Record<string, unknown>,
): Promise<Methods["source.list"]["result"]> {
  const suffix =
    extractMode === undefined || extractMode === "exchange" ? undefined : `${MODE_SEPARATOR}${String(extractMode)}`;
  const sources = recordsOf(reader.sources(wing), suffix);
  const mined = asked === undefined ? undefined : await minedBy(reader, wing, asked);
  const sessionsFiled = sessions === undefined ? undefined : filedSessions(reader, suffix, sessions);
  return {
    sources,
    ...(mined !== undefined && { mined }),
    ...(sessionsFiled !== undefined && { sessions: sessionsFiled }),
  };
}

function filedSessions(reader: Pick<LedgerReader, "sources">, suffix: string | undefined, sessions: unknown): string[] {
  if (!Array.isArray(sessions) || sessions.length > SESSIONS_ASKED_MAX)
    throw badParams(`sessions must be a list of at most ${SESSIONS_ASKED_MAX} numbers of sessions`);
  const asked = new Set<unknown>(sessions);
  const filed = recordsOf(reader.sources(undefined), suffix).filter(
    ({ sourceFile, sha256, drawers }) =>
      sha256 !== "" && drawers > 0 && asked.has(sessionNameOf(sourceFile)?.uuid ?? null),
  );
  return filed.map(({ sourceFile }) => sourceFile);
}

/** Lists sources that a miner of MemPalace has filed. Other calls run between two pages. */
async function minedBy(
  reader: Pick<LedgerReader, "minedSources">,
  wing: string,
  asked: unknown,
): Promise<MinedSource[]> {
  const { by, below } = (typeof asked === "object" && asked !== null ? asked : {}) as { by?: unknown; below?: unknown };
  const miner = MINERS.find((one) => one === by);
  if (miner === undefined || typeof below !== "string" || !isAbsolute(below))
    throw badParams(`mined must name one of ${MINERS.join(", ")} as \`by\`, and a folder as \`below\``);
  const found: MinedSource[] = [];
  for (let after: string | undefined; ; await nextTurn()) {
    const { rows, last } = reader.minedSources({ wing, miner, below, after });
    found.push(...rows.flatMap(readMined));
    if (last === undefined) return found;
    after = last;
  }
}

/** Leaves out a foreign row whose time is not a number: other programs may store any value. */
function readMined({ sourceFile, mtime, filedAt }: MinedRow): MinedSource[] {
  if (mtime !== null && typeof mtime !== "number") return [];
  return [{ sourceFile, mtime, filedAt: typeof filedAt === "string" ? filedAt : "" }];
}

function recordsOf(rows: readonly SourceRow[], suffix: string | undefined): FilingRecord[] {
  return rows.flatMap(({ sourceFile, mtime, sha256, drawers }) => {
    if (suffix === undefined)
      return sourceFile.includes(MODE_SEPARATOR) ? [] : [{ sourceFile, mtime, sha256, drawers }];
    if (!sourceFile.endsWith(suffix)) return [];
    return [{ sourceFile: sourceFile.slice(0, -suffix.length), mtime, sha256, drawers }];
  });
}
