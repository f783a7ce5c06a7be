/** Runs the storm of the kill tests: shims write, move and delete while their brokers are killed. */
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect } from "vitest";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { readBrokerFile } from "../../src/wire/client/discover.ts";
import type { Env } from "../../src/config/env.ts";
import { within } from "../../src/base/time-limit.ts";
import type { TestPalace } from "./palace.ts";

const ROUND_MAX_MS = 120_000;

export type StormOptions = {
  /** Environment of the shims, and of the brokers that they start. */
  env: Env;
  shims: number;
  rounds: number;
  random: () => number;
  /** Wing for the drawers. Each storm in a palace needs another wing. */
  wing?: string;
  /** Called in each round before the broker is killed. */
  onRound?: (round: number) => Promise<void>;
};

/** `present`: ids of the drawers that must exist. `deleted`: ids of the deleted drawers. `changes`: number of acknowledged updates. */
export type StormResult = { present: ReadonlySet<string>; deleted: ReadonlySet<string>; changes: number };

/** Runs the storm. Only the shims start brokers, on demand, as for users. */
export async function storm(palace: TestPalace, options: StormOptions): Promise<StormResult> {
  const { env, rounds, random, onRound, wing = "storm" } = options;
  const shims = await Promise.all(Array.from({ length: options.shims }, () => palace.shim(env)));
  const acknowledged = new Set<string>();
  const deleted = new Set<string>();
  let changes = 0;
  let stopped = false;
  let target = 0;
  let onTarget = (): void => {};
  const writers = shims.map(async (shim, number) => {
    const kept: string[] = [];
    const remove = async (id: string): Promise<void> => {
      await shim.call("mempalace_delete_drawer", { drawer_id: id });
      deleted.add(id);
    };
    const change = async (id: string, to: Record<string, string>): Promise<void> => {
      await shim.call("mempalace_update_drawer", { drawer_id: id, ...to });
      changes += 1;
    };
    for (let index = 0; !stopped; index++) {
      const name = `${wing}: shim ${number} write ${index}`;
      const id = await fileDrawer(palace, shim, { wing, room: `shim${number}`, content: name });
      acknowledged.add(id);
      if (acknowledged.size >= target) onTarget();
      if (index % 5 === 2) await change(id, { room: `moved${number}` });
      if (index % 7 === 3) await remove(id);
      else kept.push(id);
      // Changes an older drawer, because the public palace already has it.
      const [oldest, older] = kept;
      if (index % 9 === 8 && older !== undefined) await change(older, { content: `${name}, in place of another` });
      if (index % 11 === 10 && oldest !== undefined) await remove(kept.shift() ?? oldest);
    }
  });
  for (let round = 0; round < rounds; round++) {
    // Kills each broker after a few acknowledged writes, in the middle of the next ones.
    target = acknowledged.size + 1 + Math.floor(random() * 12);
    const reached = new Promise<void>((resolve) => (onTarget = resolve));
    await within(Promise.race([reached, Promise.all(writers)]), ROUND_MAX_MS);
    expect(acknowledged.size, "acknowledged").toBeGreaterThanOrEqual(target);
    await onRound?.(round);
    await delay(random() * 8);
    const pid = readBrokerFile(palace.config.paths.brokerFile)?.pid;
    if (pid !== undefined) killHard(pid);
  }
  stopped = true;
  await Promise.all(writers);
  for (const shim of shims) expect(await shim.close()).toBe(0);
  return { present: new Set([...acknowledged].filter((id) => !deleted.has(id))), deleted, changes };
}

/** Files a drawer and returns its id. Waits for the ledger if the write was spooled, because its answer has no id then. */
export async function fileDrawer(
  palace: TestPalace,
  shim: StdioMcp,
  note: { wing: string; room: string; content: string },
): Promise<string> {
  const { drawer_id: id } = await shim.call("mempalace_add_drawer", note);
  if (typeof id === "string") return id;
  const find = (): string | undefined => {
    const database = new Database(palace.config.paths.ledgerFile, { readonly: true, timeout: 5_000 });
    try {
      return database.prepare<[string], string>("SELECT id FROM drawer WHERE text = ?").pluck().get(note.content);
    } finally {
      database.close();
    }
  };
  await expect.poll(find, { timeout: 60_000, interval: 50 }).toBeDefined();
  return find() ?? "";
}

/** Sends SIGKILL. The broker may have ended by itself. */
function killHard(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ESRCH");
  }
}

/** Asserts that every acknowledged drawer exists once, that no deleted drawer exists, and that the ledger's tables agree. */
export async function assertWhole(
  palace: TestPalace,
  present: ReadonlySet<string>,
  absent: ReadonlySet<string> = new Set(),
): Promise<void> {
  const database = new Database(palace.config.paths.ledgerFile, { readonly: true });
  try {
    const ids = database.prepare<[], string>("SELECT id FROM drawer").pluck().all();
    const filed = new Set(ids);
    const one = (sql: string): unknown => database.prepare(sql).pluck().get();
    expect(ids.length).toBe(filed.size);
    expect(
      [...present].filter((id) => !filed.has(id)),
      "acknowledged and lost",
    ).toEqual([]);
    expect(
      [...absent].filter((id) => filed.has(id)),
      "deleted and back",
    ).toEqual([]);
    expect(one("PRAGMA integrity_check")).toBe("ok");
    expect(one("SELECT count(*) FROM drawer_fts_docsize")).toBe(ids.length);
    expect(one("SELECT coalesce(sum(drawers), 0) FROM place")).toBe(ids.length);
    expect(
      one(`SELECT count(*) FROM drawer WHERE row NOT IN (SELECT row FROM vector)
      AND row NOT IN (SELECT row FROM pending_embedding)`),
    ).toBe(0);
    expect(
      one(`SELECT count(*) FROM vector WHERE row NOT IN (SELECT row FROM drawer)
      OR row NOT IN (SELECT row FROM vector_code)`),
    ).toBe(0);
    const journaled = one("SELECT count(*) FROM journal WHERE method IN ('add_drawer', 'diary_write')");
    expect(journaled, "one journal row a filed drawer").toBe(ids.length + absent.size);
  } finally {
    database.close();
  }
}
