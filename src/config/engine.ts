/** Parses `MEMPALACE_ENGINE`: the builtin engine, or a command whose process serves the palace. */
import { resolve } from "node:path";
import { badValue, type PalaceError } from "../base/errors.ts";
import { type Env, readSetting } from "./env.ts";
import type { Paths } from "./paths.ts";

export type CommandConfig = Readonly<{
  kind: "command";
  /** Value as the user wrote it; the broker stores it for its next start. */
  text: string;
  /** Program and arguments, run without a shell. */
  argv: readonly [string, ...string[]];
  env: Env;
  /** Folder that the engine writes: its `--palace` argument, else the public palace. */
  palaceDir: string;
  requestTimeoutMs: number;
}>;

export type EngineConfig = Readonly<{ kind: "builtin" }> | CommandConfig;

const EXAMPLE = `export MEMPALACE_ENGINE='command:["/path/to/mempalace-mcp","--palace","/path/to/palace"]'`;

/** Parses the variable's text; undefined means builtin. Errors: CONFIG_BAD_VALUE. */
export function parseEngine(text: string | undefined, env: Env, paths: Paths): EngineConfig {
  if (text === undefined || text === "builtin") return { kind: "builtin" };
  if (!text.startsWith("command:")) throw bad(`${text} is neither builtin nor command:ARGV`);
  const [program, ...args] = splitCommand(text.slice("command:".length).trim());
  if (program === undefined || program === "") throw bad("command: has no program");
  // The broker has no fixed working directory, so a relative path is refused.
  if (program.includes("/") && !program.startsWith("/")) throw bad(`${program} is a relative path`);
  const { MEMPALACE_ENGINE: _own, ...rest } = env;
  return {
    kind: "command",
    text,
    argv: [program, ...args],
    // Upstream's program reads the palace from this variable, even if the user named the palace by --palace.
    env: paths.home === paths.palaceDir ? { ...rest, MEMPALACE_PALACE_PATH: paths.home } : rest,
    palaceDir: palaceOf(args) ?? paths.palaceDir,
    requestTimeoutMs: readSetting(env, "engine-timeout-seconds") * 1000,
  };
}

/** Splits a JSON array, or words separated by blanks. No shell parses it, so a word with quotes or blanks needs the array. */
function splitCommand(text: string): string[] {
  if (text.startsWith("[")) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw bad("the text after command: begins with [ but is not a JSON array");
    }
    if (Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes("\0")))
      return value as string[];
    throw bad("the JSON array holds values that are not strings");
  }
  if (/["'\\$`]/.test(text)) throw bad("quotes and shell characters need the form of a JSON array");
  return text.split(/\s+/).filter(Boolean);
}

function palaceOf(args: readonly string[]): string | undefined {
  const at = args.findLastIndex((one) => one === "--palace" || one.startsWith("--palace="));
  const value = args[at] === "--palace" ? args[at + 1] : args[at]?.slice("--palace=".length);
  return value === undefined || value === "" ? undefined : resolve("/", value);
}

function bad(why: string): PalaceError {
  return badValue(`MEMPALACE_ENGINE: ${why}`, EXAMPLE);
}
