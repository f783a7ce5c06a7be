/** Tests that an idle broker opens the search's index, so that the first question need not wait for it. */
import { readdirSync, readlinkSync } from "node:fs";
import { once } from "node:events";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

const WARM_MAX_MS = 30_000;

/** Returns how many connections the process has to the ledger. */
function connections(pid: number, ledgerFile: string): number {
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return targets.filter((target) => target === ledgerFile).length;
}

test.skipIf(process.platform !== "linux")(
  "an idle broker without a model opens its index although no drawer has the model's vector",
  async () => {
    await using palace = createTestPalace();
    const first = await palace.startBroker();
    const client = await palace.client();
    await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: "the spare key hangs there" });
    expect((await client.call("palace.status", {})).search).toMatchObject({ mode: "lexical", pending: 1 });
    client.close();
    first.kill("SIGTERM");
    await once(first, "exit");

    const { pid = 0 } = await palace.startBroker();
    const opened = (): number => connections(pid, palace.config.paths.ledgerFile);
    const again = await palace.client();
    await expect.poll(async () => (await again.call("palace.status", {})).drawers).toBe(1);
    again.close();
    const before = opened();
    expect(before).toBeGreaterThan(0);
    await expect.poll(opened, { timeout: WARM_MAX_MS, interval: 100 }).toBeGreaterThan(before);
  },
);
