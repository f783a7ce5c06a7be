/**
 * Folders and palaces that the quality bench makes once on a machine, below the CI cache. A palace is copied before it
 * is opened, so that no run, and no other checkout's search, changes the kept one.
 */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Env } from "../../../src/config/env.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { CI_CACHE } from "../../helpers/python-mempalace.ts";
import { allEmbedded } from "../settled.ts";

const KEPT = join(CI_CACHE, "quality");

/** Returns the folder for that name and content; `make` fills it if it is not there. */
export async function keptFolder(
  name: string,
  content: string,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const folder = join(KEPT, `${name}-${hash}`);
  if (existsSync(folder)) return folder;
  mkdirSync(KEPT, { recursive: true });
  const part = mkdtempSync(join(KEPT, "part-"));
  try {
    await make(part);
    renameSync(part, folder);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    // Another run may have been faster.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/**
 * Opens a copy of the palace that `fill` makes. `fill` runs once, with no setting of `env` but its model; then the kept
 * palace has every vector.
 */
export async function keptPalace(
  { name, content, env }: { name: string; content: string; env: Env },
  fill: (palace: TestPalace) => Promise<void>,
): Promise<TestPalace> {
  const { MEMPALACE_MODEL_DIR: model } = env;
  const fillEnv: Env = model === undefined ? {} : { MEMPALACE_MODEL_DIR: model };
  const kept = await keptFolder(name, content, async (folder) => {
    const home = mkdtempSync(join(tmpdir(), "palace-"));
    try {
      await using palace = createTestPalace({ home, env: fillEnv });
      await palace.startBroker();
      await fill(palace);
      if (model !== undefined) {
        const client = await palace.client();
        await allEmbedded(client);
        client.close();
      }
      await palace[Symbol.asyncDispose]();
      cpSync(home, folder, { recursive: true, filter: (path) => !path.endsWith(".sock") });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
  const home = mkdtempSync(join(tmpdir(), "palace-"));
  cpSync(kept, home, { recursive: true });
  const palace = createTestPalace({ home, env });
  return {
    ...palace,
    async [Symbol.asyncDispose]() {
      await palace[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
