/** Runs a script as a program. A script exports `run(options)` for tests, and calls `runAsMain(run)` only when it is the program. */
import { fileURLToPath } from "node:url";
import { PalaceError } from "../src/base/errors.ts";
import type { Env } from "../src/config/env.ts";

export type RunOptions = Readonly<{
  argv: readonly string[];
  env: Env;
  cwd: string;
  /** Prints progress to stderr. */
  log: (line: string) => void;
  /** Prints the result to stdout. */
  print: (line: string) => void;
  /** Aborted by Ctrl-C and SIGTERM. The script then ends what it started and returns. */
  signal: AbortSignal;
}>;

/** Resolves to the exit code. `runAsMain` prints a PalaceError as its sentence and hint, and exits with its code. */
export type Script = (options: RunOptions) => Promise<number>;

/** Root folder of the clone, without a trailing slash. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/[/\\]$/, "");

export async function runAsMain(script: Script): Promise<void> {
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort(name));
  const { signal } = stopping;
  const argv = process.argv.slice(2);
  try {
    process.exitCode = await script({
      argv,
      env: process.env,
      cwd: process.cwd(),
      log: (line) => console.error(line),
      print: (line) => console.log(line),
      signal,
    });
  } catch (error) {
    process.exitCode = signal.aborted ? 130 : explain(error, argv.includes("--json"));
  }
  if (signal.aborted) console.error("interrupted");
}

function explain(error: unknown, json: boolean): number {
  if (!(error instanceof PalaceError)) {
    console.error(error);
    return 70;
  }
  const { code, message, hint } = error;
  if (json) console.log(JSON.stringify({ error: { code, message, hint } }));
  else console.error(`error: ${message}\nhint: ${hint}`);
  return error.exitCode;
}
