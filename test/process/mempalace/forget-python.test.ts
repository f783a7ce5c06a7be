import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { readChroma, readCollections } from "../../../src/mempalace/format/chroma-file.ts";
import { openSegment } from "../../../src/mempalace/format/segment.ts";
import { filesHolding } from "../../helpers/bytes.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { dumpChroma, fillChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, mempalaceMissing, openMempalace, startPythonChroma } from "../../helpers/python-mempalace.ts";
import { inStep } from "../../helpers/python-rows.ts";

const VERSION = "3.11.0";
const SECRET = "zq7xk9unforgettable4w2v";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: forgetting beside Chroma (${missing})`);

const forget = async (palace: TestPalace, match: string): Promise<Record<string, unknown>> => {
  const done = await palace.run("palace", ["forget", "--match", match, "--yes", "--json"]);
  return JSON.parse(done.stdout) as Record<string, unknown>;
};

describe.skipIf(missing !== undefined)("forgetting beside Chroma", () => {
  it("forgetting leaves no byte of the text in a running Chroma server's files, and the server continues", async () => {
    await using palace = createTestPalace();
    const { palaceDir } = palace.config.paths;
    mempalaceEnv(palace.home);
    await using server = await startPythonChroma(VERSION, palace.home, palaceDir);
    await palace.startBroker({ MEMPALACE_CHROMA_URL: server.url });
    {
      await using shim = await palace.shim();
      const add = (content: string): Promise<Record<string, unknown>> =>
        shim.call("mempalace_add_drawer", { wing: "w", room: "r", content });
      await Promise.all(Array.from({ length: 30 }, (_, index) => add(`some note, number ${index}`)));
      await add(`the code is ${SECRET}`);
      const { drawer_id: changed } = await add(`once ${SECRET}`);
      await inStep(palace);
      await shim.call("mempalace_update_drawer", { drawer_id: changed, content: "once a word" });
      await inStep(palace);
    }
    expect(filesHolding(palaceDir, SECRET)).not.toEqual([]);
    expect(await forget(palace, SECRET)).toMatchObject({ drawers: 1, pending: 0, problems: [], notes: [], left: [] });
    expect(filesHolding(palace.home, SECRET)).toEqual([]);
    await using shim = await palace.shim();
    await shim.call("mempalace_add_drawer", { wing: "w", room: "r", content: "filed afterwards" });
    await inStep(palace);
    await server.restart();
    await delay(1_500);
    await inStep(palace);
    expect(filesHolding(palace.home, SECRET)).toEqual([]);
    const collections = readChroma(palaceDir, 5_000, readCollections);
    expect(collections?.length).toBe(1);
    const rows = readChroma(palaceDir, 5_000, (database) =>
      database.prepare("SELECT count(*) FROM embeddings").pluck().get(),
    );
    expect(rows).toBe(32);
  });

  it("if Python filed a text, forgetting removes the text from the palace's rows, queue and index, and Python finds the rest", async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "files" } });
    const { palaceDir } = palace.config.paths;
    mempalaceEnv(palace.home);
    await fillChroma(VERSION, palace.home, palaceDir, { rows: 300, syncThreshold: 100 });
    await palace.startBroker();
    await inStep(palace);
    const [collection] = readChroma(palaceDir, 5_000, readCollections) ?? [];
    const folder = join(palaceDir, collection?.vectorSegment ?? "");
    const segment = openSegment(folder);
    if (segment.state !== "whole") throw new Error(segment.state);
    const vector = Buffer.from(segment.vector("drawer_17")?.buffer ?? new ArrayBuffer(0));
    segment.close();
    const holdsVector = (): boolean => readFileSync(join(folder, "data_level0.bin")).includes(vector);
    expect(holdsVector()).toBe(true);
    const text = "text number 17 of many";
    expect(filesHolding(palace.home, text)).not.toEqual([]);

    expect(await forget(palace, text)).toMatchObject({ drawers: 1, pending: 0, left: [] });
    expect(filesHolding(palace.home, text)).toEqual([]);
    expect(holdsVector()).toBe(false);
    await palace.run("palace", ["stop"]);
    expect(filesHolding(palace.home, text)).toEqual([]);

    const rows = await dumpChroma(VERSION, palace.home, palaceDir);
    expect(rows.size).toBe(298);
    expect(rows.has("drawer_17")).toBe(false);
    await using theirs = await openMempalace(VERSION, { home: palace.home, palace: palaceDir });
    expect(await theirs.call("status")).toMatchObject({ total_drawers: 298 });
    for (const number of [16, 18, 250]) {
      const found = await theirs.call("search", { query: `text number ${number} of many`, limit: 3 });
      expect(JSON.stringify(found)).toContain(`text number ${number} of many`);
    }
  });
});
