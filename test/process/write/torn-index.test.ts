/** Damages each file of a palace's index. The real Chroma fails on most damages and crashes on some (1.5.9: SIGSEGV on half a header). */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { countUnindexed, readChroma, readCollections } from "../../../src/mempalace/format/chroma-file.ts";
import { labelsOf } from "../../../src/mempalace/format/segment.ts";
import { pickleOf } from "../../helpers/hnsw-segment.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { cachedChroma, dumpChroma } from "../../helpers/python-chroma.ts";
import { mempalaceEnv, mempalaceMissing } from "../../helpers/python-mempalace.ts";
import { expectSame, inStep, ledgerRows } from "../../helpers/python-rows.ts";

const MAKER = "3.3.6";
const READER = "3.11.0";
/** Number of drawers. A thousand rows are in the index, the others are only in the queue. */
const DRAWERS = 1_250;
const OLDER_BY = 100;
const TIMEOUT_MS = 600_000;
const MENDED_MAX_MS = 60_000;

const cut = (file: string): void => truncateSync(file, Math.floor(readFileSync(file).length / 2));
const empty = (file: string): void => truncateSync(file, 0);
/** Removes the newest labels. Chroma writes the file of the labels last in a flush, so this simulates a kill before that write. */
const older = (file: string): void =>
  writeFileSync(file, pickleOf([...labelsOf(readFileSync(file))].slice(0, -OLDER_BY)));
// files-kill-python.test.ts tests a file of the labels that is cut off.
const TEARS: [name: string, file: string, tear: (file: string) => void][] = [
  ["vectors cut", "data_level0.bin", cut],
  ["upper levels emptied", "link_lists.bin", empty],
  ["header cut", "header.bin", cut],
  ["labels of the flush before", "index_metadata.pickle", older],
];

const missing = (await mempalaceMissing(MAKER)) ?? (await mempalaceMissing(READER));
if (missing !== undefined) console.log(`left out: torn indexes (${missing})`);

describe.skipIf(missing !== undefined)("the index of a palace", () => {
  it(
    "the index of a palace is rebuilt from the ledger, whichever of its files is damaged",
    { timeout: TIMEOUT_MS },
    async () => {
      await using palace = createTestPalace();
      mempalaceEnv(palace.home);
      const { palaceDir } = palace.config.paths;
      await cachedChroma(MAKER, palaceDir, { rows: DRAWERS + 1, syncThreshold: 1_000 });
      const moved = (): string[] => readdirSync(palaceDir).filter((name) => name.includes(".corrupt-"));
      const lost = (): number | undefined =>
        readChroma(palaceDir, 5_000, (chroma) => {
          const [collection] = readCollections(chroma);
          return collection && countUnindexed(chroma, palaceDir, collection);
        });
      // The palace is adopted whole, so the ledger has every vector.
      await palace.startBroker();
      await inStep(palace);
      await palace.run("palace", ["stop"]);
      const whole = ledgerRows(palace);
      expect(whole.size).toBe(DRAWERS);

      for (const [name, file, tear] of TEARS) {
        const folder = readdirSync(palaceDir).find((entry) => /^[0-9a-f-]{36}$/.test(entry)) ?? "";
        tear(join(palaceDir, folder, file));
        await palace.run("palace", ["start"]);
        await expect.poll(moved, { timeout: MENDED_MAX_MS, message: name }).toHaveLength(1);
        await expect.poll(lost, { timeout: MENDED_MAX_MS, message: name }).toBe(0);
        await inStep(palace);
        await palace.run("palace", ["stop"]);
        // Chroma's dump builds a new index, which the next round damages.
        expectSame(whole, await dumpChroma(READER, palace.home, palaceDir));
        for (const entry of moved()) rmSync(join(palaceDir, entry), { recursive: true });
      }
    },
  );
});
