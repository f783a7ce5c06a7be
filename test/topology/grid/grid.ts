/**
 * Runs every scenario in every topology to which it applies. Each test file in this folder runs some of the topologies, so that two
 * files run in parallel.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../../scripts/engine.ts";
import { type OpenFiles, openFilesMissing, watchOpenFiles } from "../../helpers/open-files.ts";
import { ROOT } from "../../helpers/palace.ts";
import { mempalaceMissing } from "../../helpers/python-mempalace.ts";
import { sshdMissing } from "../../helpers/sshd.ts";
import { buildImage } from "./box.ts";
import { openAloneWorld, openComposeWorld } from "./containers.ts";
import { openHostWorld } from "./native.ts";
import { dismiss, type Run, runScenario, SCENARIOS } from "./scenarios.ts";
import type { World } from "./world.ts";
import { REQUIREMENTS, type TopologyName } from "../requirements.ts";

const missing =
  engineMissing(process.env) ??
  sshdMissing ??
  openFilesMissing ??
  (existsSync(join(ROOT, "dist")) ? undefined : "dist is missing: npm run build");
// MemPalace is only needed to read the public palace at the end.
const mempalace = missing ?? (await mempalaceMissing("3.11.0"));
if (missing === undefined && mempalace !== undefined) console.warn(`public-palace left out: ${mempalace}`);
if (missing !== undefined) console.warn(`the grid left out: ${missing}`);

const outcomes = new Map<string, "held" | "FAILED">();
const key = (id: string, topology: string): string => `${id} @ ${topology}`;

function open(name: TopologyName): Promise<World> {
  if (name === "container-only-compose") return openComposeWorld();
  if (name === "container-only-alone") return openAloneWorld();
  return openHostWorld(name);
}

/** Declares the tests of the given topologies. Each topology gets its own `World` (world.ts). */
export function testGrid(topologies: readonly TopologyName[]): void {
  describe.skipIf(missing)("the grid", () => {
    beforeAll(buildImage);
    describe.each(topologies)("%s", testTopology);
    afterAll(() => console.log(table(topologies)));
  });
}

function testTopology(name: TopologyName): void {
  let run: Run | undefined;
  let watch: OpenFiles | undefined;
  beforeAll(async () => {
    run = { world: await open(name), accounts: [], crew: [] };
    watch = watchOpenFiles(run.world.home, { server: name === "container-only-compose" });
  });
  afterAll(async () => {
    await watch?.[Symbol.asyncDispose]();
    if (run !== undefined) await dismiss(run);
    await run?.world[Symbol.asyncDispose]();
  });

  const here = REQUIREMENTS.filter(
    ({ id, topologies }) =>
      SCENARIOS[id] !== undefined && topologies.includes(name) && (id !== "public-palace" || mempalace === undefined),
  );
  test.each(here)("$id: $sentence", async ({ id }) => {
    outcomes.set(key(id, name), "FAILED");
    expect(run).toBeDefined();
    if (run !== undefined) await runScenario(id, run);
    // Fails after any scenario if two processes had the ledger or the public palace open at the same time.
    await watch?.expectOneAtATime();
    outcomes.set(key(id, name), "held");
  });
}

function table(topologies: readonly TopologyName[]): string {
  const width = Math.max(...REQUIREMENTS.map(({ id }) => id.length));
  const rows = REQUIREMENTS.map(({ id, topologies: holdsIn, shownBy }) => {
    const cells = topologies.map((name) => {
      if (!holdsIn.includes(name)) return "–";
      return shownBy === undefined ? (outcomes.get(key(id, name)) ?? "not run") : "see below";
    });
    return [id.padEnd(width), ...cells.map((cell, at) => cell.padEnd(topologies[at]?.length ?? 0))].join("  ");
  });
  const elsewhere = REQUIREMENTS.flatMap(({ id, shownBy }) => (shownBy === undefined ? [] : [`  ${id}: ${shownBy}`]));
  return [["".padEnd(width), ...topologies].join("  "), ...rows, "", "shown by other tests:", ...elsewhere].join("\n");
}
