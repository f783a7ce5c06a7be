/** Finds foreign changes in upstream's graph files and sends the ledger's rows to these files. If one file fails, the others still work. */
import { type Finding, type ListedRow, readListed, type RowName } from "../../memory/ledger/graph-row.ts";
import { openForReading } from "../../memory/ledger/open.ts";
import type { RoomCount } from "../../memory/port/graph.ts";
import { PalaceError } from "../../base/errors.ts";
import { countFactsOnlyIn, DatabaseFile } from "./database-file.ts";
import { LinkFile } from "./link-file.ts";
import { selectRows } from "../../memory/ledger/select.ts";

export type GraphPaths = {
  ledgerFile: string;
  graphFile: string;
  /** Graph file of a MemPalace that was started with `--palace`. We only count its facts that the ledger lacks. */
  otherGraphFile?: string | undefined;
  tunnelsFile: string;
  hallwaysFile: string;
  upstreamLocksDir: string;
};

/** Result of one check of the files. `problem`: reason why a file could not be read or written; "" if none. */
export type Looked = { finding: Finding; problem: string };
export type Sent = { rows: (RowName & { seq: number })[]; problem: string; others: boolean };

const ROWS_PER_FILE = 500;

export class GraphSide {
  readonly #ledger;
  readonly #otherGraphFile;
  readonly #files: readonly (DatabaseFile | LinkFile)[];
  /** Files that could not be read. They are not written either. */
  readonly #failed = new Set<DatabaseFile | LinkFile>();

  constructor({ ledgerFile, graphFile, otherGraphFile, tunnelsFile, hallwaysFile, upstreamLocksDir }: GraphPaths) {
    this.#ledger = openForReading(ledgerFile);
    this.#otherGraphFile = otherGraphFile;
    this.#files = [
      new DatabaseFile(graphFile),
      new LinkFile("tunnel", tunnelsFile, upstreamLocksDir),
      new LinkFile("hallway", hallwaysFile, upstreamLocksDir),
    ];
  }

  look(): Looked {
    const finding: Finding = { rows: [], missing: [], deleted: [] };
    const problems: string[] = [];
    this.#failed.clear();
    for (const file of this.#files) {
      try {
        const found = file.look(this.#ledger);
        // `push(...rows)` would fail: a large file has more rows than a call can have arguments.
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

  /** Records that the ledger has adopted the findings of the last check (`look`). */
  accept(): void {
    for (const file of this.#files) if (!this.#failed.has(file)) file.accept();
  }

  /** Sends a limited number of listed rows. `others`: another process is writing a file, so the caller must call `look` again first. */
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

  /** Counts the drawers of each room. Reads every drawer's metadata, so it must not run on the main thread. */
  rooms(): RoomCount[] {
    const sql = `SELECT room, wing, coalesce(json_extract(metadata, '$.hall'), '') AS hall, count(*) AS drawers,
      coalesce(max(json_extract(metadata, '$.date')), '') AS lastDate
      FROM drawer WHERE room <> '' AND wing <> '' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;
    return selectRows<RoomCount>(this.#ledger, sql);
  }

  /** Counts the facts that the other graph file has and the ledger lacks. */
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

function wordsOf(file: string, error: unknown): string {
  return error instanceof PalaceError ? error.message : `${file}: ${(error as Error).message}`;
}
