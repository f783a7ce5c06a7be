/** Lets agents write, move and delete, and checks that the palace agrees with the answers that the agents got. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { graphDifferences } from "../../helpers/graph-differences.ts";
import { appliedTwice } from "../../helpers/journal-rows.ts";

/** Writes of one agent, as the agent knows them. Contents are unique. Ids are known only if a broker answered. */
export type Account = {
  room: string;
  /** Map from a drawer's content to its room: the room of the last move, or else the first room. */
  present: Map<string, string>;
  deleted: Set<string>;
  /** Objects of the facts that this agent added. */
  facts: Set<string>;
  /** Diary entries of this agent. An entry that is applied twice exists twice. */
  entries: Set<string>;
  /** Writes that were never answered. Each may exist or not. */
  unknown: Set<string>;
  spooled: number;
  acknowledged: number;
};

export function newAccount(room: string): Account {
  return {
    room,
    present: new Map(),
    deleted: new Set(),
    facts: new Set(),
    entries: new Set(),
    unknown: new Set(),
    spooled: 0,
    acknowledged: 0,
  };
}

/**
 * Makes `count` writes: adds, moves and deletes drawers, adds facts, and writes diary entries, which would exist twice if they were applied
 * twice. Rejects if the agent dies.
 */
export async function writeMany(agent: StdioMcp, account: Account, count: number, from = 0): Promise<void> {
  const { room, present, deleted, facts, entries, unknown } = account;
  let last: { id: string; content: string } | undefined;
  const call = async (tool: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const answer = await agent.call(tool, args);
    expect(answer["success"], JSON.stringify(answer)).toBe(true);
    account.acknowledged += 1;
    if (answer["spooled"] === true) account.spooled += 1;
    return answer;
  };
  for (let index = from; index < from + count; index++) {
    const content = `${room} writes ${index}`;
    if (last !== undefined && index % 8 === 5) {
      unknown.add(last.content);
      await call("mempalace_update_drawer", { drawer_id: last.id, room: `${room}-moved${index}` });
      unknown.delete(last.content);
      present.set(last.content, `${room}-moved${index}`);
    } else if (last !== undefined && index % 10 === 7) {
      unknown.add(last.content);
      await call("mempalace_delete_drawer", { drawer_id: last.id });
      unknown.delete(last.content);
      present.delete(last.content);
      deleted.add(last.content);
      last = undefined;
    } else if (index % 12 === 3) {
      unknown.add(`fact ${index}`);
      await call("mempalace_kg_add", { subject: room, predicate: "told", object: `fact ${index}` });
      unknown.delete(`fact ${index}`);
      facts.add(`fact ${index}`);
    } else if (index % 11 === 4 || index % 11 === 9) {
      const entry = `${room} notes ${index}`;
      unknown.add(entry);
      await call("mempalace_diary_write", { agent_name: room, entry, wing: "grid-diary" });
      unknown.delete(entry);
      entries.add(entry);
    } else {
      unknown.add(content);
      const answer = await call("mempalace_add_drawer", { wing: "grid", room, content });
      unknown.delete(content);
      present.set(content, room);
      if (typeof answer["drawer_id"] === "string") last = { id: answer["drawer_id"], content };
    }
  }
}

/** Asserts that the copy of a palace agrees with the agents' accounts. */
export function assertAccounts(copy: string, accounts: readonly Account[]): void {
  const database = new Database(join(copy, "ledger.sqlite3"), { readonly: true });
  try {
    assertDrawers(database, accounts);
    assertFacts(database, accounts);
    assertEntries(database, accounts);
    // The agents of this storm never make two calls with the same arguments, so equal arguments show a call that was applied twice.
    const twice = appliedTwice(database);
    for (const { room } of accounts)
      expect(
        twice.filter((call) => call.includes(`"${room}`)),
        `${room}: applied twice`,
      ).toEqual([]);
    const one = (sql: string): unknown => database.prepare(sql).pluck().get();
    const total = one("SELECT count(*) FROM drawer");
    expect(one("PRAGMA integrity_check")).toBe("ok");
    expect(one("SELECT count(*) FROM drawer_fts_docsize")).toBe(total);
    expect(one("SELECT coalesce(sum(drawers), 0) FROM place")).toBe(total);
    expect(one("SELECT count(*) - count(DISTINCT key) FROM journal")).toBe(0);
  } finally {
    database.close();
  }
  const places = {
    ledgerFile: join(copy, "ledger.sqlite3"),
    graphFile: join(copy, "knowledge_graph.sqlite3"),
    tunnelsFile: join(copy, "tunnels.json"),
    hallwaysFile: join(copy, "hallways.json"),
    upstreamLocksDir: copy,
  };
  expect(graphDifferences(places), "upstream's graph file and the ledger").toEqual([]);
}

function assertDrawers(database: Database.Database, accounts: readonly Account[]): void {
  const rows = database
    .prepare<[], { text: string; room: string }>("SELECT text, room FROM drawer WHERE wing = 'grid' ORDER BY row")
    .all();
  const found = new Map(rows.map(({ text, room }) => [text, room]));
  expect(found.size, "doubled").toBe(rows.length);
  for (const { room, present, deleted, unknown } of accounts) {
    const lost = [...present].filter(([text, at]) => !unknown.has(text) && found.get(text) !== at);
    expect(lost, `${room}: acknowledged and not so`).toEqual([]);
    expect(
      [...deleted].filter((text) => found.has(text)),
      `${room}: deleted and back`,
    ).toEqual([]);
    const own = rows.filter(({ text }) => text.startsWith(`${room} writes `));
    const strange = own.filter(({ text }) => !present.has(text) && !unknown.has(text));
    expect(strange, `${room}: nobody wrote this`).toEqual([]);
    const order = own.map(({ text }) => Number(text.slice(text.lastIndexOf(" "))));
    expect(order, `${room}: out of order`).toEqual(order.toSorted((a, b) => a - b));
  }
}

function assertEntries(database: Database.Database, accounts: readonly Account[]): void {
  const noted = database.prepare<[string], string>(
    "SELECT text FROM drawer WHERE wing = 'grid-diary' AND text LIKE ? ORDER BY row",
  );
  for (const { room, entries, unknown } of accounts) {
    const found = noted.pluck().all(`${room} notes %`);
    expect(found.length, `${room}: an entry twice`).toBe(new Set(found).size);
    expect(
      [...entries].filter((entry) => !found.includes(entry)),
      `${room}: an entry is lost`,
    ).toEqual([]);
    expect(
      found.filter((entry) => !entries.has(entry) && !unknown.has(entry)),
      `${room}: nobody noted this`,
    ).toEqual([]);
  }
}

function assertFacts(database: Database.Database, accounts: readonly Account[]): void {
  const told = database.prepare<[string], string>(
    `SELECT o.name FROM kg_triple t JOIN kg_entity s ON s.id = t.subject JOIN kg_entity o ON o.id = t.object
       WHERE s.name = ? AND t.predicate = 'told' ORDER BY t.row`,
  );
  for (const { room, facts, unknown } of accounts) {
    const found = told.pluck().all(room);
    expect(new Set(found).size, `${room}: a fact twice`).toBe(found.length);
    expect(
      [...facts].filter((object) => !found.includes(object)),
      `${room}: a fact is lost`,
    ).toEqual([]);
    expect(
      found.filter((object) => !facts.has(object) && !unknown.has(object)),
      `${room}: nobody told this`,
    ).toEqual([]);
  }
}
