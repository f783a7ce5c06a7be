/** The ledger in the broker: one thread that writes, one connection that reads. */
import type { Config } from "../../config/config.ts";
import { SqliteLedgerReader } from "../../memory/ledger/read/reader.ts";
import type { Log } from "../../base/log.ts";
import { rememberLedger } from "../../base/state-files.ts";
import { startThread, type Thread, threadFile } from "../../base/thread.ts";
import type { WriterData, WriterMethods } from "./writer-thread.ts";

/** Time for which before-images are kept, ms. The oldest are dropped earlier if all together exceed UNDO_SIZE_MAX_BYTES. */
const UNDO_KEPT_MS = 30 * 24 * 3_600_000;
const UNDO_SIZE_MAX_BYTES = 256 * 1024 * 1024;

export type OpenLedger = {
  reader: SqliteLedgerReader;
  writer: Thread<WriterMethods>;
  settings: WriterData["settings"];
};

/** `closing` collects what must be closed at the end. Errors: STORE_CORRUPT, STORE_READ_ONLY, PROTOCOL_VERSION_MISMATCH. */
export async function openLedger(config: Config, log: Log, closing: AsyncDisposableStack): Promise<OpenLedger> {
  const { paths } = config;
  const { ledgerFile } = paths;
  const retention = {
    journalRetentionMs: config.journalRetentionMs,
    undoMs: UNDO_KEPT_MS,
    imagesBytes: UNDO_SIZE_MAX_BYTES,
  };
  // The settings apply for the broker's whole life, as in upstream's server.
  const settings = { drawerSize: config.filing().cut.size };
  const data: WriterData = { ledgerFile, retention, settings, fault: config.fault };
  const writer = await startThread<WriterMethods>(threadFile(import.meta.url, "writer-thread"), data);
  closing.defer(async () => {
    await writer.call("close");
    await writer.close();
  });
  const reader = new SqliteLedgerReader(ledgerFile);
  closing.defer(() => reader.close());
  try {
    rememberLedger(paths);
  } catch (error) {
    // The record only helps to notice later that the palace vanished, so a full disk here must not stop a palace on another disk.
    log.warn("the existence of this palace was not recorded", { why: String(error) });
  }
  return { reader, writer, settings };
}

/** Translates SQLite's errors of a read on `reader`. Other errors pass unchanged. */
export { translateError as readError } from "../../memory/ledger/open.ts";
