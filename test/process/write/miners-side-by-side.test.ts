/**
 * Tests the main hazard that this project prevents: two real MemPalaces that no lock reaches mine into the palace that our driver writes.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { otherMountMissing, throughOtherMount } from "../../helpers/other-mount.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import {
  MEMPALACE_VERSIONS,
  mempalaceMissing,
  type MempalaceVersion,
  runMempalace,
} from "../../helpers/python-mempalace.ts";
import { status } from "../../helpers/python-rows.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

const AGENTS = 4;
const MINED_MIN = 500;
const FILES = 12;
/** Number of drawers of 800 characters in each file. */
const DRAWERS_A_FILE = 48;
/** Time limit of one mine, ms, because two MemPalaces may wait for each other for ever. */
const MINE_MAX_MS = 90_000;
/** Maximum time of both mines together, ms: one MemPalace may be refused until the other MemPalace is done. */
const MINES_MAX_MS = 200_000;
/** Maximum number of tries: the test tries again if one MemPalace mined only after the other. */
const ROUNDS_MAX = 3;
const SETTLED_MAX_MS = 180_000;

/** Makes a project whose drawers are all different. */
function makeProject(folder: string, wing: string): string {
  mkdirSync(folder);
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from(
      { length: DRAWERS_A_FILE * 20 },
      (_, line) => `${wing} file ${file} line ${line} is mined.`,
    );
    writeFileSync(join(folder, `note${file}.md`), `# Note ${file} of ${wing}\n\n${lines.join("\n")}\n`);
  }
  writeFileSync(join(folder, "mempalace.yaml"), `wing: ${wing}\nrooms:\n  - name: general\n`);
  return folder;
}

/** Returns the ids of a wing's drawers in the ledger. */
function drawersOf(palace: TestPalace, wing: string): string[] {
  const database = new Database(palace.config.paths.ledgerFile, { readonly: true });
  const ids = database.prepare<[string], string>("SELECT id FROM drawer WHERE wing = ?").pluck().all(wing);
  database.close();
  return ids;
}

function palaceIds(palace: TestPalace): Set<string> {
  const database = new Database(join(palace.config.paths.palaceDir, "chroma.sqlite3"), { readonly: true });
  const ids = database
    .prepare<[], string>(
      `SELECT e.embedding_id FROM embeddings e JOIN segments s ON s.id = e.segment_id
        JOIN collections c ON c.id = s.collection WHERE c.name = 'mempalace_drawers'`,
    )
    .pluck()
    .all();
  database.close();
  return new Set(ids);
}

type Range = { from: number; to: number };

/** Returns the first and the last number that Chroma gave to a wing's rows. Chroma numbers all writes of a palace, whoever makes them. */
function rangeOf(palace: TestPalace, wing: string): Range {
  const database = new Database(join(palace.config.paths.palaceDir, "chroma.sqlite3"), { readonly: true });
  const range = database
    .prepare<[string], Range>(
      `SELECT min(e.seq_id) AS "from", max(e.seq_id) AS "to" FROM embeddings e JOIN embedding_metadata m ON m.id = e.id
        WHERE m.key = 'wing' AND m.string_value = ?`,
    )
    .get(wing);
  database.close();
  return range ?? { from: Number.NaN, to: Number.NaN };
}

function areMixed(one: Range, two: Range): boolean {
  return Math.max(one.from, two.from) < Math.min(one.to, two.to);
}

/** Lets each agent write until `until` is settled, and returns the ids of the acknowledged writes. */
async function storm(agents: readonly StdioMcp[], round: number, until: Promise<unknown>): Promise<string[]> {
  let isOver = false;
  const over = (): void => void (isOver = true);
  until.then(over, over);
  const ids: string[] = [];
  await Promise.all(
    agents.map(async (agent, number) => {
      for (let index = 0; !isOver || index < 50; index++) {
        const content = `storm ${round} ${number} ${index}`;
        const answer = await agent.call("mempalace_add_drawer", { wing: "ours", room: `agent${number}`, content });
        ids.push(String(answer["drawer_id"]));
        await delay(20);
      }
    }),
  );
  return ids;
}

async function installed(): Promise<string | undefined> {
  for (const version of MEMPALACE_VERSIONS) {
    const missing = await mempalaceMissing(version);
    if (missing !== undefined) return missing;
  }
  return otherMountMissing;
}

