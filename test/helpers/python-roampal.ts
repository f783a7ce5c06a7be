/**
 * The real Roampal, from the package index, kept in the CI cache. Its rules need none of its models: the package alone is laid
 * beside the Python that the real MemPalace has, which brings Chroma.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { CI_CACHE, mempalaceBin, mempalaceMissing } from "./python-mempalace.ts";

/** The specification's, and the newest. */
export const ROAMPAL_VERSIONS = ["0.3.6.1", "0.6.0"] as const;
export type RoampalVersion = (typeof ROAMPAL_VERSIONS)[number];

const INSTALL_TIMEOUT_MS = 300_000;
const PYTHON = "3.11.0";
const run = promisify(execFile);

const folderOf = (version: RoampalVersion): string => join(CI_CACHE, `roampal-${version}`);

/** Installs it if need be. Why it cannot be used here; undefined if it can. Errors: the same reason, where CI=true. */
export async function roampalMissing(version: RoampalVersion): Promise<string | undefined> {
  const missing = await mempalaceMissing(PYTHON);
  if (missing !== undefined) return missing;
  const folder = folderOf(version);
  const script = `
    [ -e "$1/done" ] && exit 0
    rm -rf "$1"
    "$3" install --quiet --disable-pip-version-check --no-compile --no-deps --target "$1" "roampal==$2" && touch "$1/done"`;
  try {
    mkdirSync(CI_CACHE, { recursive: true });
    const args = [`${folder}.lock`, "sh", "-c", script, "sh", folder, version, mempalaceBin(PYTHON, "pip")];
    await run("flock", args, { timeout: INSTALL_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const reason = `roampal ${version} cannot be installed with pip: ${(error as Error).message.split("\n")[0]}`;
    if (process.env["CI"] === "true") throw new Error(reason, { cause: error });
    return reason;
  }
}

/** Runs a script of ours that imports it: JSON in, JSON out. Errors: whatever the script says on stderr. */
export async function askRoampal(version: RoampalVersion, script: string, asked: unknown): Promise<unknown> {
  // What it makes of a set has the same order in every run.
  const python = { PYTHONPATH: folderOf(version), PYTHONDONTWRITEBYTECODE: "1", PYTHONHASHSEED: "1" };
  const env = { PATH: process.env["PATH"] ?? "", ...python };
  const child = spawn(mempalaceBin(PYTHON, "python"), [script], { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(JSON.stringify(asked));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`roampal ${version}: ${stderr}`);
  return JSON.parse(stdout);
}
