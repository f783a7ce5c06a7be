/** Runs the outbox against a real Chroma server that the test kills and freezes. */
import { expect, test, vi } from "vitest";
import { SILENT_LOG } from "../../src/base/log.ts";
import { createChromaDriver } from "../../src/mempalace/driver/chroma.ts";
import { type OutboxStatus, startOutbox } from "../../src/mempalace/outbox.ts";
import { chromaMissing, startChroma } from "../helpers/chroma-server.ts";
import { MemoryOutboxSource } from "../helpers/memory-outbox.ts";
import { seededRandom } from "../helpers/random.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const missing = chromaMissing();
if (missing !== undefined) process.stderr.write(`left out: the outbox over a real Chroma: ${missing}\n`);

test("CI runs the outbox test against a real Chroma", () => {
  if (process.env["CI"] === "true") expect(missing).toBeUndefined();
});

test.skipIf(missing)(
  "the palace has exactly the source's drawers after Chroma was killed and frozen",
  async () => {
    await using server = await startChroma();
    const random = seededRandom(7);
    const source = new MemoryOutboxSource();
    const chroma = { url: server.url, token: undefined, tenant: "default_tenant", database: "default_database" };
    const timeouts = { readMs: 3_000, writeMs: 3_000, settleMs: 200 };
    const driver = createChromaDriver({ chroma, log: SILENT_LOG, timeouts });
    const states: OutboxStatus["state"][] = [];
    const outbox = startOutbox({ source, driver, log: SILENT_LOG, onState: ({ state }) => void states.push(state) });

    const change = (count: number): void => {
      for (let i = 0; i < count; i += 1) {
        const id = `drawer_${Math.floor(random() * 300)}`;
        const metadata = { wing: "w", [`key${i % 3}`]: i };
        const vector = Float32Array.from({ length: 8 }, () => random() - 0.5);
        if (random() < 0.8) source.write({ id, text: `${id} as of ${random()}`, metadata, vector });
        else source.delete(id);
      }
      outbox.wake();
    };
    const unreachable = (): Promise<void> =>
      vi.waitFor(() => expect(outbox.status().state).toBe("unreachable"), { timeout: 60_000 });

    change(400);
    await vi.waitFor(() => expect(states).toContain("syncing"), { timeout: 60_000 });
    await server.kill();
    change(300);
    await unreachable();
    await server.start();
    change(100);
    await server.pause();
    change(100);
    await unreachable();
    await server.resume();
    change(100);
    await vi.waitFor(() => expect(outbox.status()).toMatchObject({ state: "synced", lag: 0 }), { timeout: 120_000 });
    await outbox.stop();

    const address = `${server.url}/api/v2/tenants/default_tenant/databases/default_database/collections`;
    const [collection] = (await (await fetch(address)).json()) as { id: string }[];
    const response = await fetch(`${address}/${collection?.id ?? ""}/get`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ include: ["documents", "metadatas"] }),
    });
    const held = (await response.json()) as { ids: string[]; documents: string[]; metadatas: unknown[] };
    const palace = held.ids.map((id, i) => [id, { text: held.documents[i], metadata: held.metadatas[i] }]);
    const ledger = [...source.drawers].map(([id, { text, metadata }]) => [id, { text, metadata }]);
    expect(ledger.length).toBeGreaterThan(100);
    expect(Object.fromEntries(palace)).toEqual(Object.fromEntries(ledger));
  },
  300_000,
);
