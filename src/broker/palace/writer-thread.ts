/** Entry of the thread that writes the ledger. Other files import only its types. */
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
import { LedgerWriter } from "../../memory/ledger/write/group-commit.ts";
import { moment } from "../../base/uptime.ts";
import { armFault } from "../../base/fault-point.ts";
import { serveThread } from "../../base/thread.ts";
import type { ForgetSelector } from "../../memory/port/hygiene.ts";
import type { ImportPart } from "../../protocol/import.ts";

export type WriterData = {
  ledgerFile: string;
  retention: Retention;
  settings: WriteSettings;
  fault: string | undefined;
};

export type WriterMethods = ReturnType<typeof openWriter>;

const { ledgerFile, retention, settings, fault } = workerData as WriterData;
armFault(fault);

function openWriter() {
  const writer = new LedgerWriter(ledgerFile, writesWith(settings), {
    staticCode: (text) => staticTable().codeOf(text),
    formsOf,
    headingsAbove,
  });
  const { outbox, closets, graph, reindex, eraser } = writer;
  return {
    commit: writer.commit.bind(writer),
    storeVectors: writer.storeVectors.bind(writer),
    adopt: writer.adopt.bind(writer),
    outboxDone: outbox.done.bind(outbox),
    retarget: outbox.retarget.bind(outbox),
    resend: outbox.resend.bind(outbox),
    storeClosetVectors: closets.storeVectors.bind(closets),
    closetsDone: closets.outbox.done.bind(closets.outbox),
    retargetClosets: closets.outbox.retarget.bind(closets.outbox),
    resendClosets: closets.outbox.resend.bind(closets.outbox),
    adoptClosets: closets.adopt.bind(closets),
    adoptGraph: graph.adopt.bind(graph),
    graphDone: graph.done.bind(graph),
    putMeta: writer.putMeta.bind(writer),
    assertPresent: writer.assertPresent.bind(writer),
    reindexWords: reindex.words.bind(reindex),
    reindexCounts: reindex.counts.bind(reindex),
    reindexCodes: reindex.codes.bind(reindex),
    maintain: () => writer.maintain(retention, moment()),
    previewForget: (selector: ForgetSelector) => previewForget(writer.tx, selector, LEARNING_TRACES),
    previewUndo: (params: Record<string, unknown>) => previewUndo(writer.tx, params, LEARNING_TRACES),
    previewImport: (part: ImportPart) => previewImport(writer.tx, part),
    rewriteLedger: eraser.rewrite.bind(eraser),
    ledgerSpace: eraser.space.bind(eraser),
    cutLog: eraser.cutLog.bind(eraser),
    erased: eraser.done.bind(eraser),
    shrinkCache: writer.shrinkCache.bind(writer),
    close: writer.close.bind(writer),
  };
}

await serveThread(openWriter);

// Loads the table of static vectors now, because the first write needs it and no caller waits yet.
staticTable();
