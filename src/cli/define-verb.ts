/** Defines a command and runs it: parse, run, print the error, exit. */
import { dirname } from "node:path";
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import type { Client } from "../wire/client/client.ts";
import { hasBridge } from "../wire/client/bridge.ts";
import { type Config, loadConfig } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import { leave } from "../base/exit-process.ts";
import { writeFailure } from "../base/state-files.ts";
import { VERSION } from "../base/version.ts";
import { EXIT_CODES, PalaceError, wrongUsage } from "../base/errors.ts";
import { nearestWord } from "../base/nearest.ts";
import { Output } from "./terminal/output.ts";
import { assertPlace, namedPalace, type Place } from "./terminal/place.ts";
import { spelled } from "./terminal/spelling.ts";

const COMMON = options("palace= json help|h version");

/** Text that --help adds after the option --palace. */
const PLACES: Readonly<Record<Place | "writing", string>> = {
  there: " (an existing palace)",
  anew: " (creates a palace there if there is none)",
  writing: " (a write creates a palace there if there is none)",
  any: "",
};

/** Types of the result of `options`: each option's name, and its definition for `parseArgs`. */
type Words<S extends string> = S extends `${infer One} ${infer More}` ? One | Words<More> : S;
type NameOf<S extends string> = S extends `${infer N}=${string}` ? NameOf<N> : S extends `${infer N}|${string}` ? N : S;
type OptionOf<S extends string> = S extends `${string}=...`
  ? { type: "string"; multiple: true }
  : { type: S extends `${string}=` ? "string" : "boolean" };

/** Reads options in a usage's notation: `dry-run yes|y wing= session=...` (a flag, a flag with a letter, a value, several values). */
export function options<const S extends string>(...lists: S[]): { [One in Words<S> as NameOf<One>]: OptionOf<One> } {
  const read = lists
    .flatMap((list) => list.split(" "))
    .map((word) => {
      const [, name = "", short, value, multiple] = /^([\w-]+)(?:\|(\w))?(=)?(\.\.\.)?$/.exec(word) ?? [];
      const type = value === undefined ? "boolean" : "string";
      return [name, { type, ...(short !== undefined && { short }), ...(multiple !== undefined && { multiple: true }) }];
    });
  return Object.fromEntries(read) as ReturnType<typeof options<S>>;
}

/** Values of parsed options. `T`: the options' definition for `parseArgs`. */
export type Values<T extends ParseArgsOptionsConfig> = ReturnType<typeof parseArgs<{ options: T }>>["values"];

export type Call<T extends ParseArgsOptionsConfig> = {
  values: Values<T> & { palace?: string };
  args: string[];
  config: Config;
  env: Env;
  out: Output;
  /** Returns a client that is closed after the verb; starts the broker if needed. `project`: names of the project that searches prefer. */
  connect: (agent: string, project?: readonly string[]) => Promise<Client>;
};

export type VerbParts<T extends ParseArgsOptionsConfig> = {
  /** Text of --help: the call on the first line, then what it does. */
  usage: string;
  options?: T;
  /** Minimum and maximum number of positional arguments; none by default. */
  args?: readonly [number, number];
  /** Condition for the folder of --palace. By default the folder must have a palace. */
  place?: Place | ((call: Pick<Call<T>, "values" | "args">) => Place | Promise<Place>);
  /** True for a verb of the memory's owner. Such a verb reaches a broker in a container through Docker (docker/owner.ts). */
  forOwner?: true;
  /** True if the command itself reports faults of the settings file. */
  showsSettingsFaults?: boolean;
  /** Runs the verb and returns the exit code. Errors: PalaceError for errors that the user can fix. */
  run: (call: Call<T>) => number | Promise<number>;
};

export type Verb = {
  usage: string;
  /** Options for the completions; none if each subverb has its own options. */
  options?: ParseArgsOptionsConfig;
  subs?: Readonly<Record<string, () => Promise<{ verb: Verb }>>>;
  execute(argv: readonly string[], env: Env): Promise<number>;
};

export function defineVerb<const T extends ParseArgsOptionsConfig = {}>(parts: VerbParts<T>): Verb {
  return {
    usage: parts.usage,
    options: parts.options ?? {},
    execute: async (argv, env) => {
      const { values, positionals } = parse(parts, argv);
      const common = values as Values<typeof COMMON>;
      const out = new Output({ json: common.json === true, palace: common.palace });
      if (common.help === true) {
        const place = typeof parts.place === "function" ? "writing" : (parts.place ?? "there");
        const help = `${parts.usage}\n\nEverywhere: --palace DIR${PLACES[place]}, --json, --help`;
        return out.answer({ help }, help);
      }
      if (common.version === true) return out.answer({ version: VERSION }, `palace-devbox ${VERSION}`);
      const [min, max] = parts.args ?? [0, 0];
      if (positionals.length < min) throw usageError(parts.usage, "an argument is missing");
      if (positionals.length > max) throw usageError(parts.usage, `unexpected argument: ${positionals[max] ?? ""}`);
      // An unset variable becomes an empty argument, which as a folder would mean the working directory.
      if (positionals.includes("")) throw usageError(parts.usage, "an argument is empty");
      if (common.palace === "") throw usageError(parts.usage, "--palace takes a folder");
      const config = loadConfig(env, { palace: common.palace });
      if (parts.showsSettingsFaults !== true) warnOfSettings(config, out);
      if (common.palace !== undefined) {
        const place =
          typeof parts.place === "function" ? await parts.place({ values, args: positionals }) : parts.place;
        assertPlace(config, place ?? "there", (line) => out.notice(`palace: ${line}`));
      }
      const call = { values, args: positionals, config, env, out };
      if (parts.forOwner !== true || !hasBridge(config)) return runConnected(call, parts.run);
      return (await import("./docker/owner.ts")).asOwner(call, (owned) => runConnected(owned, parts.run));
    },
  };
}

