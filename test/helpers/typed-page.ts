/** Types the commands of a docs page in one shell. A `console` block also shows the output, a `sh` block only commands. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `shown`: lines that the page shows as the command's output; undefined if it shows none. `…` matches any text, and a line of only `…`
 * any lines.
 */
export type Typed = Readonly<{ command: string; shown: readonly string[] | undefined }>;
export type Said = Readonly<{ command: string; code: number; screen: string; shown: RegExp | undefined }>;

const BLOCK = /^```(console|sh)\n([\s\S]*?)^```$/gm;
const MARK = "\u0001";

/** Returns the commands of a page, or of its sections from heading `from` up to heading `to`. */
export function readTyped(page: string, { from = "", to = "" }: { from?: string; to?: string } = {}): Typed[] {
  const start = from === "" ? 0 : page.indexOf(`\n## ${from}\n`);
  const end = to === "" ? page.length : page.indexOf(`\n## ${to}\n`);
  if (start < 0 || end < start) throw new Error(`the page has no part from "${from}" to "${to}"`);
  return [...page.slice(start, end).matchAll(BLOCK)].flatMap(([, kind, text = ""]) =>
    kind === "sh" ? plainCommands(text) : shownCommands(text),
  );
}

function plainCommands(text: string): Typed[] {
  const lines = text.split("\n").map((line) => line.replace(/(^|\s+)#\s.*$/, ""));
  return lines.filter((line) => line !== "").map((command) => ({ command, shown: undefined }));
}

function shownCommands(text: string): Typed[] {
  const typed: { command: string; shown: string[] }[] = [];
  for (const line of text.trimEnd().split("\n")) {
    if (line.startsWith("$ ")) typed.push({ command: line.slice(2), shown: [] });
    else typed.at(-1)?.shown.push(line);
  }
  return typed;
}

/**
 * Runs the commands in one bash on a terminal of 100 columns. Aliases work, and a failing command does not end the shell. `run` runs a
 * command to its end. `folder`: folder for the script. `screen`: the final text, without overwritten progress.
 */
export async function typePage(
  typed: readonly Typed[],
  { folder, run }: { folder: string; run: (command: readonly string[]) => Promise<{ stdout: string }> },
): Promise<Said[]> {
  const file = join(folder, "typed.sh");
  const lines = typed.flatMap(({ command }) => [`printf '${MARK}'`, command, `printf '${MARK}%s${MARK}' "$?"`]);
  writeFileSync(file, ["stty cols 100 rows 40", "shopt -s expand_aliases", ...lines, ""].join("\n"));
  const { stdout } = await run(["script", "--quiet", "--echo", "never", "--command", `bash '${file}'`, "/dev/null"]);
  const parts = stdout.split(MARK);
  // The output has three parts per command: the text before the command, the command's output, its exit code.
  return typed.map(({ command, shown }, at) => {
    const [said, code] = parts.slice(3 * at + 1);
    if (code === undefined) throw new Error(`"${command}" did not end:\n${stdout}`);
    return { command, code: Number(code), screen: screenOf(said ?? ""), shown: shown && patternOf(shown) };
  });
}

function screenOf(written: string): string {
  const lines = written.replaceAll("\r\n", "\n").split("\n");
  const left = lines.map((line) => line.slice(line.lastIndexOf("\r") + 1).replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, ""));
  return left
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}

export function patternOf(shown: readonly string[]): RegExp {
  const lines = shown.map((line) =>
    line.trim() === "…" ? String.raw`(?:.*\n)*?` : String.raw`${line.trimEnd().split("…").map(escaped).join(".*")}\n`,
  );
  return new RegExp(`^${lines.join("")}\\n*$`);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
