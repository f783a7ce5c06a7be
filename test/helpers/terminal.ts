/** Runs commands of a palace in a terminal, which the program `script` makes. */
import { execFileSync, spawnSync } from "node:child_process";
import type { Env } from "../../src/config/env.ts";
import type { TestPalace } from "./palace.ts";

export const hasTerminal = ((): boolean => {
  try {
    return execFileSync("script", ["-qec", "true", "/dev/null"]).length >= 0;
  } catch {
    return false;
  }
})();

export type TypeOptions = {
  /** Executable to run. Default: `palace`. */
  executable?: "palace" | "mempalace";
  env?: Env;
  keys?: string;
  columns?: number;
};

/** Runs one command to its end. `screen`: everything that the command wrote to the terminal. */
export function typeIn(
  palace: TestPalace,
  command: string,
  { executable = "palace", env = {}, keys = "", columns = 80 }: TypeOptions = {},
): { code: number | null; screen: string } {
  const line = `stty cols ${columns}; '${process.execPath}' '${palace.executable(executable)}' ${command}`;
  const { status, stdout } = spawnSync("script", ["-qec", line, "/dev/null"], {
    env: { ...palace.env, TERM: "xterm", ...env },
    encoding: "utf8",
    input: keys,
    timeout: 60_000,
  });
  return { code: status, screen: stdout.replaceAll("\r", "") };
}
