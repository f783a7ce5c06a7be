/** Finds our executables for a process that starts another one: TypeScript in a checkout, JavaScript in an installed package. */
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

type Name = "mp-shim" | "mempalace-broker" | "mempalace-docs" | "palace";

export function executable(name: Name): [command: string, file: string] {
  const isBuilt = extname(import.meta.filename) === ".js";
  const file = new URL(`../bin/${isBuilt ? builtFile(name) : `${name}.ts`}`, import.meta.url);
  return [process.execPath, fileURLToPath(file)];
}

/** Returns the executable's file in dist/bin; the shim is bundled as CommonJS (scripts/build.ts). */
export function builtFile(name: string): string {
  return `${name}.${name === "mp-shim" ? "cjs" : "js"}`;
}

/** Folder of the package: a clone's root, or the folder that npm made for the package. */
export const PACKAGE_ROOT = join(import.meta.dirname, "../..");
