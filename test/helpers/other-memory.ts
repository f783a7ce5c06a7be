/** Fills ledgers without a broker and compares two of them, for the tests of `palace import`. */
import { createHash } from "node:crypto";
import Database from "better-sqlite3";
import { applyWrite } from "../../src/broker/tools/writes.ts";
import { STANDING_BODY } from "../../src/memory/ledger/schema/outcome-schema.ts";
import { LedgerWriter } from "../../src/memory/ledger/write/group-commit.ts";
import type { WriteCall } from "../../src/memory/port/ledger.ts";
import { COMMIT_BATCH_MAX } from "../../src/protocol/limits.ts";

type Call = Pick<WriteCall, "method" | "params" | "findings">;

/** Writes an agent's calls while no broker runs. The times begin at `atMs` and are one second apart. */
export function writeDirectly(ledgerFile: string, name: string, calls: readonly Call[], atMs: number): void {
  const writer = new LedgerWriter(ledgerFile, (tx, call) => applyWrite(tx, call));
  try {
    for (let from = 0; from < calls.length; from += COMMIT_BATCH_MAX) {
      const group = calls.slice(from, from + COMMIT_BATCH_MAX).map((call, at): WriteCall => ({
        ...{ ...call, key: `${name} ${from + at}`, isRepeatable: true, requestId: "r" },
        ...{ peer: { agent: name, door: "local", uid: 0, pid: 1 }, atMs: atMs + (from + at) * 1000 },
      }));
      for (const { outcome } of writer.commit(group).outcomes) if (!outcome.ok) throw new Error(outcome.error.message);
    }
  } finally {
    writer.close();
  }
}

/** Returns calls that store something of every kind. `drawers`: number of calls that file a note. */
export function everyKind(name: string, drawers: number): Call[] {
  const calls: Call[] = [];
  for (let at = 0; at < drawers; at++) {
    const params = {
      wing: `${name}_w${at % 3}`,
      room: `r${at % 5}`,
      content: `${name} note ${at} "quoted"\n\ttabbed`,
      added_by: name,
    };
    calls.push({ method: "add_drawer", params });
    if (at % 50 === 0) {
      calls.push({ method: "add_drawer", params: { ...params, content: `${name} long ${at} ${"word ".repeat(400)}` } });
      calls.push({ method: "diary_write", params: { agent_name: name, entry: `${name} day ${at}`, topic: "work" } });
      const fact = { subject: `${name} ${at}`, predicate: "works at", object: "Acme" };
      calls.push({ method: "kg_add", params: { ...fact, valid_from: "2025-01-01" } });
      if (at % 100 === 0) calls.push({ method: "kg_invalidate", params: { ...fact, ended: "2026-01-01" } });
      const ends = {
        source_wing: `${name}_w0`,
        source_room: "r0",
        target_wing: `${name}_w1`,
        target_room: `r${at % 5}`,
      };
      calls.push({ method: "create_tunnel", params: { ...ends, label: `${name} ${at}` } });
      calls.push(...judged(name, at));
      calls.push(
        minedFile(`/src/${name}/${at}.md`, `# ${name} ${at}\n\n${`paragraph ${at} of ${name}. `.repeat(150)}`, at),
      );
    }
  }
  return calls;
}

/** Returns calls that score a memory for a question and add an entry to Roampal's graphs. */
function judged(name: string, at: number): Call[] {
  const id = `working_${createHash("sha256").update(`${name} ${at}`).digest("hex").slice(0, 8)}`;
  const memory = { id, collection: "working", text: `${name} learned ${at}`, metadata: { score: 0.7, uses: 2 } };
  const question = { context: "coding", concepts: [at, at + 1] };
  const entry = { at: ["content_graph.json", "entities", `${name} ${at}`], value: "1" };
  return [
    { method: "outcome.import", params: { memories: [memory], isDry: false } },
    {
      method: "score_memories",
      params: { outcome: "worked", memory_scores: { [id]: "worked" } },
      findings: { [id]: question },
    },
    { method: "outcome.importGraph", params: { isDry: false, name, at }, findings: [entry] },
  ];
}

export function minedFile(sourceFile: string, content: string, mtime: number): Call {
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { method: "source.replace", params: { wing: "docs", room: "general", sourceFile, content, mtime, sha256 } };
}

/** Columns to compare, by table: those that are equal in all ledgers with the same content. */
const TABLES = {
  drawer: "id, wing, room, source_file, text, date_words, metadata FROM drawer",
  closet: "id, wing, room, source_file, text, metadata FROM closet",
  entity: "id, name, type, properties, created_at FROM kg_entity",
  triple: "id, subject, predicate, object, valid_from, valid_to, confidence, source_file, extracted_at FROM kg_triple",
  link: "kind || id AS id, record FROM link",
  standing: `id, ${STANDING_BODY} FROM standing`,
  concepts: "id || ' ' || nth || ' ' || concept AS id, at_ms FROM question_concept",
  carried: "id, value FROM carried_graph",
  // Leaves out imports and undos, because only one of the compared ledgers has them.
  history: `key, at_ms, method, agent, door, uid, pid, request_id, arguments, result FROM
    (SELECT * FROM journal WHERE method NOT IN ('memory.import', 'memory.undo') UNION ALL
     SELECT seq, key, fingerprint, at_ms, method, agent, door, uid, pid, request_id, arguments, result FROM imported_journal)`,
  source: "source_file AS id, wing, mtime, sha256, drawers FROM source WHERE sha256 <> ''",
};

export type Contents = Record<keyof typeof TABLES, string>;

export function drawersIn(file: string): number {
  const ledger = new Database(file, { readonly: true });
  try {
    return ledger.prepare<[], number>("SELECT count(*) FROM drawer").pluck().get() ?? 0;
  } finally {
    ledger.close();
  }
}

/** Returns each table's number of rows and their digest. `only`: a text that the counted rows contain. */
export function contentsOf(ledgerFile: string, only = ""): Contents {
  const ledger = new Database(ledgerFile, { readonly: true });
  try {
    return Object.fromEntries(
      Object.entries(TABLES).map(([name, from]) => {
        const rows = ledger
          .prepare(`SELECT ${from} ORDER BY 1`)
          .raw()
          .all()
          .map((row) => JSON.stringify(row));
        const some = rows.filter((row) => row.includes(only));
        return [name, `${some.length} ${createHash("sha256").update(some.join("\n")).digest("hex")}`];
      }),
    ) as Contents;
  } finally {
    ledger.close();
  }
}
