/**
 * Locates our executables for one that starts another: with this Node, by path, as TypeScript in a checkout and as JavaScript in
 * an install. Imported by the verbs that start processes.
 */
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

type Name = "mp-shim" | "mempalace-broker" | "mempalace-docs" | "palace";

/** Returns the command line of an executable, before its arguments. */
export function executable(name: Name): [command: string, file: string] {
  const isBuilt = extname(import.meta.filename) === ".js";
  const file = new URL(`../bin/${isBuilt ? builtFile(name) : `${name}.ts`}`, import.meta.url);
  return [process.execPath, fileURLToPath(file)];
}

/** The file of dist/bin that an executable is; the shim is bundled as CommonJS (scripts/build.ts). */
export function builtFile(name: string): string {
  return `${name}.${name === "mp-shim" ? "cjs" : "js"}`;
}

/** The folder of the package: a clone's root, or npm's folder for it. */
export const PACKAGE_ROOT = join(import.meta.dirname, "../..");
