/** Prints tables on a terminal, tab-separated lines elsewhere, one JSON document with --json. Progress and notices go to stderr. */
import { styleText } from "node:util";
import type { EngineReport } from "../../protocol/spec.ts";
import { spelled } from "./spelling.ts";

export type Cell = string | number;

const TERMINAL_COLUMNS = 80;

export class Output {
  /** True if stdout may have only one JSON document. */
  readonly isJson: boolean;
  readonly isTerminal: boolean;
  readonly #palace: string | undefined;

  /** `palace`: the folder that --palace names. */
  constructor({ json, palace }: { json: boolean; palace?: string | undefined }) {
    this.isJson = json;
    this.#palace = palace;
    this.isTerminal = process.stdout.isTTY;
  }

  get columns(): number {
    return process.stdout.columns || TERMINAL_COLUMNS;
  }

  /** Rewrites the commands in a text to the form that the user must type on this machine, for this palace. */
  spelled(text: string): string {
    return spelled(text, this.#palace);
  }

  document(value: unknown): 0 {
    process.stdout.write(`${JSON.stringify(value)}\n`);
    return 0;
  }

  /** Prints a command's result: the document with --json, else `shown`. Returns the exit code of success. */
  answer(document: unknown, shown: string | readonly (readonly Cell[])[] | (() => void)): 0 {
    if (this.isJson) this.document(document);
    else if (typeof shown === "string") this.text(shown);
    else if (typeof shown === "function") shown();
    else this.table(shown);
    return 0;
  }

  /** Removes control characters on a terminal, because anybody may have written the text. A program gets every byte. */
  text(lines: string): void {
    process.stdout.write(`${this.isTerminal ? harmless(lines.replaceAll("\r\n", "\n")) : lines}\n`);
  }

  /** Prints lines on a terminal, each made of pieces; highlights matches unless NO_COLOR is set. */
  styled(lines: readonly (readonly { text: string; isMatch: boolean }[])[], indent: string): void {
    const style = (text: string): string => styleText(["bold", "underline"], text, { stream: process.stdout });
    for (const line of lines) {
      const pieces = line.map(({ text, isMatch }) => (isMatch ? style(printable(text)) : printable(text)));
      process.stdout.write(`${indent}${pieces.join("")}\n`);
    }
  }

  table(rows: readonly (readonly Cell[])[]): void {
    if (rows.length === 0) return;
    const tabbed = (row: readonly Cell[]): string => row.map((cell) => printable(String(cell))).join("\t");
    this.text((this.isTerminal ? alignRows(rows) : rows.map(tabbed)).join("\n"));
  }

  notice(line: string): void {
    process.stderr.write(`${printable(line)}\n`);
  }

  /** Prints a notice whose commands work on this machine, for this palace. */
  hint(line: string): void {
    this.notice(this.spelled(line));
  }
}

/** Pads columns to their widest cell, except the last column, and aligns numbers to the right. */
export function alignRows(rows: readonly (readonly Cell[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, at) => (widths[at] = Math.max(widths[at] ?? 0, printable(String(cell)).length)));
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const text = printable(String(cell));
        if (typeof cell === "number") return text.padStart(widths[at] ?? 0);
        return at === row.length - 1 ? text : text.padEnd(widths[at] ?? 0);
      })
      .join("  ")
      .trimEnd(),
  );
}

/** Removes characters that move the cursor or change the reading direction. Line feeds and tabs become spaces. */
export function printable(text: string): string {
  return harmless(text.replace(/[\t\n]/g, " "));
}

/** Does the same as `printable`, but keeps lines and tabs. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu, (one) =>
    /[\t\n]/.test(one) ? one : "\uFFFD",
  );
}

export function shorten(text: string, max: number): string {
  const line = Array.from(printable(text.replace(/\s+/g, " ").trim()));
  return line.length <= max ? line.join("") : `${line.slice(0, Math.max(max - 1, 0)).join("")}…`;
}

export function formatBytes(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1024 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power] ?? ""}`;
}

/** Formats a time as `2 h 5 min`, `12 s`, `340 ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const s = Math.round(ms / 1_000);
  if (s < 60) return `${s} s`;
  const [count, big, small] = s < 3_600 ? [s, "min", "s"] : [Math.floor(s / 60), "h", "min"];
  const rest = count % 60 === 0 ? "" : ` ${count % 60} ${small}`;
  return `${Math.floor(count / 60)} ${big}${rest}`;
}

/** Formats a count as `1 drawer`, `2 drawers`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const NAMED_MAX = 5;

/** Lists the first names, and counts the others. */
export function firstNames(names: readonly string[]): string {
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

export function formatEngine(engine: Extract<EngineReport, { kind: "command" }>): string {
  const { state, pid, generation, server, program, failures } = engine;
  const who = server === null ? program : `${server.name} ${server.version} (${program})`;
  const process = pid === null ? "no process" : `pid ${pid}`;
  return printable(
    `${state}, ${process}, generation ${generation}, ${who}${failures === 0 ? "" : `, ${plural(failures, "failure")} in a row`}`,
  );
}

const READER_POLL_MS = 500;

/** Ends the process within a second after the reader of stdout is gone: `palace status --watch | head -1`. */
export async function endWithReader(): Promise<void> {
  if (process.stdout.isTTY) return;
  const { hasReader } = await import("../../base/libc.ts");
  setInterval(() => hasReader(1) || process.exit(0), READER_POLL_MS).unref();
}
