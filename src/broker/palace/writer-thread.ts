/** Entry of the writer thread. It connects the wings' writes with the ledger. Other files import only its types. */
import { workerData } from "node:worker_threads";
import { LEARNING_TRACES } from "../../learning/traces.ts";
import { previewForget, previewUndo } from "../../memory/hygiene/hygiene.ts";
import { previewImport } from "../../memory/import/merge.ts";
import type { WriteSettings } from "../../memory/tools/writes.ts";
import { applyWrite } from "../tools/writes.ts";
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
import type { Changes, NewVector, WriteCall, WriteOutcome } from "../../memory/port/ledger.ts";
import type { AdoptionBatch } from "../../memory/port/public-palace.ts";
import type { ImportPart, MergeReport } from "../../protocol/import.ts";

export type WriterData = {
  ledgerFile: string;
  retention: Retention;
  settings: WriteSettings;
  fault: string | undefined;
};

export type WriterMethods = {
  commit: (calls: WriteCall[]) => { outcomes: WriteOutcome[]; changes: Changes };
  storeVectors: (vectors: NewVector[], model: string) => Changes;
  /** Adopts foreign rows. `taken`: number of rows that were new or different. */
  adopt: (batch: AdoptionBatch) => { taken: number; changes: Changes };
  outboxDone: OutboxList["done"];
  retarget: OutboxList["retarget"];
  resend: OutboxList["resend"];
  storeClosetVectors: ClosetWriter["storeVectors"];
  closetsDone: OutboxList["done"];
  retargetClosets: OutboxList["retarget"];
  resendClosets: OutboxList["resend"];
  adoptClosets: ClosetWriter["adopt"];
  adoptGraph: GraphMerge["adopt"];
  graphDone: GraphMerge["done"];
  putMeta: (key: string, value: string) => void;
  /** Checks the ledger's files. Errors: as in LedgerWriter. */
  assertPresent: () => void;
  reindexWords: () => void;
  reindexCounts: () => { places: number; forgotten: number };
  reindexCodes: (afterRow: number) => { written: number[]; next: number };
  /** Does one step of maintenance; returns true if there is more. */
  maintain: () => boolean;
  /** Shows what would be forgotten; changes nothing. Errors: PROTOCOL_BAD_PARAMS. */
  previewForget: (selector: ForgetSelector) => Record<string, unknown>;
  previewUndo: (params: Record<string, unknown>) => Record<string, unknown>;
  previewImport: (part: ImportPart) => MergeReport;
  rewriteLedger: () => void;
  ledgerSpace: () => LedgerSpace;
  cutLog: () => boolean;
  erased: (seq: number) => void;
  /** Frees the pages that SQLite keeps in memory. */
  shrinkCache: () => void;
  close: () => void;
};

const { ledgerFile, retention, settings, fault } = workerData as WriterData;
armFault(fault);

await serveThread<WriterMethods>(() => {
  const writer = new LedgerWriter(ledgerFile, (tx, call) => applyWrite(tx, call, settings), {
    staticCode: (text) => staticTable().codeOf(text),
    formsOf,
    headingsAbove,
  });
  return {
    commit: (calls) => writer.commit(calls),
    storeVectors: (vectors, model) => writer.storeVectors(vectors, model),
    adopt: (batch) => writer.adopt(batch),
    outboxDone: (entries) => writer.outbox.done(entries),
    retarget: (target) => writer.outbox.retarget(target),
    resend: (ids) => writer.outbox.resend(ids),
    storeClosetVectors: (vectors, model) => writer.closets.storeVectors(vectors, model),
    closetsDone: (entries) => writer.closets.outbox.done(entries),
    retargetClosets: (target) => writer.closets.outbox.retarget(target),
    resendClosets: (ids) => writer.closets.outbox.resend(ids),
    adoptClosets: (batch) => writer.closets.adopt(batch),
    adoptGraph: (finding) => writer.graph.adopt(finding),
    graphDone: (rows) => writer.graph.done(rows),
    putMeta: (key, value) => writer.putMeta(key, value),
    assertPresent: () => writer.assertPresent(),
    reindexWords: () => writer.reindex.words(),
    reindexCounts: () => writer.reindex.counts(),
    reindexCodes: (afterRow) => writer.reindex.codes(afterRow),
    maintain: () => writer.maintain(retention, moment()),
    previewForget: (selector) => previewForget(writer.tx, selector, LEARNING_TRACES),
    previewUndo: (params) => previewUndo(writer.tx, params, LEARNING_TRACES),
    previewImport: (part) => previewImport(writer.tx, part),
    rewriteLedger: () => writer.eraser.rewrite(),
    ledgerSpace: () => writer.eraser.space(),
    cutLog: () => writer.eraser.cutLog(),
    erased: (seq) => writer.eraser.done(seq),
    shrinkCache: () => writer.shrinkCache(),
    close: () => writer.close(),
  };
});

// Loads the table of static vectors now, because the first write needs it and no caller waits yet.
staticTable();
