/** Entry of the writer thread. It connects the wings' writes with the ledger. Other files import only its types. */
import { workerData } from "node:worker_threads";
import { LEARNING_TRACES } from "../../learning/traces.ts";
import { previewForget, previewUndo } from "../../memory/hygiene/hygiene.ts";
import { previewImport } from "../../memory/import/merge.ts";
import type { WriteSettings } from "../../memory/tools/writes.ts";
import { writesWith } from "../tools/writes.ts";
import { headingsAbove } from "../../memory/text/headings.ts";
import { formsOf } from "../../memory/index/lexical/tokens.ts";
import { staticTable } from "../../memory/index/static/static-table.ts";
import type { Retention } from "../../memory/ledger/history/journal.ts";
import type { GraphMerge } from "../../memory/ledger/tables/graph-merge.ts";
import type { ClosetWriter } from "../../memory/ledger/write/closet-writer.ts";
import type { LedgerSpace } from "../../memory/ledger/write/eraser.ts";
import type { OutboxList } from "../../memory/ledger/write/outbox-list.ts";
import { LedgerWriter } from "../../memory/ledger/write/group-commit.ts";
import { moment } from "../../base/uptime.ts";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import type { ForgetSelector } from "../../memory/port/hygiene.ts";
import type { ImportPart, MergeReport } from "../../protocol/import.ts";

export type WriterData = {
  ledgerFile: string;
  retention: Retention;
  settings: WriteSettings;
  fault: string | undefined;
};

const { ledgerFile, retention, settings, fault } = workerData as WriterData;
armFault(fault);

/** The ledger's writer with the writes of all wings. It repeats methods of its parts, because the main thread calls no others. */
class PalaceWriter extends LedgerWriter {
  constructor() {
    super(ledgerFile, writesWith(settings), {
      staticCode: (text) => staticTable().codeOf(text),
      formsOf,
      headingsAbove,
    });
  }

  readonly outboxDone: OutboxList["done"] = (entries) => this.outbox.done(entries);
  readonly retarget: OutboxList["retarget"] = (target) => this.outbox.retarget(target);
  readonly resend: OutboxList["resend"] = (ids) => this.outbox.resend(ids);
  readonly storeClosetVectors: ClosetWriter["storeVectors"] = (...made) => this.closets.storeVectors(...made);
  readonly closetsDone: OutboxList["done"] = (entries) => this.closets.outbox.done(entries);
  readonly retargetClosets: OutboxList["retarget"] = (target) => this.closets.outbox.retarget(target);
  readonly resendClosets: OutboxList["resend"] = (ids) => this.closets.outbox.resend(ids);
  readonly adoptClosets: ClosetWriter["adopt"] = (batch) => this.closets.adopt(batch);
  readonly adoptGraph: GraphMerge["adopt"] = (finding) => this.graph.adopt(finding);
  readonly graphDone: GraphMerge["done"] = (rows) => this.graph.done(rows);
  readonly reindexWords = (): void => this.reindex.words();
  readonly reindexCounts = (): { places: number; forgotten: number } => this.reindex.counts();
  readonly reindexCodes: LedgerWriter["reindex"]["codes"] = (afterRow) => this.reindex.codes(afterRow);
  /** Shows what would be forgotten; changes nothing. Errors: PROTOCOL_BAD_PARAMS. */
  readonly previewForget = (selector: ForgetSelector): Record<string, unknown> =>
    previewForget(this.tx, selector, LEARNING_TRACES);
  readonly previewUndo = (params: Record<string, unknown>): Record<string, unknown> =>
    previewUndo(this.tx, params, LEARNING_TRACES);
  readonly previewImport = (part: ImportPart): MergeReport => previewImport(this.tx, part);
  readonly rewriteLedger = (): void => this.eraser.rewrite();
  readonly ledgerSpace = (): LedgerSpace => this.eraser.space();
  readonly cutLog = (): boolean => this.eraser.cutLog();
  readonly erased = (seq: number): void => this.eraser.done(seq);

  /** Does one step of maintenance; returns true if there is more. */
  override maintain(): boolean {
    return super.maintain(retention, moment());
  }
}

type Parts = "closets" | "eraser" | "graph" | "outbox" | "prune" | "reindex" | "tx";
export type WriterMethods = Omit<PalaceWriter, Parts>;

await serveThread<WriterMethods>(() => new PalaceWriter());

// Loads the table of static vectors now, because the first write needs it and no caller waits yet.
staticTable();
