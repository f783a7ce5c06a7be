/** Finds the stack's folder: the git clone, or for a package a folder in our state folder, because npm replaces the package's folder. */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Env } from "../config/env.ts";
import { VERSION } from "../base/version.ts";
import { wrongUsage } from "../base/errors.ts";

/** Files of the package that a build needs. The lockfile is in dist/, because npm packs no package-lock.json. */
const COPIED = [
  ...["package.json", "README.md", "CHANGELOG.md", "LICENSE", "Dockerfile.base", "docker-compose.yml", "dist"],
  ...["agents.json", "agents.ts", "compose", "ports.yml", "main.ts", "seed.ts", "setup.ts"].map(
    (name) => `scripts/${name}`,
  ),
  "src/base/errors.ts",
  "src/base/without-password.ts",
];
const LOCK = { from: "dist/package-lock.data.json", to: "package-lock.json" };
/** Content of .dockerignore, which excludes all other files: `.env.devbox` contains keys and must not get into an image. */
const IGNORE = ["*", ...COPIED, LOCK.to].map((name, at) => (at === 0 ? name : `!${name}`)).join("\n");

export function isClone(packageRoot: string): boolean {
  return existsSync(join(packageRoot, "package-lock.json")) && existsSync(join(packageRoot, "src", "bin"));
}

/** Copies an npm package's files to the stack's folder, if missing or `isBuilding`. Errors: CONFIG_USAGE for an incomplete install. */
export function stackFolder(packageRoot: string, stateDir: string, isBuilding: boolean): string {
  if (isClone(packageRoot)) return packageRoot;
  const folder = join(stateDir, "devbox", "stack.d");
  if (!isBuilding && existsSync(join(folder, "docker-compose.yml"))) return folder;
  const missing = [...COPIED, LOCK.from].find((name) => !existsSync(join(packageRoot, name)));
  if (missing !== undefined) throw wrongUsage(`this install has no ${missing}`, "npm install -g palace-devbox");
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  for (const name of COPIED) {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    cpSync(join(packageRoot, name), join(folder, name), { recursive: true });
  }
  cpSync(join(packageRoot, LOCK.from), join(folder, LOCK.to));
  writeFileSync(join(folder, ".dockerignore"), `${IGNORE}\n`);
  for (const name of ["workspace", "git", "model", "ca"]) mkdirSync(join(folder, "volumes", name), { recursive: true });
  writeFileSync(join(folder, "volumes", "ca", "none.crt"), "");
  return folder;
}

/** Returns the revision label for new images: the user's `PALACE_REVISION`, else the folder's commit, else the package's version. */
export async function revisionOf(root: string, env: Env): Promise<string> {
  const { PALACE_REVISION: given = "" } = env;
  if (given !== "") return given;
  if (!isClone(root)) return `v${VERSION}`;
  const describe = ["-C", root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
  return promisify(execFile)("git", describe, { env }).then(
    ({ stdout }) => stdout.trim(),
    () => `v${VERSION}`,
  );
}
