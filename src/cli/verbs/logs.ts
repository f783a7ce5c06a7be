/** `palace logs` prints the end of the broker's log in readable form; with -f also what is appended to it. */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { parseRecord } from "../../base/parse-json.ts";
import { unreadable } from "../../base/errors.ts";
import { brokerBox } from "../docker/owner.ts";
import { isServedByStack } from "../docker/served-by-stack.ts";
import { endWithReader, type Output, printable } from "../terminal/output.ts";
import { hasPalace, palaceNotFound } from "../terminal/place.ts";
import { defineVerb, options, readCount } from "../define-verb.ts";

const LINES_DEFAULT = 50;
const FOLLOW_MS = 250;
/** Maximum number of bytes to read from the end of the file, for any number of lines. */
const TAIL_SIZE_MAX_BYTES = 8 * 1024 * 1024;

export const verb = defineVerb({
  usage: `palace logs [-f] [-n N]

Shows the last ${LINES_DEFAULT} lines of the broker's log. --json prints its lines as they are, one JSON object each.

  -n N   show the last N lines
  -f     also show new lines, until Ctrl-C`,
  options: options("follow|f lines|n="),
  place: "any",
  run: async ({ values, config, out }) => {
    const { logFile } = config.paths;
    const lines = readCount(values.lines, "lines", LINES_DEFAULT);
    const isFollowing = values.follow === true;
    const box = brokerBox(config);
    const where = box === undefined ? "docker compose logs broker" : `docker logs ${box.container}`;
    if (box !== undefined || isServedByStack(config))
      throw unreadable("Docker has the broker's log", `on the host: ${where}`);
    const tail = readTail(logFile);
    if (tail === undefined && !hasPalace(config)) throw palaceNotFound(config);
    if (tail === undefined && !isFollowing) throw unreadable(`there is no log yet: ${logFile}`, "run `palace start`");
    const shown = lines === 0 ? [] : (tail?.text ?? "").split("\n").filter(Boolean).slice(-lines);
    for (const line of shown) printLine(line, out);
    if (isFollowing) await follow(logFile, tail?.end ?? 0, out);
    return 0;
  },
});

/** Follows the file until the process ends. A file that shrank or was replaced is read from its start. */
async function follow(path: string, from: number, out: Output): Promise<never> {
  await endWithReader();
  const decoder = new StringDecoder("utf8");
  let position = from;
  let rest = "";
  let inode = statSync(path, { throwIfNoEntry: false })?.ino;
  for (;;) {
    await sleep(FOLLOW_MS);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.size < position || stat.ino !== inode) position = 0;
    inode = stat.ino;
    while (position < stat.size) {
      const bytes = readRange(path, position, Math.min(stat.size - position, TAIL_SIZE_MAX_BYTES));
      if (bytes.length === 0) break;
      position += bytes.length;
      const lines = (rest + decoder.write(bytes)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) printLine(line, out);
    }
  }
}

function readTail(path: string): { text: string; end: number } | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return undefined;
  const start = Math.max(size - TAIL_SIZE_MAX_BYTES, 0);
  const text = readRange(path, start, size - start).toString("utf8");
  // Leaves out an incomplete line at either end. With -f, the last line is shown when it is complete.
  const whole = text.slice(start === 0 ? 0 : text.indexOf("\n") + 1, text.lastIndexOf("\n") + 1);
  return { text: whole, end: start + Buffer.byteLength(text.slice(0, text.lastIndexOf("\n") + 1)) };
}

function readRange(path: string, start: number, length: number): Buffer {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(Math.min(length, fstatSync(file).size));
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, start));
  } finally {
    closeSync(file);
  }
}

function printLine(line: string, out: Output): void {
  out.text(out.isJson ? line : formatLine(line));
}

/** Formats a line as `2026-11-02 10:00:00.123 INFO broker-ready peers=2`; shows another program's line as it is. */
export function formatLine(line: string): string {
  const { atMs, level, event, ...fields } = parseRecord(line);
  if (typeof atMs !== "number" || !Number.isFinite(atMs)) return printable(line);
  const time = new Date(atMs).toISOString().replace("T", " ").replace("Z", "");
  const rest = Object.entries(fields).map(
    ([key, value]) => ` ${key}=${typeof value === "string" && !/[\s"=]/.test(value) ? value : JSON.stringify(value)}`,
  );
  return printable(`${time} ${String(level).toUpperCase().padEnd(5)} ${String(event)}${rest.join("")}`);
}
