/** Reads MemPalace's own config.json, key by key; never writes it. Used by the files beside it. Source: palace.md 3.3. */
import { join } from "node:path";
import { readRegularFile } from "../base/regular-file.ts";

export type UpstreamFile = Readonly<Record<string, unknown>>;

/** `settingsDir` is upstream's home. A file that is missing or no JSON object counts as empty, as it does upstream. */
export function readUpstreamFile(settingsDir: string): UpstreamFile {
  const { file } = look(settingsDir);
  return file ?? {};
}

/** Returns one sentence on why an existing file counts as empty; undefined when it does not. */
export function faultOfUpstreamFile(settingsDir: string): string | undefined {
  const { fault } = look(settingsDir);
  return fault === undefined ? undefined : `config.json is not used: ${fault}`;
}

function look(settingsDir: string): { file?: UpstreamFile; fault?: string } {
  try {
    // An editor of another system may have written a byte order mark, which 3.11 skips.
    const text = readRegularFile(join(settingsDir, "config.json"))
      .toString("utf8")
      .replace(/^\uFEFF/, "");
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { file: value as UpstreamFile };
    return { fault: "it holds no JSON object" };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? {} : { fault: (error as Error).message };
  }
}
