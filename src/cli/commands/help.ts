/** Makes the text of `palace help`. */
import { alignRows } from "../terminal/output.ts";
import { spelled } from "../terminal/spelling.ts";
import { ALSO, type Command, COMMANDS, findCommand, GROUPS } from "./table.ts";

export function overview(): string {
  const commands: [string, Command][] = Object.entries(COMMANDS);
  const width = Math.max(...commands.map(([name]) => name.length));
  const groups = Object.entries(GROUPS)
    .filter(([group]) => group !== "programs")
    .map(([group, title]) => [
      title,
      ...commands
        .filter(([, one]) => one.group === group)
        .map(([name, { does }]) => `  ${name.padEnd(width)}  ${does}`),
      "",
    ]);
  const programs = commands.filter(([, { group }]) => group === "programs").map(([name]) => name);
  return [
    "palace VERB [options]",
    "",
    ...groups.flat(),
    spelled("palace help VERB says more about one of them, with an example."),
    "Everywhere: --palace DIR, --json, --help. palace --version prints the version.",
    `Also: ${Object.keys(ALSO).join(", ")}.`,
    `For programs, not for people: ${programs.join(", ")}.`,
  ].join("\n");
}

/** Returns the text after a verb's usage: its subverbs and its example. */
export function furtherHelp(name: string): string {
  const command = findCommand(name);
  if (command === undefined) return "";
  const subs = Object.entries(command.subs ?? {}).map(([sub, does]) => [`  ${name} ${sub}`, does]);
  const listed = subs.length === 0 ? [] : ["", "Commands:", ...alignRows(subs)];
  return [...listed, "", `Example: ${spelled(command.example)}`, ""].join("\n");
}
