/** Folders and palaces in the CI cache that each machine makes once. A run opens a copy, so the cached palace never changes. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Env } from "../../../src/config/env.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { CI_CACHE } from "../../helpers/python-mempalace.ts";
import { allQuiet } from "../settled.ts";

const KEPT = join(CI_CACHE, "quality");

/** Returns a cached folder, named after `name` and a hash of `content`. `make` fills a new one. */
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
    // Another run may have made the folder meanwhile.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Returns the home of the palace that `fill` makes, with all vectors, and with all drawers in MemPalace's own files. */
export function keptPalace(
  { name, content, model }: { name: string; content: string; model: string | undefined },
  fill: (palace: TestPalace) => Promise<void>,
): Promise<string> {
  const env: Env = model === undefined ? {} : { MEMPALACE_MODEL_DIR: model };
  return keptFolder(`${name}-${model === undefined ? "words" : "embedded"}`, content, async (folder) => {
    const home = mkdtempSync(join(tmpdir(), "palace-"));
    try {
      {
        await using palace = createTestPalace({ home, env });
        await palace.startBroker();
        await fill(palace);
        if (model !== undefined) {
          const client = await palace.client();
          await allQuiet(client);
          client.close();
        }
      }
      cpSync(home, folder, { recursive: true, filter: isKept });
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
}

/** Returns false for sockets, which cannot be copied. */
function isKept(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true || stats?.isDirectory() === true;
}

export function openCopy(kept: string, env: Env): TestPalace {
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
