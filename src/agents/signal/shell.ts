/** Splits a shell's command line into the commands that may decide its exit code. Takes linear time. */

export type Command = Readonly<{
  /** Words that do not change what the program does: assignments, `timeout 60`, `npx`, `uv run`. */
  prefix: string;
  /** Program and arguments, with one space between them. A space in a quoted word becomes an underscore. */
  call: string;
  /** Last part of the program's path; empty for an assignment. */
  name: string;
  /** Arguments, each preceded by a space. */
  args: string;
}>;
/** `after`: operator after the command; `;` for the last command. `mayNotStart`: true if a redirection needs a file that may be missing. */
export type Step = Command & Readonly<{ after: string; mayNotStart: boolean }>;

/** Maximum length of a line that we read, characters; a longer line is a program, not a command. */
const LINE_MAX = 4_000;
/** Matches one token. Substitutions, groups, here-documents and unclosed quotes match nothing, because we do not read such lines. */
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
/** Redirections that never fail: to a file in the working directory, or in a folder that always exists. */
const SAFE = /^[\d&]*(?:>[>&|]?(?:[^/]*$|\/tmp\/)|[<>]+[&|]?\/dev\/)/;

/** Makes a pattern for options; the options in `withWord` have a value. A text matches in at most one way, so this takes linear time. */
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

/** Returns the commands of a line without redirections and comments; undefined if the line is too complex. */
export function readCommands(line: string): Step[] | undefined {
  const steps: Step[] = [];
  let [words, redirect, mayNotStart, end]: [string[], string, boolean, number] = [[], "", false, 0];
  // Removes the parentheses of a line that is one group, `(cd x && y)`. If the line has a `#`, the last parenthesis may be in a comment.
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
