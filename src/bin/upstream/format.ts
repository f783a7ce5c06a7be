/** How upstream's command line writes: its rules, its numbers. Used by the verbs of this folder. */
import type { Output } from "../output.ts";

/** A float as Python prints it. */
export function pythonFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

export function thousands(value: number): string {
  return value.toLocaleString("en-US");
}

/** A title between two rules. */
export function banner(out: Output, lines: readonly string[], width = 55): void {
  const rule = "=".repeat(width);
  out.text([`\n${rule}`, ...lines.map((line) => `  ${line}`), `${rule}\n`].join("\n"));
}

/** What upstream says where nothing has been filed yet. */
export function explainNoPalace(out: Output, palaceDir: string): void {
  out.text(`\n  No palace found at ${palaceDir}\n  Run: mempalace init <dir> then mempalace mine <dir>`);
}

/** `[y/N]` on a terminal; without one the answer is no. */
export async function confirmed(question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes === true) return true;
  if (!process.stdin.isTTY) return false;
  const { ask } = await import("../confirm.ts");
  return ask(question);
}
