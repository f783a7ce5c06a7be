/**
 * If a palace's vectors had another dimension than ours, the palace refused each of our records separately before the outbox reported an
 * error.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createLog } from "../../src/base/log.ts";
import type { PalaceRecord } from "../../src/memory/port/public-palace.ts";
import { createFilesDriver } from "../../src/mempalace/driver/files.ts";
import { startOutbox } from "../../src/mempalace/outbox.ts";
import { MemoryOutboxSource, QuickClock } from "../helpers/memory-outbox.ts";

const record = (id: string, width: number): PalaceRecord => ({
  ...{ id, text: `text of ${id}`, metadata: { wing: "w", room: "r" } },
  vector: new Float32Array(width).fill(0.1),
});

it("our drawers wait if the palace's vectors have another dimension, and the log reports this once", async () => {
  const palaceDir = mkdtempSync(join(tmpdir(), "palace-width-"));
  const lines: string[] = [];
  const log = createLog((line) => lines.push(line), "warn");
  const theirs = createFilesDriver({ palaceDir, log });
  await theirs.open();
  await theirs.upsert([record("theirs", 768)]);
  await theirs.close();
  const source = new MemoryOutboxSource();
  for (let n = 0; n < 300; n++) source.write(record(`ours_${n}`, 384));
  const driver = createFilesDriver({ palaceDir, log });
  const outbox = startOutbox({ source, driver, log, clock: new QuickClock(), onState: () => {} });
  try {
    await vi.waitFor(() => expect(outbox.status().state).toBe("waiting"), { timeout: 20_000 });
    expect(outbox.status()).toMatchObject({
      lag: 300,
      detail: expect.stringMatching(/vectors of 768 numbers, our model makes 384/) as string,
    });
    // In this time the outbox makes many more tries, because its simulated clock does not really sleep.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(lines.filter((line) => line.includes("outbox."))).toHaveLength(1);
    expect(await driver.count()).toBe(1);
  } finally {
    await outbox.stop();
    rmSync(palaceDir, { recursive: true });
  }
});
