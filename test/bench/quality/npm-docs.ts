/** Markdown documentation of npm packages, fetched once by `npm pack` at pinned versions (packages.txt). */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { keptFolder } from "./kept.ts";

const LIST = join(import.meta.dirname, "packages.txt");
const NOT_DOCUMENTATION =
  /change|history|licen[cs]e|third-party|sponsors|backers|conduct|contributing|charter|governance|readme_|style-guide|(^|\/)(test|types|benchmarks?|examples?)\//i;
const PACK_TIMEOUT_MS = 120_000;
const run = promisify(execFile);

export type NpmPackage = { name: string; version: string };

export function packages(): NpmPackage[] {
  return readFileSync(LIST, "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [spec = ""] = line.split(" ");
      const at = spec.lastIndexOf("@");
      return { name: spec.slice(0, at), version: spec.slice(at + 1) };
    });
}

/** Returns a folder with one folder per package. Throws if the registry cannot be reached. */
export function npmDocs(): Promise<string> {
  const wanted = packages();
  return keptFolder("npm-docs", JSON.stringify([wanted, NOT_DOCUMENTATION.source]), async (folder) => {
    const queue = [...wanted];
    const worker = async (): Promise<void> => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) await fetchOne(folder, one);
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  });
}

async function fetchOne(folder: string, { name, version }: NpmPackage): Promise<void> {
  const packed = join(folder, `.pack-${name.replaceAll("/", "-")}`);
  mkdirSync(packed);
  const spec = `${name}@${version}`;
  await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", packed, spec], {
    cwd: packed,
    timeout: PACK_TIMEOUT_MS,
  });
  const [archive = ""] = readdirSync(packed);
  await run("tar", ["-xzf", join(packed, archive), "-C", packed, "--strip-components=1"]);
  const pages = readdirSync(packed, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.mdx?$/i.test(path) && !NOT_DOCUMENTATION.test(path) && !path.includes("node_modules/"))
    .sort();
  if (pages.length === 0) throw new Error(`${spec} ships no documentation`);
  for (const page of pages) {
    const target = join(folder, name.replaceAll("/", "-"), page);
    mkdirSync(join(target, ".."), { recursive: true });
    renameSync(join(packed, page), target);
  }
  rmSync(packed, { recursive: true });
}
