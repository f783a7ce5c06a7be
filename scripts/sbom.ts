/**
 * Writes dist/sbom.cdx.json, the package's bill of materials (CycloneDX): every package that an install may bring, at the version and with
 * the checksum of the lockfile. `npm pack` runs it after the build, so each package carries its own. The same lockfile gives the same file.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../src/base/is-record.ts";
import { parseJson } from "../src/base/parse-json.ts";
import type { Env } from "../src/config/env.ts";
import { ROOT, runAsMain, type RunOptions } from "./main.ts";

export const SBOM_FILE = "dist/sbom.cdx.json";

export async function run({ env, print }: Pick<RunOptions, "env" | "print">): Promise<number> {
  const sbom = makeSbom(env);
  writeFileSync(join(ROOT, SBOM_FILE), `${JSON.stringify(sbom)}\n`);
  const { components } = sbom;
  print(`${SBOM_FILE}: ${Array.isArray(components) ? components.length : 0} packages`);
  return Promise.resolve(0);
}

/**
 * Returns the document of `npm sbom`. npm 11 with `--omit dev` also omits packages that a development dependency shares, so npm gets a
 * lockfile that has no development dependencies.
 */
export function makeSbom(env: Env): Record<string, unknown> {
  const folder = mkdtempSync(join(tmpdir(), "palace-sbom-"));
  try {
    const { devDependencies: _dev, ...manifest } = read("package.json");
    // npm names the package after its folder.
    const named = join(folder, String(manifest["name"]));
    mkdirSync(named);
    writeFileSync(join(named, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(named, "package-lock.json"), JSON.stringify(withoutDevelopment(read("package-lock.json"))));
    const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--loglevel=error"];
    // `npm pack` passes its own options on as environment variables.
    const calm = Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_/i.test(name)));
    const said = execFileSync("npm", args, { cwd: named, env: calm, encoding: "utf8", maxBuffer: 2 ** 26 });
    const { serialNumber: _number, ...sbom } = record(parseJson(said));
    const { timestamp: _time, ...metadata } = record(sbom["metadata"]);
    return { ...sbom, metadata };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the lockfile without development packages. An optional peer dependency counts as a development package, because an install leaves
 * it out.
 */
function withoutDevelopment(lock: Record<string, unknown>): Record<string, unknown> {
  const packages = record(lock["packages"]);
  const { devDependencies: _dev, ...root } = record(packages[""]);
  const kept = Object.entries(packages).filter(([path, one]) => path !== "" && record(one)["dev"] !== true);
  return { ...lock, packages: { "": root, ...Object.fromEntries(kept) } };
}

function read(name: string): Record<string, unknown> {
  return record(parseJson(readFileSync(join(ROOT, name), "utf8")));
}

function record(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new Error("npm or a file of npm has another format than expected");
}

if (import.meta.main) await runAsMain(run);
