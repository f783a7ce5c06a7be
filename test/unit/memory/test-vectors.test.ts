/** Compares our results with the test vectors of palace.md 12, which upstream's own functions computed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { closetLines, type ClosetSource } from "../../../src/memory/closet/closets.ts";
import { nameTags } from "../../../src/memory/closet/name-words.ts";
import { hash24 } from "../../../src/memory/drawer/drawer-id.ts";
import { hallOf } from "../../../src/memory/drawer/hall.ts";
import { validTemporal } from "../../../src/memory/graph/temporal.ts";
import { tunnelId } from "../../../src/memory/graph/tunnels.ts";
import { sanitizeQuery } from "../../../src/memory/search/query-sanitizer.ts";
import { chunkDocument } from "../../../src/memory/source/chunk.ts";
import { entityId, sha256Hex } from "../../../src/memory/text/text.ts";
import { validName } from "../../../src/memory/text/validate.ts";
import { applyWrite } from "../../../src/broker/tools/writes.ts";
import { contentDate } from "../../../src/feeders/doc-miner/content-date.ts";
import { LedgerWriter } from "../../../src/memory/ledger/write/group-commit.ts";

describe("ids in a palace of MemPalace 3.3.6", () => {
  let folder: string, writer: LedgerWriter;
  let count = 0;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "vectors-"));
    writer = new LedgerWriter(join(folder, "ledger.sqlite3"), applyWrite);
    const database = new Database(join(folder, "ledger.sqlite3"));
    database.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('id_recipe', 'bare')").run();
    database.close();
  });
  afterEach(() => {
    writer.close();
    rmSync(folder, { recursive: true });
  });

  function write(method: string, params: Record<string, unknown>): Record<string, unknown> {
    const peer = { agent: "test", door: "unix", uid: 0, pid: 1 };
    const call = { key: `k${++count}`, isRepeatable: false, method, params, peer, requestId: "r", atMs: Date.now() };
    const [done] = writer.commit([call]).outcomes;
    if (done?.outcome.ok !== true) throw new Error(JSON.stringify(done?.outcome));
    return done.outcome.value as Record<string, unknown>;
  }

  function idsIn(table: "drawer" | "closet"): string[] {
    const database = new Database(join(folder, "ledger.sqlite3"), { readonly: true });
    try {
      return database.prepare<[], string>(`SELECT id FROM ${table} ORDER BY row`).pluck().all();
    } finally {
      database.close();
    }
  }

  test("a palace of MemPalace 3.3.6 gets upstream's ids for a project's chunks and its first closet", () => {
    const source = { wing: "proj", room: "general", sourceFile: "/p/a.md", content: "a".repeat(2000) };
    write("source.replace", { ...source, sha256: "s", mtime: 1 });
    expect(idsIn("drawer").slice(0, 2)).toEqual([
      "drawer_proj_general_385bc94aecfca8a7f100edd4",
      "drawer_proj_general_af8085f0570749e5f3dcc434",
    ]);
    expect(idsIn("closet")).toEqual(["closet_proj_general_adf7660f360456c15107d3d0_01"]);
  });

  test("a palace of MemPalace 3.3.6 gets upstream's ids for the exchanges of a conversation", () => {
    const part = {
      wing: "sessions",
      room: "technical",
      sourceFile: "/c/s.jsonl",
      texts: ["an exchange"],
      from: 0,
      total: 1,
    };
    write("conversation.replace", { ...part, mode: "exchange", sha256: "s", mtime: 1, addedBy: "mempalace" });
    expect(idsIn("drawer")).toEqual(["drawer_sessions_technical_db466bfa8a7ba84e8bb75a0d"]);
  });

  test("a palace of MemPalace 3.3.6 gets upstream's ids for a drawer and a diary entry", () => {
    expect(write("add_drawer", { wing: "proj", room: "notes", content: "hello world" })).toMatchObject({
      drawer_id: "drawer_proj_notes_787077a2695de31eeabcfa27",
    });
    expect(write("diary_write", { agent_name: "me", entry: "hello diary" })["entry_id"]).toMatch(/_e31edacc27de$/);
  });
});

test("the ids of links, entities and locks equal upstream's", () => {
  const [a, b] = [
    { wing: "wing_a", room: "auth" },
    { wing: "wing_b", room: "users" },
  ];
  expect([tunnelId(a, b), tunnelId(b, a)]).toEqual(["4d938481a26b5a8b", "4d938481a26b5a8b"]);
  expect(`hallway_proj_Aya_Lumi_${sha256Hex("proj::Aya::Lumi").slice(0, 8)}`).toBe("hallway_proj_Aya_Lumi_38447564");
  expect(entityId("Alice O'Brien Jr")).toBe("alice_obrien_jr");
  expect(sha256Hex("/data/palace").slice(0, 16)).toBe("9a994364b7c26031");
  expect(hash24("/p/a.md").slice(0, 16)).toBe("adf7660f360456c1");
});

test("chunks are cut as upstream cuts them", () => {
  expect(
    chunkDocument("a".repeat(2000)).map(({ text, lineStart, lineEnd }) => [text.length, lineStart, lineEnd]),
  ).toEqual([...[800, 800, 600].map((length) => [length, 1, 1])]);
  const paragraphs = `${"Line one of para.\n".repeat(30)}\n${"word ".repeat(200)}\n\nshort`;
  const chunks = chunkDocument(paragraphs);
  expect(chunks.map(({ text, lineStart, lineEnd }) => [text.length, lineStart, lineEnd])).toEqual([
    [539, 1, 30],
    [800, 25, 32],
    [409, 32, 34],
  ]);
});

test.each([
  [
    `${"You are a helpful assistant. ".repeat(20)}\nWhat database did we choose?`,
    { query: "What database did we choose?", method: "question_extraction", originalLength: 609 },
  ],
  [
    "alpha beta gamma ".repeat(20),
    { query: "alpha beta gamma ".repeat(20).trim().slice(-250), method: "tail_sentence", originalLength: 339 },
  ],
])("the sanitiser treats %j as upstream's sanitiser does", (query, sanitized) =>
  expect(sanitizeQuery(query)).toEqual(sanitized),
);

test.each([
  ["2024-11-08-notes", "", "2024-11-08"],
  ["April-6th-2011-notes", "", "2011-04-06"],
  ["x", "---\ndate: 2023-05-01\n---\ntext", "2023-05-01"],
  ["x", "Meeting 31/12/2023 notes", "2023-12-31"],
])("the content date of the file %s with the text %j equals upstream's", (stem, content, date) =>
  expect(contentDate(stem, content, 0).date).toBe(date),
);

test("names are accepted and refused as in upstream", () => {
  for (const name of ["a", "a_b", "a b-c.d", "é", "o'neil"]) expect(validName(name, "wing")).toBe(name);
  for (const name of ["_a", "a_", "a,b"])
    expect(() => validName(name, "wing")).toThrow("wing contains invalid characters");
  for (const name of ["a..b", "x/y"])
    expect(() => validName(name, "wing")).toThrow("wing contains invalid path characters");
});

test("halls, and times in the graph, equal upstream's", () => {
  expect(hallOf("the python server had a bug and I feel sad")).toBe("technical");
  expect(hallOf("zzz")).toBe("general");
  expect(validTemporal("2026-01-02T10:00:00+00:00", "as_of")).toBe("2026-01-02T10:00:00Z");
  expect(() => validTemporal("2026-02-30", "as_of")).toThrow("is not a valid ISO-8601 date");
});

test("closet lines equal upstream's", () => {
  const content =
    '# Auth design\nWe built the auth service with Redis cache. Redis was fast. Alice said "use tokens for every request" and Alice agreed.';
  const drawer = (id: string): ClosetSource["drawers"][number] => ({
    id,
    metadata: { line_start: 1, line_end: 3, content_date: "2026-01-02" },
  });
  const place = { wing: "proj", room: "general", filedAt: "", recipe: "bare" as const };
  const drawers = ["d1", "d2", "d3", "d4"].map(drawer);
  expect(closetLines({ ...place, sourceFile: "/p/a.md", content, drawers })).toEqual([
    "built the auth service with redis cache|Redis;Alice|2026-01-02:L1-L3|→d1,d2,d3",
    "auth design|Redis;Alice|2026-01-02:L1-L3|→d1,d2,d3",
    '"use tokens for every request"|Redis;Alice|2026-01-02:L1-L3|→d1,d2,d3',
  ]);
  expect(nameTags(content, { recipe: "bare" })).toBe("Alice;Redis");
  const bare = {
    ...place,
    sourceFile: "/p/notes-file.md",
    content: "nothing here",
    drawers: [{ id: "d1", metadata: {} }],
  };
  expect(closetLines(bare)).toEqual(["proj/general/notes-file||→d1"]);
});
