/**
 * A sweep files every message of Claude Code's transcripts as a drawer of its own, whole, because exchanges of the same
 * files may have left messages out or cut them. The broker files each message once, so the next run continues a killed one.
 * Called by the command `palace mine sweep`. Source: palace.md 5.7 and upstream 3.11's sweeper.
 */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { PalaceError } from "../../base/errors.ts";
import { MESSAGES_PART_MAX, SOURCE_CALL_MAX_BYTES } from "../../protocol/limits.ts";
import type { SweptMessage } from "../../protocol/spec.ts";
import { inodeOf } from "../inode.ts";
import { type Caller, isRefusal, send } from "../send.ts";
import { isFields } from "./blocks.ts";
import { jsonDumpsSpaced, str } from "./python.ts";
import type { FeedWatch, Skip, TranscriptFile } from "./run.ts";

export type SweepDeps = {
  files: readonly TranscriptFile[];
  /** The most transcripts to read; 0 = all. */
  limit: number;
  /** If undefined, messages are only counted, not filed. */
  caller: Caller | undefined;
  watch: FeedWatch;
  signal: AbortSignal;
};

export type SweepReport = {
  files: number;
  /** Messages found. */
  messages: number;
  added: number;
  changed: number;
  present: number;
  skipped: Skip[];
  failed: number;
  interrupted: boolean;
  dryRun: boolean;
};

/** The most characters in one call. */
const PART_SIZE_MAX = 2 * 1024 * 1024;

/** Errors: the broker's own when it can file nothing at all. */
export async function sweepTranscripts({ files, limit, caller, watch, signal }: SweepDeps): Promise<SweepReport> {
  const report: SweepReport = {
    ...{ files: 0, messages: 0, added: 0, changed: 0, present: 0, skipped: [], failed: 0 },
    ...{ interrupted: false, dryRun: caller === undefined },
  };
  const chosen = limit === 0 ? files : files.slice(0, limit);
  for (const file of chosen) {
    if (signal.aborted) break;
    const before = report.added;
    try {
      await sweepOne(file, caller, report, signal);
    } catch (error) {
      if (error instanceof PalaceError && !isRefusal(error)) throw error;
      report.failed += 1;
      report.skipped.push({
        file: file.name,
        reason: isRefusal(error) ? `refused by the broker: ${error.message}` : "cannot be read",
      });
    }
    report.files += 1;
    watch.progress(report.files, chosen.length, file.name, report.added - before);
  }
  report.interrupted = signal.aborted && report.files < chosen.length;
  return report;
}

async function sweepOne(
  { path, sourceFile, name }: TranscriptFile,
  caller: Caller | undefined,
  report: SweepReport,
  signal: AbortSignal,
): Promise<void> {
  const sourceDirIno = inodeOf(dirname(path));
  let part: SweptMessage[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    if (part.length === 0 || caller === undefined) return;
    const params = { sourceFile, messages: part, ...(sourceDirIno !== undefined && { sourceDirIno }) };
    const result = await send(caller, signal, "message.add", params);
    for (const key of ["added", "changed", "present"] as const) report[key] += result[key];
  };
  for await (const message of messagesOf(path)) {
    report.messages += 1;
    if (message.content.length > SOURCE_CALL_MAX_BYTES) {
      report.skipped.push({ file: name, reason: `message ${message.uuid} is too long` });
      continue;
    }
    if (part.length >= MESSAGES_PART_MAX || size + message.content.length > PART_SIZE_MAX) {
      await flush();
      [part, size] = [[], 0];
    }
    part.push(message);
    size += message.content.length;
  }
  await flush();
}

/** Only a line feed ends a line: node:readline also splits at U+2028, which occurs in what people write. */
async function* messagesOf(path: string): AsyncGenerator<SweptMessage> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags);
  try {
    if (!(await file.stat()).isFile()) return;
    let rest = "";
    for await (const text of file.createReadStream({ encoding: "utf8", autoClose: false }) as AsyncIterable<string>) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = messageOf(line);
        if (message !== undefined) yield message;
      }
    }
    const last = messageOf(rest);
    if (last !== undefined) yield last;
  } finally {
    await file.close();
  }
}

/** Undefined unless the line is a message of the user or the assistant with all its ids. */
export function messageOf(line: string): SweptMessage | undefined {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isFields(record) || (record["type"] !== "user" && record["type"] !== "assistant")) return undefined;
  const said = record["message"];
  if (!isFields(said)) return undefined;
  const { role, content = "" } = said;
  const [timestamp, uuid] = [record["timestamp"], record["uuid"]];
  const sessionId = record["sessionId"] || record["session_id"];
  if (role !== "user" && role !== "assistant") return undefined;
  if (![timestamp, uuid, sessionId].every((one) => typeof one === "string" && one !== "")) return undefined;
  const text = flat(content);
  if (text.trim() === "") return undefined;
  return { sessionId: String(sessionId), uuid: String(uuid), timestamp: String(timestamp), role, content: text };
}

/** Returns every block in full. */
function flat(content: unknown): string {
  if (!Array.isArray(content)) return str(content);
  const parts = content.filter(isFields).map((block) => {
    const type = block["type"] ?? "";
    if (type === "text") return str(block["text"] ?? "");
    if (type === "tool_use")
      return `[tool_use: ${str(block["name"] ?? "?")} input=${jsonDumpsSpaced(block["input"] ?? {})}]`;
    if (type === "tool_result") return `[tool_result: ${jsonDumpsSpaced(block["content"] ?? "")}]`;
    return `[${str(type)}: ${jsonDumpsSpaced(block)}]`;
  });
  return parts.filter((part) => part !== "").join("\n");
}
