/** Parts that a search uses: words, vectors, the model, and the backlog of texts without a vector. */
import type { Config } from "../../config/config.ts";
import { Backlog } from "../../memory/index/embedding/backlog.ts";
import type { LocalEmbedder } from "../../memory/index/embedding/embedder.ts";
import { openLexicalIndex } from "../../memory/index/lexical/lexical-index.ts";
import { openVectorIndex } from "../../memory/index/vectors/vector-index.ts";
import type { Log } from "../../base/log.ts";
import type { Changes } from "../../memory/port/ledger.ts";
import type { PalaceDriver } from "../../memory/port/public-palace.ts";
import type { LexicalIndex, VectorIndex } from "../../memory/port/search.ts";
import { driverVectorIndex } from "../../mempalace/driver/vector-index.ts";
import type { OpenLedger } from "./ledger.ts";
import { Model } from "./model.ts";
import type { Wakes } from "./wake-up-calls.ts";

export type OpenIndexes = {
  lexical: LexicalIndex;
  vectors: VectorIndex;
  /** Place where vectors are searched, the broker or a Chroma server. */
  vectorsAt: "local" | "chroma";
  model: Model;
  /** Resolves when the model is loaded; never without a model. */
  embedder: Promise<LocalEmbedder>;
  /** Undefined until the model is ready. */
  backlog: () => Backlog | undefined;
  /** Ends the model and the backlog; callers that wait for them continue. May be called twice. */
  endModel(): Promise<void>;
};

export type IndexOptions = {
  config: Config;
  log: Log;
  ledger: OpenLedger;
  /** Driver of the public palace's drawers. It answers vector queries if MEMPALACE_VECTORS is `chroma`. */
  driver: PalaceDriver | undefined;
  wakes: Wakes;
};

/** Opens the indexes. `closing` collects what must be closed at the end. */
export function openIndexes(options: IndexOptions, closing: AsyncDisposableStack): OpenIndexes {
  const { config, log, ledger, wakes } = options;
  const { reader, writer } = ledger;
  const lexical = openLexicalIndex({ ledgerFile: config.paths.ledgerFile });
  closing.defer(() => lexical.close());
  const { vectors, vectorsAt } = openVectors(options, closing);

  let backlog: Backlog | undefined;
  const loaded = Promise.withResolvers<LocalEmbedder>();
  const model = new Model({
    config: config.model,
    recorded: () => reader.meta("model"),
    onReady: (embedder) => {
      backlog = new Backlog({
        embedder: embedder.backlog,
        pending: (afterRow, limit) => reader.pendingTexts(afterRow, limit),
        notes: (limit) => reader.pendingNotes(limit),
        file: (pending, id) => writer.call("storeVectors", pending, id),
        onFiled: async (changes: Changes) => {
          await vectors.refresh(changes);
          wakes.wake("outbox", "closets");
        },
        log,
      });
      loaded.resolve(embedder);
    },
    log,
  });
  wakes.on("backlog", () => backlog?.wake());
  let ended: Promise<void> | undefined;
  const endModel = (): Promise<void> => (ended ??= Promise.all([backlog?.stop(), model.close()]).then(() => undefined));
  closing.defer(endModel);
  return { lexical, vectors, vectorsAt, model, embedder: loaded.promise, backlog: () => backlog, endModel };
}

function openVectors(
  { config, ledger, driver }: IndexOptions,
  closing: AsyncDisposableStack,
): Pick<OpenIndexes, "vectors" | "vectorsAt"> {
  if (config.vectors === "chroma" && driver?.kind === "chroma")
    return { vectors: driverVectorIndex({ driver, reader: ledger.reader }), vectorsAt: "chroma" };
  const local = openVectorIndex({ ledgerFile: config.paths.ledgerFile });
  closing.defer(() => local.close());
  return { vectors: local, vectorsAt: "local" };
}
