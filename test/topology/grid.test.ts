/**
 * The grid: every scenario in every topology it holds in, with real sshd, real containers and the packed package, the same
 * agent configuration everywhere. Prints scenario × topology at its end. GRID=name,name runs those topologies only.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { type OpenFiles, openFilesMissing, watchOpenFiles } from "../helpers/open-files.ts";
import { ROOT } from "../helpers/palace.ts";
import { mempalaceMissing } from "../helpers/python-mempalace.ts";
import { sshdMissing } from "../helpers/sshd.ts";
import { buildImage } from "./grid/box.ts";
import { openAloneWorld, openComposeWorld } from "./grid/containers.ts";
import { openHostWorld } from "./grid/native.ts";
import { type Run, SCENARIOS } from "./grid/scenarios.ts";
import type { World } from "./grid/world.ts";
import { REQUIREMENTS, TOPOLOGIES, type TopologyName } from "./requirements.ts";

const missing =
  engineMissing(process.env) ??
  sshdMissing ??
  openFilesMissing ??
  (existsSync(join(ROOT, "dist")) ? undefined : "dist is missing: npm run build");
// Only what the palace is like at the end is asked of it.
const mempalace = missing ?? (await mempalaceMissing("3.11.0"));
if (missing === undefined && mempalace !== undefined) console.warn(`public-palace left out: ${mempalace}`);
if (missing !== undefined) console.warn(`the grid left out: ${missing}`);

const wanted = process.env["GRID"]?.split(",") ?? TOPOLOGIES;
const outcomes = new Map<string, "held" | "FAILED">();
const key = (id: string, topology: string): string => `${id} @ ${topology}`;

function open(name: TopologyName): Promise<World> {
  if (name === "container-only-compose") return openComposeWorld();
  if (name === "container-only-alone") return openAloneWorld();
  return openHostWorld(name);
}

describe.skipIf(missing)("the grid", () => {
  beforeAll(buildImage);

  describe.each(TOPOLOGIES.filter((name) => wanted.includes(name)))("%s", (name) => {
    let run: Run | undefined;
    let watch: OpenFiles | undefined;
    beforeAll(async () => {
      run = { world: await open(name), accounts: [] };
      watch = watchOpenFiles(run.world.home, { server: name === "container-only-compose" });
    });
    afterAll(async () => {
      await watch?.[Symbol.asyncDispose]();
      await run?.world[Symbol.asyncDispose]();
    });

    const here = REQUIREMENTS.filter(
      ({ id, topologies }) =>
        SCENARIOS[id] !== undefined && topologies.includes(name) && (id !== "public-palace" || mempalace === undefined),
    );
    test.each(here)("$id: $sentence", async ({ id }) => {
      outcomes.set(key(id, name), "FAILED");
      expect(run).toBeDefined();
      if (run !== undefined) await SCENARIOS[id]?.(run);
      // Also for what others do meanwhile: the ledger and the public palace are never open in two processes.
      await watch?.expectOneAtATime();
      outcomes.set(key(id, name), "held");
    });
  });

  afterAll(() => console.log(table()));
});

function table(): string {
  const width = Math.max(...REQUIREMENTS.map(({ id }) => id.length));
  const rows = REQUIREMENTS.map(({ id, topologies, shownBy }) => {
    const cells = TOPOLOGIES.map((name) => {
      if (!topologies.includes(name)) return "–";
      return shownBy === undefined ? (outcomes.get(key(id, name)) ?? "not run") : "see below";
    });
    return [id.padEnd(width), ...cells.map((cell, at) => cell.padEnd(TOPOLOGIES[at]?.length ?? 0))].join("  ");
  });
  const elsewhere = REQUIREMENTS.flatMap(({ id, shownBy }) => (shownBy === undefined ? [] : [`  ${id}: ${shownBy}`]));
  return [["".padEnd(width), ...TOPOLOGIES].join("  "), ...rows, "", "shown by other tests:", ...elsewhere].join("\n");
}
