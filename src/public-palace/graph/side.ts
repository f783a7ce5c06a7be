/**
 * Ledger and upstream's graph files, held against each other: what others wrote, and what is still to be written. One
 * object over all three files, each of which may fail without the others. Used by the graph thread, and by `graphDifferences`
 * for whoever wants to know whether both sides agree.
 */
import { type Finding, type ListedRow, readListed, type RowName } from "../../ledger/graph-row.ts";
import { openForReading } from "../../ledger/open.ts";
import type { RoomCount } from "../../port/graph.ts";
import { PalaceError } from "../../protocol/errors.ts";
import { countFactsOnlyIn, DatabaseFile } from "./database-file.ts";
import { LinkFile } from "./link-file.ts";

export type GraphPaths = {
  ledgerFile: string;
  graphFile: string;
  /** A graph that is only looked at, and told of. */
  otherGraphFile?: string | undefined;
  tunnelsFile: string;
  hallwaysFile: string;
  /** Where upstream keeps the locks of its files. */
  upstreamLocksDir: string;
};

/** `problem`: why a file could not be read or written, "" when all could. */
export type Looked = { finding: Finding; problem: string };
export type Sent = { rows: (RowName & { seq: number })[]; problem: string; others: boolean };

const ROWS_PER_FILE = 500;

export class GraphSide {
  readonly #ledger;
  readonly #otherGraphFile;
  readonly #files: readonly (DatabaseFile | LinkFile)[];
  /** Files that could not be looked at: nothing is sent to them. */
  readonly #failed = new Set<DatabaseFile | LinkFile>();

  /** Errors: as openForReading; a graph file that is not well is told of later. */
  constructor({ ledgerFile, graphFile, otherGraphFile, tunnelsFile, hallwaysFile, upstreamLocksDir }: GraphPaths) {
    this.#ledger = openForReading(ledgerFile);
    this.#otherGraphFile = otherGraphFile;
    this.#files = [
      new DatabaseFile(graphFile),
      new LinkFile("tunnel", tunnelsFile, upstreamLocksDir),
      new LinkFile("hallway", hallwaysFile, upstreamLocksDir),
    ];
  }

  /** What others did since the last look that was accepted. */
  look(): Looked {
    const finding: Finding = { rows: [], missing: [], deleted: [] };
    const problems: string[] = [];
    this.#failed.clear();
    for (const file of this.#files) {
      try {
        const found = file.look(this.#ledger);
        // Not by spreading: a large file has more rows than a call takes arguments.
        for (const row of found?.rows ?? []) finding.rows.push(row);
        for (const row of found?.missing ?? []) finding.missing.push(row);
        for (const row of found?.deleted ?? []) finding.deleted.push(row);
      } catch (error) {
        this.#failed.add(file);
        problems.push(wordsOf(file.file, error));
      }
    }
    return { finding, problem: problems.join("; ") };
  }

  /** What was found is in the ledger. */
  accept(): void {
    for (const file of this.#files) if (!this.#failed.has(file)) file.accept();
  }

  /** Sends what is listed, a bounded number of rows. `others`: somebody is at work there, look again first. */
  send(): Sent {
    const sent: Sent = { rows: [], problem: "", others: false };
    const problems: string[] = [];
    for (const file of this.#files) {
      const rows: ListedRow[] = readListed(this.#ledger, file.kinds, ROWS_PER_FILE);
      if (rows.length === 0 || this.#failed.has(file)) continue;
      try {
        if (file.send(rows)) sent.rows.push(...rows.map(({ kind, id, seq }) => ({ kind, id, seq })));
        else sent.others = true;
      } catch (error) {
        this.#failed.add(file);
        problems.push(wordsOf(file.file, error));
      }
    }
    return { ...sent, problem: problems.join("; ") };
  }

  /** Rooms as the drawers' metadata have them; reads every drawer, which is why it is done here and not on the main thread. */
  rooms(): RoomCount[] {
    return this.#ledger
      .prepare<[], RoomCount>(
        `SELECT room, wing, coalesce(json_extract(metadata, '$.hall'), '') AS hall, count(*) AS drawers,
           coalesce(max(json_extract(metadata, '$.date')), '') AS lastDate
           FROM drawer WHERE room <> '' AND wing <> '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      )
      .all();
  }

  /** Facts of the other graph that the ledger has not. Errors: SQLite's. */
  factsElsewhere(): number {
    return this.#otherGraphFile === undefined ? 0 : countFactsOnlyIn(this.#otherGraphFile, this.#ledger);
  }

  unsent(): RowName[] {
    return this.#files.flatMap(({ kinds }) => readListed(this.#ledger, kinds, -1));
  }

  close(): void {
    for (const file of this.#files) file.close();
    this.#ledger.close();
  }
}

/**
 * In what the ledger and upstream's graph files differ, in words; empty when both hold the same. For tests and for a doctor; it
 * may be asked while the broker runs, and then what is on its way counts as a difference. Errors: what cannot be read.
 */
export function graphDifferences(paths: GraphPaths): string[] {
  const side = new GraphSide(paths);
  try {
    const { finding, problem } = side.look();
    if (problem !== "") throw new PalaceError("STORE_UNAVAILABLE", problem, "palace doctor");
    const name = ({ kind, id }: RowName): string => `${kind} ${id}`;
    return [
      ...finding.rows.map((row) => `${name(row)}: the file has ${row.body}`),
      ...finding.missing.map((row) => `${name(row)}: not in the file`),
      ...finding.deleted.map((row) => `${name(row)}: no longer in the file`),
      ...side.unsent().map((row) => `${name(row)}: not sent yet`),
    ];
  } finally {
    side.close();
  }
}

function wordsOf(file: string, error: unknown): string {
  return error instanceof PalaceError ? error.message : `${file}: ${(error as Error).message}`;
}
