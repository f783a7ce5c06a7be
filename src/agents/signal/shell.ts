/** Splits a shell's command line into its commands, as far as its exit code requires. Linear in its length. Pure. Used by `command.ts`. */

export type Command = Readonly<{
  /** Words that do not change what the program does: assignments, `timeout 60`, `npx`, `uv run`. */
  prefix: string;
  /** The program and its arguments, with one space between them. A space in a quoted word is an underscore. */
  call: string;
  /** Last part of the program's path; empty for an assignment. */
  name: string;
  /** Each with a space before it. */
  args: string;
}>;
/** `after`: the operator after it, `;` at the end of a line. `mayNotStart`: a redirection needs a file or a folder that may be missing. */
export type Step = Command & Readonly<{ after: string; mayNotStart: boolean }>;

/** Longest line that is read, characters: a longer one is a program, not a command. */
const LINE_MAX = 4_000;
/** Whatever it does not match is too complex: substitutions, groups, texts of several lines (`<<`), quotes that do not end. */
const TOKEN = new RegExp(
  [
    String.raw`(?:[ \t\r]|\\\n)+|#[^\n]*`,
    String.raw`(?<redirect>(?:\d+|&)?(?:>>?[&|]?|<[&>]?)(?![<>(]))`,
    String.raw`(?<operator>&&|\|\||\|&|[|&;\n])`,
    String.raw`(?<word>(?:[^\s'"\\\`$|&;<>()]|'[^']*'|"(?:[^"\\\`$]|\\[^]|\$(?!\())*"|\\[^]|\$(?!['"(]))+)`,
  ].join("|"),
  "gy",
);
const QUOTED = /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g;
/** Redirections that never fail: a file to write without a folder, or in a folder that is always there. */
const SAFE = /^[\d&]*(?:>[>&|]?(?:[^/]*$|\/tmp\/)|[<>]+[&|]?\/dev\/)/;

/** Matches words that begin so; those of `withWord` take another one. No text matches in two ways, so that a long one takes no time. */
export function options(withWord = "(?!)", start = "[-+]"): string {
  return String.raw`(?: (?:${withWord}) \S+| (?!(?:${withWord}) )${start}\S+)*`;
}

const PREFIX = new RegExp(
  `^(?:${[
    String.raw`[A-Za-z_]\w*=\S*`,
    String.raw`(?:\S*/)?(?:time${options()}|env${options("-[uC]")}|nice${options("-n")}|(?:npx|bunx|pnpx)${options("-p|--package")})`,
    String.raw`(?:\S*/)?timeout${options("-[ks]|--kill-after|--signal")} \S+`,
    `(?:npm (?:exec|x)|(?:pnpm|yarn) (?:exec|dlx)|bun x|bundle exec)${options()}`,
    String.raw`(?:\S*/)?(?:bun|uv|poetry|pipenv|pdm|rye|hatch) run(?! test(?:[ :-]|$))${options()}`,
    "(?:pnpm|yarn|bun)(?= (?:vitest|jest|mocha|ava|playwright)(?: |$))",
  ].join("|")})(?: |$)`,
);

/** Returns the commands of a line; undefined if it is too complex. Redirections and comments are left out. */
export function readCommands(line: string): Step[] | undefined {
  const steps: Step[] = [];
  let [words, redirect, mayNotStart, end]: [string[], string, boolean, number] = [[], "", false, 0];
  // A line that is one group, `(cd x && y)`. A comment may contain the closing parenthesis.
  const text = line.length > LINE_MAX ? "" : `${line.trim().replace(/^\(([^#]*)\)$/, "$1")}\n`;
  for (const { 0: token, groups: { word, operator, ...more } = {} } of text.matchAll(TOKEN)) {
    end += token.length;
    if (redirect !== "" && (operator ?? more["redirect"]) !== undefined) return undefined;
    if (more["redirect"] !== undefined) redirect = more["redirect"];
    if (word !== undefined && redirect === "") words.push(unquoted(word));
    else if (word !== undefined) [mayNotStart, redirect] = [mayNotStart || !SAFE.test(redirect + unquoted(word)), ""];
    // An empty line adds no command, and `a &&` continues on the next line.
    if (operator === undefined || (operator === "\n" && words.length === 0)) continue;
    if (words.length === 0) return undefined;
    const after = operator === "\n" ? ";" : operator.replace("|&", "|");
    steps.push({ ...commandOf(words.join(" ")), after, mayNotStart });
    [words, mayNotStart] = [[], false];
  }
  return end === text.length && /^[;&]$/.test(steps.at(-1)?.after ?? "") ? steps : undefined;
}

export function commandOf(text: string): Command {
  let call = text;
  for (let match = PREFIX.exec(call); match !== null; match = PREFIX.exec(call)) call = call.slice(match[0].length);
  const [program = ""] = call.split(" ", 1);
  const name = program.slice(program.lastIndexOf("/") + 1);
  return { prefix: text.slice(0, text.length - call.length), call, name, args: call.slice(program.length) };
}

function unquoted(word: string): string {
  const text = word.replace(QUOTED, (_, single?: string, double?: string, escaped?: string) => {
    return single ?? double?.replace(/\\([^])/g, "$1") ?? (escaped === "\n" ? "" : (escaped ?? ""));
  });
  return text.replace(/\s/g, "_") || "_";
}
