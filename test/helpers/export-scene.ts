/** Makes palaces for the tests of `palace export` with the real MemPalace. */
import { setTimeout as delay } from "node:timers/promises";
import { createTestPalace, type TestPalace } from "./palace.ts";
import { mempalaceEnv } from "./python-mempalace.ts";
import { status } from "./python-rows.ts";

/** Makes a palace whose HOME has MemPalace's model, so that both sides make the same vectors. */
export function createScene(): TestPalace {
  const palace = createTestPalace();
  mempalaceEnv(palace.home);
  return palace;
}

/** Files notes, a long drawer, a diary entry, a fact, a tunnel and an event, and waits for the vectors. */
export async function fill(palace: TestPalace, notes: number): Promise<void> {
  await using shim = await palace.shim();
  const call = (tool: string, values: Record<string, unknown>): Promise<Record<string, unknown>> =>
    shim.call(`mempalace_${tool}`, values);
  await Promise.all(
    Array.from({ length: notes }, (_, n) =>
      call("add_drawer", { wing: `w${n % 3}`, room: "notes", content: `our note ${n}, ä 日本 👩‍👩‍👧` }),
    ),
  );
  await call("add_drawer", { wing: "w0", room: "long", content: "abc ".repeat(500) });
  await call("diary_write", { agent_name: "me", entry: "dear diary", topic: "days" });
  await call("kg_add", { subject: "Alice", predicate: "works at", object: "Acme", valid_from: "2025-01-01" });
  await call("create_tunnel", {
    ...{ source_wing: "w0", source_room: "notes", target_wing: "w1", target_room: "notes", label: "alike" },
  });
  await call("event_append", { type: "news", stream: "s", room: "r", from_agent: "me", body: "an event of ours" });
  while ((await status(palace)).search.pending > 0) await delay(100);
}
