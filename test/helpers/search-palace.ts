/** Makes a ledger with its search threads but without a broker, for the tests of the search tool. */
import { outcomeAdjustments } from "../../src/learning/search/drawer-adjustment.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hit } from "../../src/memory/search/closet-search.ts";
import { searchTool } from "../../src/memory/search/search-tool.ts";
import type { SearchMode } from "../../src/protocol/spec.ts";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { openLexicalIndex } from "../../src/memory/index/lexical/lexical-index.ts";
import { formsOf } from "../../src/memory/index/lexical/tokens.ts";
import { headingsAbove } from "../../src/memory/text/headings.ts";
import { staticTable } from "../../src/memory/index/static/static-table.ts";
import { openVectorIndex } from "../../src/memory/index/vectors/vector-index.ts";
import { SqliteLedgerReader } from "../../src/memory/ledger/read/reader.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import { type Clock, SYSTEM_CLOCK } from "../../src/base/clock.ts";
import type { Embedder, Reranker } from "../../src/memory/port/search.ts";

export type SearchAnswer = Record<string, unknown> & { results: Hit[] };
const FOREVER = { journalRetentionMs: 1e12, undoMs: 1e12, imagesBytes: 1e12 };
type Arguments = Record<string, unknown>;

export type SearchPalace = AsyncDisposable & {
  write(method: string, params: Arguments, findings?: unknown): Arguments;
  /** Files a text in wing `w` and room `r`, and returns the drawer's id. */
  file(content: string, more?: Arguments): string;
  /** `more.mode`: search mode, as on the command line. `more.project`: names of the project in which the client works. */
  search(query: string, more?: Arguments): Promise<SearchAnswer>;
  /** Runs the ledger's background work to its end. */
  settle(): void;
  texts(query: string, more?: Arguments): Promise<string[]>;
};

/** Makes the palace. `clock` limits the wait for vectors. */
export async function createSearchPalace(
  reranker?: Reranker,
  embedder?: Embedder,
  clock: Clock = SYSTEM_CLOCK,
): Promise<SearchPalace> {
  const folder = mkdtempSync(join(tmpdir(), "search-"));
  const ledgerFile = join(folder, "ledger.sqlite3");
  const writer = new LedgerWriter(ledgerFile, applyWrite, { staticCode: staticTable().codeOf, formsOf, headingsAbove });
  const reader = new SqliteLedgerReader(ledgerFile);
  const [lexical, vectors] = [openLexicalIndex({ ledgerFile }), openVectorIndex({ ledgerFile })];
  const dependencies = {
    reader,
    lexical,
    vectors,
    embedder: () => embedder,
    embedderDetail: () => "no model",
    isModelWanted: () => true,
    reranker: () => reranker,
    rerankerDetail: () => "no cross-encoder",
    adjustByOutcomes: outcomeAdjustments,
    clock,
  };
  let count = 0;

  const write = (method: string, params: Arguments, findings?: unknown): Arguments => {
    const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
    const [key, atMs] = [`k${++count}`, Date.now()];
    const call = { key, isRepeatable: false, method, params, peer, requestId: "r", atMs, findings };
    const [done] = writer.commit([call]).outcomes;
    if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
    return done.outcome.value as Arguments;
  };
  const search = async (query: string, { mode = "auto", project, ...more }: Arguments = {}): Promise<SearchAnswer> => {
    const known = { ...dependencies, ...(project !== undefined && { project: project as string[] }) };
    return (await searchTool(known, { query, ...more }, mode as SearchMode)) as SearchAnswer;
  };
  return {
    write,
    search,
    file: (content, more = {}) =>
      write("add_drawer", { wing: "w", room: "r", content, ...more })["drawer_id"] as string,
    settle() {
      while (writer.maintain(FOREVER, { wallMs: Date.now(), uptimeMs: 0, bootId: "" }));
    },
    texts: async (query, more) => (await search(query, more)).results.map(({ text }) => text),
    async [Symbol.asyncDispose]() {
      await Promise.all([lexical.close(), vectors.close()]);
      reader.close();
      writer.close();
      rmSync(folder, { recursive: true });
    },
  };
}
