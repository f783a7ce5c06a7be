/** Tests that one process at a time files a session, and files the session again if the agent hands it over meanwhile. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileHook } from "../../../src/agents/hook/file.ts";
import type { Scene } from "../../../src/agents/hook/scene.ts";
import { loadConfig } from "../../../src/config/config.ts";

const SESSION = { from: "claude-code", session: "s1" };

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "file-hook-"));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

/** Files a session that the agent hands over again during the first `handedOver` runs. `failing`: numbers of the runs that fail, from 1. */
async function runs(handedOver: number, failing: readonly number[]): Promise<{ count: number; said: string[] }> {
  const config = loadConfig({ HOME: home });
  const said: string[] = [];
  let count = 0;
  const scene: Scene = {
    ...{ config, env: {}, agent: "claude-code", log: (line) => said.push(line) },
    host: {
      palace: [],
      hasPalace: () => true,
      mineSession: async () => {
        count += 1;
        if (count <= handedOver) await fileHook(scene, SESSION);
        if (failing.includes(count)) throw new Error(`run ${count} failed`);
      },
      saidInOpencode: () => Promise.resolve(undefined),
    },
  };
  await fileHook(scene, SESSION);
  expect(readdirSync(join(config.paths.stateDir, "filing"))).toEqual([]);
  return { count, said };
}

test("if the agent hands over a session while it is filed, the session is filed once more, even if the first run fails", async () => {
  expect(await runs(0, [])).toEqual({ count: 1, said: [] });
  expect(await runs(1, [])).toEqual({ count: 2, said: [] });
  expect(await runs(1, [1])).toEqual({ count: 2, said: [] });
});

test("if the last run fails, its error is reported and the session is not filed again", async () => {
  const { count, said } = await runs(1, [1, 2]);
  expect([count, said]).toEqual([2, [expect.stringContaining("run 2 failed")]]);
});
