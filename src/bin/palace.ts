#!/usr/bin/env node
/** `palace VERB`: the command for everything. Loads only the file of the given verb. */
import "../base/node-version.ts";
import { quoted } from "../base/shell-word.ts";
import { VERSION } from "../base/version.ts";
import { PalaceError, wrongUsage } from "../base/errors.ts";
import { furtherHelp, overview } from "../cli/commands/help.ts";
import { findSub, loaderOf } from "../cli/commands/load.ts";
import { findSynonym, type Synonym, SYNONYMS } from "../cli/commands/synonyms.ts";
import { findCommand, OLD_NAMES, WORDS } from "../cli/commands/table.ts";
import { nearestWord } from "../base/nearest.ts";
import { spelled } from "../cli/terminal/spelling.ts";
import { hasFlag, runVerb, type Verb } from "../cli/define-verb.ts";

await runVerb("palace", { usage: "", execute: main }, process.argv.slice(2), process.env);

async function main(argv: readonly string[]): Promise<number> {
  const { common, name, rest } = splitArguments(argv);
  if (common.at(-1) === "--palace") throw wrongUsage("--palace takes a folder", "palace --palace DIR status");
  const flags = common.filter((word) => word.startsWith("-"));
  if (name === "" && flags.includes("--palace") && !hasFlag(flags, "--help", "-h", "--version", "-v"))
    throw wrongUsage("the verb is missing", "palace --palace DIR VERB; the verbs: palace help");
  if (name === "help") return help([...rest, ...flags]);
  if (name !== "version" && (name !== "" || !hasFlag(flags, "--version", "-v")))
    return name === "" ? help(flags) : run(name, [...common, ...rest]);
  const text = `palace-devbox ${VERSION}`;
  process.stdout.write(`${hasFlag(argv, "--json") ? JSON.stringify({ version: VERSION }) : text}\n`);
  return 0;
}

async function run(verb: string, argv: readonly string[]): Promise<number> {
  const load = loaderOf(verb);
  if (load === undefined) {
    const synonym = findSynonym(verb);
    const [meant, ...words] = synonym?.runs ?? [];
    if (meant === undefined) throw unknownVerb(verb, synonym, argv);
    tell(`${verb} runs \`${spelled(`palace ${[meant, ...words].join(" ")}`)}\``, argv);
    return run(meant, [...words, ...argv]);
  }
  tellNewName(verb, argv);
  const sub = findSub(verb, argv);
  const parts = sub === undefined ? withFurtherHelp(verb, (await load()).verb) : (await sub.load()).verb;
  const rest = sub === undefined ? argv : argv.toSpliced(sub.at, 1);
  const call = sub === undefined ? newName(verb) : `palace ${verb} ${argv[sub.at] ?? ""}`;
  return parts.execute(rest, process.env).catch((error: unknown) => {
    throw withNearSub(error, { call, parts, argv: rest });
  });
}

/** Prints help: `palace help VERB [SUB]` is `palace VERB [SUB] --help`. */
async function help(words: readonly string[]): Promise<number> {
  const [verb, ...more] = words.filter((word) => !word.startsWith("-"));
  const isJson = hasFlag(words, "--json");
  if (verb !== undefined) return run(verb, [...more.slice(0, 1), "--help", ...(isJson ? ["--json"] : [])]);
  process.stdout.write(`${isJson ? JSON.stringify({ help: overview() }) : overview()}\n`);
  return 0;
}

function withFurtherHelp(verb: string, parts: Verb): Verb {
  return {
    ...parts,
    execute: async (argv, env) => {
      const code = await parts.execute(argv, env);
      const isOfSub = argv.some((word) => Object.hasOwn(parts.subs ?? {}, word));
      if (code === 0 && hasFlag(argv, "--help", "-h") && !hasFlag(argv, "--json") && !isOfSub)
        process.stdout.write(furtherHelp(verb));
      return code;
    },
  };
}

function tellNewName(verb: string, argv: readonly string[]): void {
  if (!Object.hasOwn(OLD_NAMES, verb)) return;
  const now = OLD_NAMES[verb as keyof typeof OLD_NAMES];
  tell(`${verb} is now \`${spelled(now)}\``, argv);
}

