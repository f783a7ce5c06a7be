/**
 * A palace that Chroma made and that holds no drawers yet, with an empty collection and without one: the real MemPalace of both
 * versions and we answer the same about it.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { python } from "../helpers/python-chroma.ts";
import { createTestPalace } from "../helpers/palace.ts";
import {
  MEMPALACE_VERSIONS,
  mempalaceBin,
  mempalaceEnv,
  mempalaceMissing,
  type MempalaceVersion,
} from "../helpers/python-mempalace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import type { Call } from "./calls.ts";
import { compare } from "./compare.ts";
import { DifferentialServer } from "./server.ts";

const MODEL_MAX_MS = 60_000;
const MAKE = {
  "an empty collection": `import chromadb, sys
chromadb.PersistentClient(sys.argv[1]).create_collection("mempalace_drawers", metadata={"hnsw:space": "cosine"})`,
  "no collection": "import chromadb, sys; chromadb.PersistentClient(sys.argv[1])",
};

/** `status` comes first: with it theirs makes the collection where there is none. */
const CALLS: readonly (readonly [string, Record<string, unknown>])[] = [
  ["status", {}],
  ["list_wings", {}],
  ["list_rooms", {}],
  ["get_taxonomy", {}],
  ["list_drawers", {}],
  ["diary_read", { agent_name: "me" }],
  ["diary_read", { agent_name: " " }],
  ["get_drawer", { drawer_id: "x" }],
  ["get_drawers", { drawer_ids: ["x"] }],
  ["get_drawers", { drawer_ids: "x" }],
  ["traverse", { start_room: "r" }],
  ["find_tunnels", {}],
  ["follow_tunnels", { wing: "w", room: "r" }],
  ["graph_stats", {}],
  ["search", { query: "some words" }],
  ["check_duplicate", { content: "some words" }],
  ["delete_drawer", { drawer_id: "x" }],
  ["update_drawer", { drawer_id: "x", content: "y" }],
  ["reconnect", {}],
];

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  const title = `MemPalace ${version}${missing === undefined ? "" : ` (left out: ${missing})`}`;
  describe.skipIf(missing !== undefined)(title, () => {
    for (const [kind, script] of Object.entries(MAKE))
      test(`a palace with ${kind} is answered alike`, { timeout: 180_000 }, () => answersAlike(version, script));
  });
}

async function answersAlike(version: MempalaceVersion, script: string): Promise<void> {
  await using palace = createTestPalace();
  const home = mkdtempSync(join(tmpdir(), "differential-empty-"));
  try {
    const folder = join(home, "palace");
    const env = mempalaceEnv(home);
    await python(version, home, script, [folder]);
    mkdirSync(palace.config.paths.palaceDir, { recursive: true });
    cpSync(folder, palace.config.paths.palaceDir, { recursive: true });
    await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
    const client = await palace.client();
    const model = async (): Promise<string> => (await client.call("palace.status", {})).search.modelState;
    await expect.poll(model, { timeout: MODEL_MAX_MS }).toBe("ready");
    client.close();
    const theirs = new DifferentialServer([mempalaceBin(version, "mempalace-mcp"), "--palace", folder], env, home);
    const ours = new DifferentialServer([process.execPath, palace.executable("mp-shim")], palace.env, home);
    try {
      await Promise.all([theirs.open(), ours.open()]);
      expect(await findings(version, theirs, ours)).toEqual([]);
    } finally {
      await Promise.all([theirs.close(), ours.close()]);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function findings(
  version: MempalaceVersion,
  theirs: DifferentialServer,
  ours: DifferentialServer,
): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const [step, [tool, args]] of CALLS.entries()) {
    // 3.3.6 has no such tool.
    if (version === "3.3.6" && tool === "get_drawers") continue;
    const call: Call = { step, tool, args };
    const finding = compare(version, call, await theirs.call(call), await ours.call(call), new Set());
    if (finding !== undefined) found.push({ tool, theirs: finding.theirs, ours: finding.ours });
  }
  return found;
}
