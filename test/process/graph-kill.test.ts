/**
 * Brokers die in the middle of writing the graph, at every step between the call and upstream's files: what was acknowledged is
 * there once, and the files agree with the ledger again.
 */
import { once } from "node:events";
import { expect, test } from "vitest";
import { graphDifferences } from "../../src/store/graph/side.ts";
import { createTestPalace } from "../helpers/palace.ts";

/** The Nth time, so that some of it is done before. */
const FAULTS = [
  "commit.after-apply:6",
  "commit.before-commit:5",
  "commit.after-sync:4",
  "graph.after-send:2",
  "graph.after-done:2",
];

test("facts and tunnels survive a kill at every step, once, and upstream's files hold them", async () => {
  await using palace = createTestPalace();
  const shim = await palace.shim();
  let facts = 0;
  for (const fault of FAULTS) {
    const stop = await palace.client();
    await stop.call("broker.stop", { sticky: false });
    stop.close();
    // Only this broker dies; the one that the shim starts after it lives.
    const broker = await palace.startBroker({ MEMPALACE_FAULT: fault });
    const died = once(broker, "exit");
    for (let index = 0; index < 12; index++) {
      const fact = { subject: `S ${facts++}`, predicate: "is in", object: fault };
      expect(await shim.call("mempalace_kg_add", fact)).toMatchObject({ success: true });
      if (index % 3 === 0) await shim.call("mempalace_kg_invalidate", { ...fact, ended: "2030-01-01" });
      const ends = { source_wing: "a", source_room: `r${facts}`, target_wing: "b", target_room: "r" };
      const { id } = await shim.call("mempalace_create_tunnel", ends);
      if (index % 2 === 0)
        expect(await shim.call("mempalace_delete_tunnel", { tunnel_id: id })).toEqual({ deleted: id });
    }
    expect((await died)[1], fault).toBe("SIGKILL");
  }
  expect(await shim.call("mempalace_kg_stats", {})).toMatchObject({ triples: facts, expired_facts: facts / 3 });
  const tunnels = (await shim.call("mempalace_list_tunnels", {})) as unknown as { id: string; updated_at?: string }[];
  expect(tunnels).toHaveLength(facts / 2);
  expect(tunnels.filter(({ updated_at }) => updated_at !== undefined)).toEqual([]);
  await expect.poll(() => graphDifferences(palace.config.paths), { timeout: 20_000 }).toEqual([]);
  await shim.close();
});
