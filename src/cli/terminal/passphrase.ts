/** Reads a passphrase from a file, from the environment, or from a person without echo; never from the command line. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";

const EXIT_INTERRUPTED = 130;

/**
 * Reads a passphrase; returns undefined if none is given and nobody can be asked. `twice` asks again, for a new
 * passphrase. Errors: CONFIG_BAD_VALUE, CONFIG_USAGE.
 */
export async function readPassphrase(
  { backup }: Config,
  file: string | undefined,
  twice: boolean,
): Promise<string | undefined> {
  const given = backup.passphrase(file);
  if (given !== undefined || !process.stdin.isTTY || !process.stderr.isTTY) return given;
  const typed = await askHidden("Passphrase: ");
  if (typed === "") throw new PalaceError("CONFIG_USAGE", "the passphrase is empty", "repeat the command");
  if (twice && (await askHidden("The same again: ")) !== typed)
    throw new PalaceError("CONFIG_USAGE", "the passphrases differ", "repeat the command");
  return typed;
}

async function askHidden(question: string): Promise<string> {
  const silent = new Writable({ write: (_text, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(question);
  try {
    return await terminal.question("");
  } catch (error) {
    if ((error as Error).name !== "AbortError") throw error;
    process.exit(EXIT_INTERRUPTED);
  } finally {
    process.stderr.write("\n");
    terminal.close();
  }
}
