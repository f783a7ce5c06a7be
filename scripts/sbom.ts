/** Writes dist/sbom.cdx.json, the package's bill of materials (CycloneDX). The same lockfile gives the same file. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord, parseJson } from "../src/base/parse-json.ts";
import type { Env } from "../src/config/env.ts";
import { ROOT, runAsMain, type RunOptions } from "./main.ts";

export const SBOM_FILE = "dist/sbom.cdx.json";

/** Development dependencies that the build copies into our files: the tracer and the page's framework. */
const CONTAINED = /^(?:@opentelemetry\/.*|preact)$/;

export async function run({ env, print }: Pick<RunOptions, "env" | "print">): Promise<number> {
  const sbom = makeSbom(env);
  writeFileSync(join(ROOT, SBOM_FILE), `${JSON.stringify(sbom)}\n`);
  const { components } = sbom;
  print(`${SBOM_FILE}: ${Array.isArray(components) ? components.length : 0} packages`);
  return Promise.resolve(0);
}

/**
 * Returns the document of `npm sbom` for a lockfile without development dependencies, because `--omit dev` of npm 11 also omits packages
 * that a development dependency shares.
 */
export function makeSbom(env: Env): Record<string, unknown> {
  const folder = mkdtempSync(join(tmpdir(), "palace-sbom-"));
  try {
    const manifest = withoutDevelopment(read("package.json"));
    // `npm sbom` takes the package's name from the folder's name.
    const named = join(folder, String(manifest["name"]));
    mkdirSync(named);
    writeFileSync(join(named, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(named, "package-lock.json"), JSON.stringify(lockWithoutDevelopment(read("package-lock.json"))));
    const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only", "--loglevel=error"];
    // `npm pack` passes its own options on as environment variables, which this npm must not get.
    const calm = Object.fromEntries(Object.entries(env).filter(([name]) => !/^npm_/i.test(name)));
    const said = execFileSync("npm", args, { cwd: named, env: calm, encoding: "utf8", maxBuffer: 2 ** 26 });
    const { serialNumber: _number, ...sbom } = record(parseJson(said));
    const { timestamp: _time, ...metadata } = record(sbom["metadata"]);
    return { ...sbom, metadata };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the manifest without development dependencies, except those that our files contain. */
function withoutDevelopment({ devDependencies, ...manifest }: Record<string, unknown>): Record<string, unknown> {
  const contained = Object.entries(record(devDependencies)).filter(([name]) => CONTAINED.test(name));
  return { ...manifest, dependencies: { ...record(manifest["dependencies"]), ...Object.fromEntries(contained) } };
}

/** Returns the lockfile without development packages and optional peer dependencies, which an install of our package leaves out. */
function lockWithoutDevelopment(lock: Record<string, unknown>): Record<string, unknown> {
  const packages = record(lock["packages"]);
  const root = withoutDevelopment(record(packages[""]));
  const kept = new Set(Object.keys(packages).filter((path) => record(packages[path])["dev"] !== true));
  const keepAll = (from: Record<string, unknown>): void => {
    for (const name of Object.keys(record(from["dependencies"] ?? {}))) {
      const path = `node_modules/${name}`;
      if (kept.has(path)) continue;
      kept.add(path);
      keepAll(record(packages[path]));
    }
  };
  keepAll(root);
  const entries = Object.entries(packages).filter(([path]) => path !== "" && kept.has(path));
  return { ...lock, packages: { "": root, ...Object.fromEntries(entries) } };
}

function read(name: string): Record<string, unknown> {
  return record(parseJson(readFileSync(join(ROOT, name), "utf8")));
}

function record(value: unknown): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new Error("npm or a file of npm has another format than expected");
}

if (import.meta.main) await runAsMain(run);