/** Prints a line to stderr, but not for a script that asks for JSON. */
function tell(line: string, argv: readonly string[]): void {
  if (!hasFlag(argv, "--json")) process.stderr.write(`palace: ${line}\n`);
}

/** Returns the error for an unknown verb. Its hint suggests a command, with the typed words if that command takes any. */
function unknownVerb(verb: string, synonym: Synonym | undefined, argv: readonly string[]): PalaceError {
  const meant = synonym?.means ?? nearestVerb(verb);
  const typed = argv.filter((word, at) => !word.startsWith("-") && argv[at - 1] !== "--palace").map(quoted);
  const call = typed.length === 0 ? meant : meant?.replace(/ [A-Z]+( [A-Z]+)?$/, ` ${typed.join(" ")}`);
  return wrongUsage(`there is no verb ${verb}`, call === undefined ? "run `palace help`" : didYouMean(call));
}

function withNearSub(
  error: unknown,
  { call, parts, argv }: { call: string; parts: Verb; argv: readonly string[] },
): unknown {
  const typed = argv.find((word, at) => !word.startsWith("-") && argv[at - 1] !== "--palace");
  if (!(error instanceof PalaceError && error.code === "CONFIG_USAGE") || typed === undefined) return error;
  const { message, hint } = error;
  const subs = subsOf(call, parts);
  const isBlamed = message.split(/[^\w-]+/).includes(typed) && !`${message} ${hint}`.includes("did you mean");
  if (!isBlamed || subs.includes(typed)) return error;
  const meant = nearestCall(typed, subs, (sub) => `${call} ${sub}`);
  if (meant === undefined) return error;
  const other = hint.startsWith("usage: ") ? "" : ` Or: ${hint}`;
  return wrongUsage(message, `${didYouMean(meant)}${other}`, error);
}

function subsOf(call: string, { usage, subs = {} }: Verb): string[] {
  const [verb = "", ...more] = call.split(" ").slice(1);
  const listed = more.length === 0 ? Object.keys(findCommand(verb)?.subs ?? {}) : [];
  const [forms = ""] = usage.split("\n\n");
  const used = forms.matchAll(new RegExp(`^palace .*?\\b${more.at(-1) ?? verb} \\[?([a-z][a-z-]+)`, "gm"));
  return [...listed, ...Object.keys(subs), ...[...used].map(([, word = ""]) => word)];
}

function didYouMean(call: string): string {
  const does = harmOf(call);
  return `did you mean \`${call}\`${does === undefined ? "" : ` (${does})`}?`;
}

function nearestVerb(verb: string): string | undefined {
  return nearestCall(verb, [...WORDS, ...Object.keys(SYNONYMS)], (word) => findSynonym(word)?.means ?? newName(word));
}

/** Finds the call that a mistyped word means. A call that deletes is found only if one letter is wrong and no other call is as near. */
function nearestCall(typed: string, words: readonly string[], means: (word: string) => string): string | undefined {
  const harmless = words.filter((word) => harmOf(means(word)) === undefined);
  const harmful = words.filter((word) => word.length > 3 && !harmless.includes(word));
  const near = nearestWord(typed, harmless, 1) ?? nearestWord(typed, harmful, 1) ?? nearestWord(typed, harmless);
  return near === undefined ? undefined : means(near);
}

/** Returns the description of a call that deletes something; undefined for any other call. */
function harmOf(call: string): string | undefined {
  const [, verb = "", ...words] = call.split(" ");
  const command = findCommand(verb);
  const { harmful = [] } = command ?? {};
  const isHarmful = harmful === true || harmful.some((sub) => `${words.join(" ")} `.startsWith(`${sub} `));
  return isHarmful ? (command?.subs?.[words[0] ?? ""] ?? command?.does) : undefined;
}

function newName(verb: string): string {
  return Object.hasOwn(OLD_NAMES, verb) ? OLD_NAMES[verb as keyof typeof OLD_NAMES] : `palace ${verb}`;
}

/** Splits the arguments at the verb. `common`: options before the verb, which the verb gets, too. */
function splitArguments(argv: readonly string[]): { common: string[]; name: string; rest: string[] } {
  let at = 0;
  while (argv[at]?.startsWith("-") === true) at += argv[at] === "--palace" ? 2 : 1;
  return { common: argv.slice(0, at), name: argv[at] ?? "", rest: argv.slice(at + 1) };
}
