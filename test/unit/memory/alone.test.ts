/** Tests that the memory works with only the wings `base`, `protocol`, `config` and `memory` loaded. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ROOT } from "../../../scripts/main.ts";

/** Makes each thread refuse to load a module of `src` outside these four wings. */
const CLOSED = `import { registerHooks } from "node:module";
const isOpen = /\\/src\\/(base|protocol|config|memory)\\//;
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (found.url.startsWith(process.env.SOURCES) && !isOpen.test(found.url)) throw new Error("closed: " + found.url);
    return found;
  },
});
`;

const PROGRAM = `import { SqliteLedgerReader } from "SRC/memory/ledger/read/reader.ts";
import { LedgerWriter } from "SRC/memory/ledger/write/group-commit.ts";
import { openLexicalIndex } from "SRC/memory/index/lexical/lexical-index.ts";
import { staticTable } from "SRC/memory/index/static/static-table.ts";
import { openVectorIndex } from "SRC/memory/index/vectors/vector-index.ts";
import { queryFacts } from "SRC/memory/graph/facts.ts";
import { search } from "SRC/memory/search/search.ts";
import { MEMORY_WRITES } from "SRC/memory/tools/writes.ts";
import { SYSTEM_CLOCK } from "SRC/base/clock.ts";
const ledgerFile = process.argv[2];
const apply = (tx, call) => MEMORY_WRITES[call.method](tx, call, { drawerSize: 800 });
const writer = new LedgerWriter(ledgerFile, apply, staticTable().codeOf);
let count = 0;
const write = (method, params) => {
  const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
  const call = { key: "k" + ++count, isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
  const [{ outcome }] = writer.commit([call]).outcomes;
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
};
write("add_drawer", { wing: "w", room: "r", content: "the spare key hangs behind the door" });
write("kg_add", { subject: "key", predicate: "hangs", object: "door" });
const reader = new SqliteLedgerReader(ledgerFile);
const [lexical, vectors] = [openLexicalIndex({ ledgerFile }), openVectorIndex({ ledgerFile })];
const none = { embedder: () => undefined, embedderDetail: () => "", isModelWanted: () => false, reranker: () => undefined };
const parts = { reader, lexical, vectors, ...none, rerankerDetail: () => "", adjustByOutcomes: () => [], clock: SYSTEM_CLOCK };
const query = "where do we keep the extra key";
const rest = { distanceMax: 0, explain: false, neighbors: 0, now: undefined };
const { hits } = await search(parts, { query, parts: [query], limit: 5, filter: {}, mode: "auto", ...rest });
const facts = queryFacts(reader.graph, { entity: "key" }, Date.now());
console.log(JSON.stringify({ found: hits.map(({ text }) => text), facts }));
await Promise.all([lexical.close(), vectors.close()]);
`;

test("the wings base, protocol, config and memory suffice to file and find drawers and facts", async () => {
  const folder = mkdtempSync(join(tmpdir(), "alone-"));
  const [closed, program] = [join(folder, "closed.mjs"), join(folder, "program.ts")];
  writeFileSync(closed, CLOSED);
  writeFileSync(program, PROGRAM.replaceAll("SRC", join(ROOT, "src")));
  const env = { ...process.env, NODE_OPTIONS: `--import=${closed}`, SOURCES: `file://${join(ROOT, "src")}/` };
  const { stdout } = await promisify(execFile)(process.execPath, [program, join(folder, "ledger")], { env });
  rmSync(folder, { recursive: true });
  expect(JSON.parse(stdout)).toMatchObject({
    found: ["the spare key hangs behind the door"],
    facts: { facts: [{ subject: "key", predicate: "hangs", object: "door" }] },
  });
});