const missing = await installed();
if (missing !== undefined) console.log(`left out: miners side by side (${missing})`);

describe.skipIf(missing !== undefined)("two MemPalaces that mine beside the files driver", () => {
  it("while two MemPalaces mine and our agents write, all our drawers stay, all their drawers are adopted, and the status reports them", async () => {
    await using palace = createTestPalace();
    const otherHome = mkdtempSync(join(tmpdir(), "palace-other-"));
    try {
      const { palaceDir } = palace.config.paths;
      const env = { MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "tiny-model")) };
      await palace.startBroker(env);
      const agents = await Promise.all(Array.from({ length: AGENTS }, () => palace.shim(env)));
      await agents[0]?.call("mempalace_add_drawer", { wing: "ours", room: "first", content: "before anybody else" });
      await expect.poll(async () => (await status(palace)).driver.lag, { timeout: SETTLED_MAX_MS }).toBe(0);

      // Two Chromas on one palace may refuse each other, if both make a collection or both apply a record. MemPalace then ends with that
      // error and the advice to run it again, which files nothing twice.
      const mine = async (version: MempalaceVersion, home: string, place: string, wing: string, wrapper: string[]) => {
        const args = ["--palace", place, "mine", makeProject(join(otherHome, wing), wing)];
        const deadline = Date.now() + MINES_MAX_MS;
        for (let attempt = 1; ; attempt++) {
          const mined = await runMempalace(version, args, { home, wrapper, timeoutMs: MINE_MAX_MS });
          if (attempt > 1) console.log(`MemPalace ${version}: mined at attempt ${attempt}, exit ${mined.code}`);
          if (mined.code === 0 || Date.now() > deadline) return mined;
        }
      };
      const { path: mount, wrapper } = throughOtherMount(palaceDir, join(otherHome, "mounted"));
      const acknowledged: string[] = [];
      const wings: string[] = [];
      let isSideBySide = false;
      for (let round = 1; !isSideBySide; round++) {
        expect(round, "one mined after the other").toBeLessThanOrEqual(ROUNDS_MAX);
        const [one, two] = [`second_home_${round}`, `second_mount_${round}`] as const;
        wings.push(one, two);
        const mined = Promise.all([
          mine("3.11.0", otherHome, palaceDir, one, []),
          mine("3.3.6", palace.home, mount, two, wrapper),
        ]);
        acknowledged.push(...(await storm(agents, round, mined)));
        for (const { code, output } of await mined) expect(code, output.slice(-2_000)).toBe(0);
        isSideBySide = areMixed(rangeOf(palace, one), rangeOf(palace, two));
      }
      for (const agent of agents) await agent.close();
      const ours = new Set(drawersOf(palace, "ours"));
      expect(
        acknowledged.filter((id) => !ours.has(id)),
        "acknowledged and lost",
      ).toEqual([]);
      // The ledger has at least MINED_MIN drawers in the wing of each MemPalace process that mined.
      for (const wing of wings)
        await expect
          .poll(() => drawersOf(palace, wing).length, { timeout: SETTLED_MAX_MS })
          .toBeGreaterThanOrEqual(MINED_MIN);
      await expect
        .poll(async () => (await status(palace)).strays, { timeout: SETTLED_MAX_MS })
        .toMatchObject({ state: "found", rows: 0 });
      await expect
        .poll(async () => (await status(palace)).driver, { timeout: SETTLED_MAX_MS })
        .toMatchObject({ lag: 0 });
      // A comparison reads the palace before it reports. The next comparison adopts rows that arrived in between.
      const different = (): { onlyInPalace: string[]; onlyInMemory: string[] } => {
        const filed = new Set(["ours", ...wings].flatMap((wing) => drawersOf(palace, wing)));
        const inPalace = palaceIds(palace);
        return {
          onlyInPalace: [...inPalace].filter((id) => !filed.has(id)),
          onlyInMemory: [...filed].filter((id) => !inPalace.has(id)),
        };
      };
      await expect
        .poll(different, { timeout: SETTLED_MAX_MS, interval: 500 })
        .toEqual({ onlyInPalace: [], onlyInMemory: [] });
    } finally {
      rmSync(otherHome, { recursive: true, force: true });
    }
  }, 1_200_000);
});
