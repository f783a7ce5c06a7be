/** Compares answers about a palace that Python made: the real MemPalace opens it, we open a copy. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { mempalaceBin, mempalaceEnv, type MempalaceVersion, python } from "../helpers/python-mempalace.ts";
import { inStep } from "../helpers/python-rows.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import type { Call } from "./calls.ts";
import { compare } from "./compare.ts";
import { DifferentialServer } from "./server.ts";

const MODEL_MAX_MS = 60_000;

/** Name of a tool without the prefix `mempalace_`, and its arguments. */
export type ToolCall = readonly [tool: string, args: Record<string, unknown>];

/** Fails at the first answer that differs. `script`: Python code that makes the palace in the folder of its first argument. */
export async function expectAnsweredAlike(
  version: MempalaceVersion,
  script: string,
  calls: readonly ToolCall[],
): Promise<void> {
  await using palace = createTestPalace();
  const home = mkdtempSync(join(tmpdir(), "differential-given-"));
  try {
    const folder = join(home, "palace");
    const env = mempalaceEnv(home);
    await python(version, home, script, [folder]);
    mkdirSync(palace.config.paths.palaceDir, { recursive: true });
    if (existsSync(folder)) cpSync(folder, palace.config.paths.palaceDir, { recursive: true });
    await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
    await isReady(palace);
    const theirs = new DifferentialServer([mempalaceBin(version, "mempalace-mcp"), "--palace", folder], env, home);
    const ours = new DifferentialServer([process.execPath, palace.executable("mp-shim")], palace.env, home);
    try {
      await Promise.all([theirs.open(), ours.open()]);
      expect(await findings(version, theirs, ours, calls)).toEqual([]);
    } finally {
      await Promise.all([theirs.close(), ours.close()]);
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function isReady(palace: TestPalace): Promise<void> {
  const client = await palace.client();
  const model = async (): Promise<string> => (await client.call("palace.status", {})).search.modelState;
  await expect.poll(model, { timeout: MODEL_MAX_MS }).toBe("ready");
  client.close();
  await inStep(palace);
}

async function findings(
  version: MempalaceVersion,
  theirs: DifferentialServer,
  ours: DifferentialServer,
  calls: readonly ToolCall[],
): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const [step, [tool, args]] of calls.entries()) {
    const call: Call = { step, tool, args };
    const finding = compare(version, call, await theirs.call(call), await ours.call(call), new Set());
    if (finding !== undefined) found.push({ step, tool, args, theirs: finding.theirs, ours: finding.ours });
  }
  return found;
}
