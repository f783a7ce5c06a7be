/** Asks a person to confirm an action that cannot be undone, or to type a passphrase. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { wrongUsage } from "../../base/errors.ts";
import type { Config } from "../../config/config.ts";

const EXIT_INTERRUPTED = 130;
const UNCHANGED = "Nothing was changed.\n";

/** Returns true if the user agrees; otherwise prints that nothing changed. Errors: CONFIG_USAGE without a terminal. */
export async function confirm(question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw wrongUsage(
      "the confirmation needs a terminal; nothing was changed",
      "look with --dry-run, then repeat it with --yes",
    );
  if (await ask(question)) return true;
  process.stderr.write(UNCHANGED);
  return false;
}

/** Returns true if the user answers yes. Ctrl-C and Ctrl-D mean no, and end the process. */
export async function ask(question: string): Promise<boolean> {
  return /^y(es)?$/i.test((await askLine(`${question} [y/N] `, { ifEnded: UNCHANGED })).trim());
}

/** Asks for one line. Ctrl-C and Ctrl-D print `ifEnded` and end the process. `isHidden`: the user types without echo. */
export async function askLine(question: string, { isHidden = false, ifEnded = "" } = {}): Promise<string> {
  const silent = new Writable({ write: (_text, _encoding, done) => done() });
  const terminal = createInterface({
    ...{ input: process.stdin, output: isHidden ? silent : process.stderr },
    ...(isHidden && { terminal: true }),
  });
  if (isHidden) process.stderr.write(question);
  try {
    return await terminal.question(isHidden ? "" : question);
  } catch (error) {
    if ((error as Error).name !== "AbortError") throw error;
    process.stderr.write(`\n${ifEnded}`);
    return process.exit(EXIT_INTERRUPTED);
  } finally {
    if (isHidden) process.stderr.write("\n");
    terminal.close();
  }
}

/** Returns the passphrase in `file` or the settings, else asks (with `twice` twice). Undefined without a terminal. Errors: CONFIG_*. */
export async function readPassphrase(
  { backup }: Config,
  file: string | undefined,
  twice: boolean,
): Promise<string | undefined> {
  const given = backup.passphrase(file);
  if (given !== undefined || !process.stdin.isTTY || !process.stderr.isTTY) return given;
  const typed = await askLine("Passphrase: ", { isHidden: true });
  if (typed === "") throw wrongUsage("the passphrase is empty", "repeat the command");
  if (twice && (await askLine("The same again: ", { isHidden: true })) !== typed)
    throw wrongUsage("the passphrases differ", "repeat the command");
  return typed;
}
