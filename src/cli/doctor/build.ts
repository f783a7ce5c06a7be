/**
 * Checks for `palace doctor` whether the broker runs the build that is here now. Its version is shown beside its
 * protocol. Imported by checks.ts.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "../../wire/bridge/settings.ts";
import { isBridged } from "../../wire/client/bridge.ts";
import type { Config } from "../../config/config.ts";
import { VERSION } from "../../base/version.ts";
import type { Health } from "../../protocol/spec.ts";
import { PACKAGE_ROOT } from "../executable.ts";
import { formatDuration } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";

export function checkBuild(config: Config, { version, startedAtMs }: Health, root = PACKAGE_ROOT): Check {
  if (isBridged(config)) {
    const bridge = readSettings(config.paths);
    const where = bridge?.kind === "docker" ? `the image of container ${bridge.host}` : (bridge?.target ?? "the host");
    return compared(`${VERSION} here, ${version} in ${where}`, version);
  }
  if (config.endpoint !== undefined) return compared(`${VERSION} here, ${version} there`, version);
  const { what, madeAtMs } = whatRuns(root);
  const said = `${VERSION} of ${what}, broker ${version}`;
  if (madeAtMs !== undefined && startedAtMs < madeAtMs)
    return warn(
      "build",
      `${said}, which runs since before this was put here (${formatDuration(Date.now() - madeAtMs)} ago)`,
      "palace restart",
    );
  return compared(said, version);
}

function compared(said: string, version: string): Check {
  return version === VERSION ? ok("build", said) : warn("build", said, "install the same version on both sides");
}

/**
 * Tells what runs here. In a clone the launchers run the sources if these are newer than the build; sources need no
 * restart.
 */
function whatRuns(root: string): { what: string; madeAtMs?: number } {
  const builtAtMs = statSync(join(root, "dist/bin"), { throwIfNoEntry: false })?.mtimeMs;
  if (!existsSync(join(root, "scripts/palace"))) {
    const madeAtMs = statSync(join(root, "package.json"), { throwIfNoEntry: false })?.ctimeMs;
    return { what: "the installed package", ...(madeAtMs !== undefined && { madeAtMs }) };
  }
  if (builtAtMs === undefined) return { what: "this clone's sources (not built)" };
  const inputs = ["package-lock.json", "tsconfig.json", "tsconfig.build.json"].map((name) => join(root, name));
  if (newest([...inputs, ...within(join(root, "src"))]) > builtAtMs)
    return { what: "this clone's sources (its build is older: ./scripts/up)" };
  // The folder's date is when the build began; its files' date is when the build ended.
  const madeAtMs = statSync(join(root, "dist/bin/palace.js"), { throwIfNoEntry: false })?.mtimeMs ?? builtAtMs;
  return { what: "this clone's build", madeAtMs };
}

function within(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return [folder, ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))];
}

function newest(paths: readonly string[]): number {
  return Math.max(0, ...paths.map((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0));
}
