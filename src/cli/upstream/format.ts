/** Formats horizontal lines and numbers as upstream's command line does. */
import type { Config } from "../../config/config.ts";
import { type Output, printable } from "../terminal/output.ts";
import { hasPalace } from "../terminal/place.ts";
import type { Call, Verb } from "../define-verb.ts";

export function pythonFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Formats like Python's `:.1f`. Exact halves round to even; only a multiple of 0.25 can be an exact half. */
export function oneDecimal(value: number): string {
  const isHalf = Number.isInteger(value * 4) && !Number.isInteger(value * 2);
  return (isHalf && Math.floor(value * 10) % 2 === 0 ? Math.floor(value * 10) / 10 : value).toFixed(1);
}

export function thousands(value: number): string {
  return value.toLocaleString("en-US");
}

/** Prints lines for people; prints nothing with --json. Removes control characters. */
export function say(out: Output, lines: string): void {
  if (!out.isJson) out.text(lines.split("\n").map(printable).join("\n"));
}

export function banner(out: Output, lines: readonly string[]): void {
  const rule = "=".repeat(55);
  out.text([`\n${rule}`, ...lines.map((line) => `  ${line}`), `${rule}\n`].join("\n"));
}

export function explainNoPalace(out: Output, palaceDir: string): void {
  out.text(`\n  No palace found at ${palaceDir}\n  Run: mempalace init <dir> then mempalace mine <dir>`);
}

/** Returns true, and prints a notice, if the palace does not exist. Like upstream, it creates no palace. */
export function isWithoutPalace(config: Config, out: Output): boolean {
  if (hasPalace(config)) return false;
  const hint = "Run: mempalace init <dir> && mempalace mine <dir>";
  out.answer({ error: "No palace found", hint }, () => explainNoPalace(out, config.paths.palaceDir));
  return true;
}

/** Runs another command with this call's palace, environment and --json. */
export function handOn(
  verb: Verb,
  args: readonly string[],
  { config, out }: Pick<Call<{}>, "config" | "out">,
): Promise<number> {
  const { palace, env } = config.handedOn();
  return verb.execute([...args, ...palace, ...(out.isJson ? ["--json"] : [])], env);
}

/** Asks `[y/N]` on a terminal; without a terminal the answer is no. */
export async function confirmed(question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (!process.stdin.isTTY) return false;
  const { ask } = await import("../terminal/confirm.ts");
  return ask(question);
}
