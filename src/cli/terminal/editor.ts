/** Opens a text in the editor that $VISUAL or $EDITOR names. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Env } from "../../config/env.ts";
import { wrongUsage } from "../../base/errors.ts";
import type { Output } from "./output.ts";
import { decodeUtf8 } from "./utf8.ts";

const EDITOR_DEFAULT = "vi";
const NOT_FOUND = 127;

/**
 * Opens the editor on `text` and passes the result to `use`. Keeps the file if anything fails after the text was changed. Errors:
 * CONFIG_USAGE, and the errors of `use`.
 */
export async function editText<T>(
  text: string,
  env: Env,
  out: Output,
  use: (edited: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "palace-edit-"));
  const file = join(folder, "memory.md");
  writeFileSync(file, text, { mode: 0o600 });
  let isKept = false;
  try {
    await runEditor(env["VISUAL"] || env["EDITOR"] || EDITOR_DEFAULT, file);
    return await use(readBack(file, text));
  } catch (error) {
    isKept = isChanged(file, text);
    if (isKept) out.notice(`your text is kept in ${file}`);
    throw error;
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns true if the text changed; a file that is not UTF-8 counts as changed. */
function isChanged(file: string, before: string): boolean {
  try {
    return readBack(file, before) !== before;
  } catch {
    return existsSync(file);
  }
}

/** Reads the edited file, without the line end that editors add to the last line. Errors: CONFIG_USAGE. */
function readBack(file: string, before: string): string {
  if (!existsSync(file))
    throw wrongUsage(
      "the editor removed the file; nothing was changed",
      "save the text under the name it was opened with, or name another editor: EDITOR=nano palace …",
    );
  const edited = decodeUtf8(readFileSync(file));
  return before.endsWith("\n") ? edited : edited.replace(/\r?\n$/, "");
}

/** Runs the editor through a shell, as git does, because $EDITOR may have options. Errors: CONFIG_USAGE. */
async function runEditor(editor: string, file: string): Promise<void> {
  // Ctrl-C belongs to the editor while it runs.
  const ignore = (): void => {};
  process.on("SIGINT", ignore);
  try {
    const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    if (code === 0) return;
    const how = code === NOT_FOUND ? "was not found" : `ended with ${signal ?? `code ${String(code)}`}`;
    throw wrongUsage(`the editor ${editor} ${how}; nothing was changed`, "name another one: EDITOR=nano palace …");
  } finally {
    process.off("SIGINT", ignore);
  }
}