async function runConnected<C extends Omit<Call<{}>, "connect" | "values">>(
  call: C,
  run: (call: C & Pick<Call<{}>, "connect">) => number | Promise<number>,
): Promise<number> {
  const clients: Client[] = [];
  const connect = async (agent: string, project: readonly string[] = []): Promise<Client> => {
    const { connectClient } = await import("../wire/client/client.ts");
    const client = await connectClient({ config: call.config, agent, start: "auto", project });
    clients.push(client);
    return client;
  };
  try {
    return await run({ ...call, connect });
  } finally {
    for (const client of clients) client.close();
  }
}

/** Warns of invalid values in the settings file, because the command continues without them. */
function warnOfSettings({ settings }: Config, out: Output): void {
  for (const { message, hint } of settings.faults.filter(({ kind }) => kind !== "unknown")) {
    out.notice(`palace: ${message}; this command continues without it`);
    out.notice(`  ${out.spelled(hint)}`);
  }
}

export async function runVerb(name: string, verb: Verb, argv: readonly string[], env: Env): Promise<never> {
  endIfUnwritable(name);
  try {
    return await leave(await verb.execute(argv, env));
  } catch (error) {
    return leave(reportError(name, error, argv));
  }
}

/** Ends the process if stdout fails; with code 0 if the reader closed it, as in `palace search x | head`. Ignores a failing stderr. */
export function endIfUnwritable(name: string, code = EXIT_CODES.STORE): void {
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    process.stderr.write(`${name}: the output cannot be written: ${error.message}\n`);
    process.exit(code);
  });
}

/** Prints an error as one sentence and one hint, or as JSON, and returns the exit code. */
export function reportError(name: string, thrown: unknown, argv: readonly string[]): number {
  const error = asKnown(thrown);
  const isKnown = error instanceof PalaceError;
  const { code, message, ...known } = isKnown
    ? error
    : {
        code: "INTERNAL",
        message: `${name} failed: ${String(error)}`,
        hint: "this is a bug; please report it with the lines above",
      };
  const hint = spelled(known.hint, namedPalace(argv) || undefined);
  if (!isKnown && error instanceof Error && error.stack !== undefined) process.stderr.write(`${error.stack}\n`);
  if (hasFlag(argv, "--json")) process.stdout.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  else process.stderr.write(`${name}: ${message}\n${hint === "" ? "" : `  ${hint}\n`}`);
  return isKnown ? error.exitCode : 70;
}

/** Turns the error of a full or read-only disk into an error that the user can fix, because it is not our bug. */
function asKnown(thrown: unknown): unknown {
  const { code, path } = (thrown ?? {}) as NodeJS.ErrnoException;
  if (thrown instanceof PalaceError || !["ENOSPC", "EDQUOT", "EROFS"].includes(code ?? "")) return thrown;
  return writeFailure(path === undefined ? "one of our folders" : dirname(path), thrown);
}

export function usageError(usage: string, problem: string): PalaceError {
  const [calls = ""] = usage.split("\n\n");
  // Each call begins on its own line; the further lines of a long call are indented.
  const forms = calls.replaceAll(/\n\s+/g, " ").split("\n");
  const [command = ""] = /^[a-z-]+(?: [a-z][a-z-]+)*(?= |$)/.exec(forms[0] ?? "") ?? [];
  return wrongUsage(problem, `usage: ${forms.join(" | ")}; more: ${command} --help`);
}

function parse<T extends ParseArgsOptionsConfig>(
  parts: VerbParts<T>,
  argv: readonly string[],
): { values: Values<T>; positionals: string[] } {
  const known = { ...COMMON, ...parts.options };
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: known, allowPositionals: true });
    return { values: values as Values<T>, positionals };
  } catch (error) {
    if (!(error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS")))
      throw error;
    const problem = (error.message.split(/\.\s/)[0] ?? "").replace(/\.$/, "");
    const [, flag] = /^Unknown option '--([^'=]+)/.exec(problem) ?? [];
    const near = flag === undefined ? undefined : nearestWord(flag, Object.keys(known));
    throw usageError(parts.usage, near === undefined ? problem : `${problem}; did you mean --${near}?`);
  }
}

/** Ignores arguments after `--`. */
export function hasFlag(argv: readonly string[], ...flags: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => flags.includes(word));
}

/** Reads an option that takes one of `words`; `usual` is the default. Errors: CONFIG_USAGE. */
export function readChoice<T extends string, U>(
  value: string | undefined,
  name: string,
  words: readonly T[],
  usual: U,
): T | U {
  if (value === undefined) return usual;
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  const hint = typeof usual === "string" ? `leave it out for ${usual}` : "leave it out";
  throw wrongUsage(`--${name} takes ${words.join(", ")}, not ${value}`, hint);
}

/** Reads a whole-number option from `min` to `max`. Errors: CONFIG_USAGE. */
export function readCount(value: string | undefined, name: string, fallback: number, min = 0, max = Infinity): number {
  if (value === undefined) return fallback;
  if (/^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
  const what = max < Infinity ? `a number from ${min} to ${max}` : min === 0 ? "a number" : `a number from ${min} on`;
  throw wrongUsage(`--${name} takes ${what}, not ${value}`, `write --${name} ${fallback}`);
}
