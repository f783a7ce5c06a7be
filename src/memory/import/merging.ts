/** Report of the merge of one part, shared by the merge rules for all kinds of rows. */
import { cut } from "../../base/shorten.ts";
import type { MergeReport } from "../../protocol/import.ts";
import type { LedgerTx } from "../port/ledger.ts";

/** Counts the added, skipped and refused items of a part. A dry run changes no row. */
export class Merging {
  readonly tx: LedgerTx;
  readonly isDry: boolean;
  readonly report: MergeReport = {
    ...{ added: 0, updated: 0, here: 0, kept: [], keptSources: [], gone: [], beside: [], refused: [] },
  };

  constructor(tx: LedgerTx, isDry: boolean) {
    this.tx = tx;
    this.isDry = isDry;
  }

  add(rows: number, write: () => void): void {
    this.report.added += rows;
    if (!this.isDry) write();
  }

  update(rows: number, write: () => void): void {
    this.report.updated += rows;
    if (!this.isDry) write();
  }

  refuse(id: string, why: string): void {
    this.report.refused.push({ id: cut(id), why });
  }
}
