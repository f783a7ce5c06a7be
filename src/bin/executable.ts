/**
 * Locates our executables for one that starts another: with this Node, by path, with the extension of this very file
 * (TypeScript in a checkout, JavaScript in an install). Imported by the verbs that start processes.
 */
import { extname, join } from "node:path";

type Name = "mp-shim" | "mempalace-broker" | "mempalace-docs" | "palace";

/** Returns the command line of an executable, before its arguments. */
export function executable(name: Name): [command: string, file: string] {
  return [process.execPath, join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)];
}

/** The folder of the package: a clone's root, or npm's folder for it. */
export const PACKAGE_ROOT = join(import.meta.dirname, "../..");
