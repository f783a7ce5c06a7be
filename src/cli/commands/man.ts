/** Makes the man page palace(1) from the command table. */
import type { DescribedCommand } from "./described.ts";
import { GROUPS } from "./table.ts";

/** Returns the page as troff. It has no date, so that the same table makes the same page. */
export function manPage(commands: readonly DescribedCommand[]): string {
  const sections = Object.entries(GROUPS).map(([group, title]) => [
    `.SH ${title.toUpperCase()}`,
    ...commands.filter((one) => one.group === group).flatMap(describe),
  ]);
  return [
    `.TH PALACE 1 "" "palace-devbox"`,
    ".SH NAME",
    String.raw`palace \- one persistent memory for coding agents`,
    ".SH SYNOPSIS",
    String.raw`.B palace`,
    String.raw`\fIVERB\fR [\fIoptions\fR]`,
    ".SH DESCRIPTION",
    escaped("One broker process opens the memory; agents and people reach it through this command."),
    escaped("Every verb takes --palace DIR (another memory), --json (one JSON document on stdout) and --help."),
    ...sections.flat(),
    ".SH SEE ALSO",
    escaped("palace help VERB; docs/README.md of the package"),
    "",
  ].join("\n");
}

function describe({ name, does, usage, example, subs }: DescribedCommand): string[] {
  const [calls = "", ...text] = usage.split("\n\n");
  return [
    ".TP",
    `.B ${escaped(`palace ${name}`)}`,
    escaped(`${does}.`),
    ...pre(calls),
    ...(text.length === 0 ? [] : pre(text.join("\n\n"))),
    ...subs.flatMap((sub) => [".RS", ".TP", `.B ${escaped(`${name} ${sub.name}`)}`, escaped(sub.does), ".RE"]),
    ...pre(`Example: ${example}`),
  ];
}

function pre(text: string): string[] {
  return [".RS", ".nf", ...text.split("\n").map(escaped), ".fi", ".RE"];
}

/** Escapes a line: troff reads a full stop or quote at its beginning as a request, and prints another character for a hyphen. */
function escaped(line: string): string {
  return line
    .replaceAll("\\", String.raw`\e`)
    .replaceAll("-", String.raw`\-`)
    .replaceAll(
      /[^\x20-\x7E]/gu,
      (one) => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^(?=[.'])/, String.raw`\&`);
}
