import { expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { clearStopped } from "../../../src/base/state-files.ts";
import { graphDifferences } from "../../helpers/graph-differences.ts";
import { createTestPalace } from "../../helpers/palace.ts";

/** `STEP:N` kills the broker when it passes the step for the Nth time, so that it has written some facts before. */
const FAULTS = [
  ...["commit.after-apply:6", "commit.before-commit:5", "commit.after-sync:5"],
  ...["graph.after-send:3", "graph.after-done:3"],
];
/** Minimum number of facts for each of FAULTS. The test keeps writing until a broker has died. */
const FACTS_PER_FAULT = 6;

test("facts and tunnels survive a kill at every step, each once, and are in upstream's files", async () => {
  await using palace = createTestPalace();
  const made = { facts: 0, ended: 0, tunnels: 0 };
  for (const fault of FAULTS) {
    // Every broker that this shim starts dies at that step.
    const shim = await palace.shim({ MEMPALACE_FAULT: fault });
    const pids = new Set<number | undefined>();
    for (let index = 0; index < FACTS_PER_FAULT || pids.size < 2; index++) {
      const fact = { subject: `S ${made.facts++}`, predicate: "is in", object: fault };
      expect(await shim.call("mempalace_kg_add", fact)).toMatchObject({ success: true });
      if (index % 3 === 0) {
        await shim.call("mempalace_kg_invalidate", { ...fact, ended: "2030-01-01" });
        made.ended += 1;
      }
      const ends = { source_wing: "a", source_room: `r${made.facts}`, target_wing: "b", target_room: "r" };
      const { id } = await shim.call("mempalace_create_tunnel", ends);
      if (index % 2 === 0)
        expect(await shim.call("mempalace_delete_tunnel", { tunnel_id: id })).toEqual({ deleted: id });
      else made.tunnels += 1;
      pids.add(readBrokerFile(palace.config.paths.brokerFile)?.pid);
    }
    await shim.close();
    const { code } = await palace.run("palace", ["stop"]);
    expect(code).toBe(0);
    clearStopped(palace.config.paths);
  }
  const shim = await palace.shim();
  expect(await shim.call("mempalace_kg_stats", {})).toMatchObject({ triples: made.facts, expired_facts: made.ended });
  const tunnels = (await shim.call("mempalace_list_tunnels", {})) as unknown as { updated_at?: string }[];
  expect(tunnels).toHaveLength(made.tunnels);
  // If a tunnel were created twice, it would have `updated_at`.
  expect(tunnels.filter(({ updated_at }) => updated_at !== undefined)).toEqual([]);
  await expect.poll(() => graphDifferences(palace.config.paths), { timeout: 20_000 }).toEqual([]);
  await shim.close();
});
