/** Makes the completions of `palace` for bash, zsh and fish from the command table. */
import type { Described, Flag } from "./described.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

const COMMON: readonly Flag[] = [
  { name: "palace", takesValue: true },
  { name: "json", takesValue: false },
  { name: "help", short: "h", takesValue: false },
];

export function completionsFor(shell: Shell, words: readonly Described[]): string {
  return { bash, zsh, fish }[shell](words);
}

/** `at`: the words after `palace` that come before the completed word: none, a verb, or a verb and its subverb. */
type Place = { at: string; words: readonly Described[]; flags: readonly Flag[] };

function placesOf(words: readonly Described[]): Place[] {
  return [
    { at: "", words, flags: [] },
    ...words.flatMap(({ name, flags, subs }): Place[] => [
      ...subs.map((sub) => ({ at: `${name} ${sub.name}`, words: sub.subs, flags: sub.flags })),
      { at: name, words: subs, flags },
    ]),
  ];
}

/** Shell text that finds the verb and its subverb before the cursor, for bash and zsh. */
const FIND_PLACE = `      --palace) at=$((at + 2)); continue ;;
      -*) ;;
      *) if [[ -z $verb ]]; then verb=$word; elif [[ -z $sub ]]; then sub=$word; fi ;;
    esac
    at=$((at + 1))
  done`;

function bash(words: readonly Described[]): string {
  const cases = placesOf(words).map(({ at, words: next, flags }) => {
    const names = next.map(({ name }) => name).join(" ");
    const options = [...flags, ...COMMON].map(({ name }) => `--${name}`).join(" ");
    return `    ${pattern(at)}) words="${names}" flags="${options}" ;;`;
  });
  return `# bash completions of palace. To use them: source <(palace completions bash)
_palace() {
  local verb= sub= word= words= flags= at=1
  while ((at < COMP_CWORD)); do
    word=\${COMP_WORDS[at]}
    case $word in
${FIND_PLACE}
  case "$verb $sub" in
${cases.join("\n")}
  esac
  if [[ \${COMP_WORDS[COMP_CWORD]} == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -o bashdefault -F _palace palace
`;
}

function zsh(words: readonly Described[]): string {
  const cases = placesOf(words).map(({ at, words: next, flags }) => {
    const verbs = next.map(({ name, does }) => `      ${quoted(`${name}:${does}`)}`);
    const options = [...flags, ...COMMON].map(({ name }) => `--${name}`).join(" ");
    return [`    ${pattern(at)})`, "      verbs=(", ...verbs, "      )", `      flags=(${options})`, "      ;;"].join(
      "\n",
    );
  });
  return `#compdef palace
# zsh completions of palace. To use them: source <(palace completions zsh)
_palace() {
  local verb= sub= word= at=2
  local -a verbs flags
  while ((at < CURRENT)); do
    word=\${words[at]}
    case $word in
${FIND_PLACE}
  case "$verb $sub" in
${cases.join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    compadd -- $flags
  else
    ((\${#verbs})) && _describe command verbs
    [[ -n $verb ]] && _files
  fi
}
if [[ \${funcstack[1]} == _palace ]]; then
  _palace "$@"
else
  ((\${+functions[compdef]})) || { autoload -Uz compinit && compinit -i; }
  compdef _palace palace
fi
`;
}

function fish(words: readonly Described[]): string {
  const lines = placesOf(words).flatMap(({ at, words: next, flags }) => {
    const here = `complete -c palace -n "__palace_at ${at}"`;
    const under = `complete -c palace -n "__palace_under ${at}"`;
    return [
      ...next.map(({ name, does }) => `${here}${at === "" ? " -f" : ""} -a ${name} -d ${quoted(does)}`),
      ...flags.map((flag) => `${under} ${fishFlag(flag)}`),
    ];
  });
  const common = COMMON.map((flag) => `complete -c palace ${fishFlag(flag)}`);
  return `# fish completions of palace. To use them: palace completions fish | source
function __palace_words
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip = 1
      set skip 0
    else if test $word = --palace
      set skip 1
    else if not string match -q -- '-*' $word
      echo $word
    end
  end
end
function __palace_at
  test "$argv" = (string join ' ' (__palace_words) | string collect --allow-empty)
end
function __palace_under
  set -l words (__palace_words)
  test "$argv" = "$words[1]"; or test "$argv" = "$words[1] $words[2]"
end
${[...lines, ...common].join("\n")}
`;
}

function fishFlag({ name, short, takesValue }: Flag): string {
  return `-l ${name}${short === undefined ? "" : ` -s ${short}`}${takesValue ? " -r" : ""}`;
}

/** Makes a `case` pattern for `"$verb $sub"`. The pattern of a verb also matches any word after the verb. */
function pattern(at: string): string {
  if (at === "") return `" "`;
  return at.includes(" ") ? `"${at}"` : `"${at} "*`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
