/** Helpers of tests in which the real MemPalace works on a palace that our broker writes without a Chroma server. */
import { readdirSync } from "node:fs";
import { expect } from "vitest";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { createTestPalace, type TestPalace } from "./palace.ts";
import { mempalaceEnv } from "./python-mempalace.ts";
import { inStep } from "./python-rows.ts";

const ENV = { MEMPALACE_DRIVER: "files" };

/** Makes a palace whose HOME has MemPalace's model, so that both sides make the same vectors. */
export function createScene(): TestPalace {
  const palace = createTestPalace({ env: ENV });
  mempalaceEnv(palace.home);
  return palace;
}

export async function add(shim: StdioMcp, texts: readonly string[], wing = "ours"): Promise<string[]> {
  const added = await Promise.all(
    texts.map((content) => shim.call("mempalace_add_drawer", { wing, room: "notes", content })),
  );
  return added.map((result) => String(result["drawer_id"]));
}

export const stop = (palace: TestPalace): Promise<unknown> => palace.run("palace", ["stop"]);
export async function start(palace: TestPalace): Promise<void> {
  expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
  await inStep(palace);
}

/** Lists the damaged indexes that a palace has set aside. */
export const quarantined = (folder: string): string[] =>
  readdirSync(folder).filter((name) => /\.(drift|corrupt)-/.test(name));
