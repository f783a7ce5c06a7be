/**
 * Emits dist/ from src/ with tsc and makes the executables executable. Run by `npm run build`, by prepack, by up.ts and
 * test.ts, and in the image; uses nothing but Node and the compiler, so that it works before anything else does.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunOptions } from "./main.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const SHEBANG = "#!/usr/bin/env node";

/** Shape: 0, or the compiler's exit code after its messages were logged. dist/ is replaced only by a build that passed. */
export function run({ env, log }: Pick<RunOptions, "env" | "log">): Promise<number> {
  const fresh = join(root, `dist.new-${process.pid}`);
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  try {
    const built = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json"), "--outDir", fresh], {
      cwd: root,
      env,
      encoding: "utf8",
    });
    if (built.status !== 0) {
      log(`${built.stdout}${built.stderr}`.trim());
      return Promise.resolve(built.status ?? 1);
    }
    makeExecutable(fresh);
    const dist = join(root, "dist");
    rmSync(dist, { recursive: true, force: true });
    renameSync(fresh, dist);
    return Promise.resolve(0);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** npm makes the files of `bin` executable only when it installs them; the clone and the image need it too. */
function makeExecutable(fresh: string): void {
  const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { bin: Record<string, string> };
  for (const name of new Set(Object.values(bin))) {
    const file = join(fresh, relative("dist", name));
    if (!readFileSync(file, "utf8").startsWith(`${SHEBANG}\n`))
      throw new Error(`${name} does not begin with ${SHEBANG}`);
    chmodSync(file, 0o755);
  }
}

if (import.meta.main) process.exitCode = await run({ env: process.env, log: (line) => console.error(line) });
