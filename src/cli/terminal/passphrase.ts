/** Reads a passphrase from a file, from the environment, or from a person without echo; never from the command line. */
import type { Config } from "../../config/config.ts";
import { PalaceError } from "../../base/errors.ts";
import { askLine } from "./confirm.ts";

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
  const typed = await askLine("Passphrase: ", { isHidden: true });
  if (typed === "") throw new PalaceError("CONFIG_USAGE", "the passphrase is empty", "repeat the command");
  if (twice && (await askLine("The same again: ", { isHidden: true })) !== typed)
    throw new PalaceError("CONFIG_USAGE", "the passphrases differ", "repeat the command");
  return typed;
}
