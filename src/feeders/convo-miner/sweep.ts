/** Files every message as its own drawer. The broker skips messages that are already filed, also after a kill (palace.md 5.7). */
import { dirname } from "node:path";
import { isRecord } from "../../base/parse-json.ts";
import { PalaceError } from "../../base/errors.ts";
import { MESSAGES_PART_MAX, SOURCE_CALL_MAX_BYTES } from "../../protocol/limits.ts";
import type { SweptMessage } from "../../protocol/filing.ts";
import { inodeOf } from "../inode.ts";
import { jsonLines } from "../lines.ts";
import { countRefused, countUnread, type FeedDeps, fileEach, type RunReport } from "../run.ts";
import { type Caller, send } from "../send.ts";
import { jsonDumpsSpaced, str } from "./python.ts";
import type { TranscriptFile } from "./run.ts";

export type SweepDeps = FeedDeps & {
  files: readonly TranscriptFile[];
  /** Maximum number of transcripts to read; 0 for all. */
  limit: number;
};

export type SweepReport = Pick<RunReport, "skipped" | "failed" | "interrupted" | "dryRun"> & {
  files: number;
  messages: number;
  added: number;
  changed: number;
  present: number;
};

const PART_CHARACTERS_MAX = 2 * 1024 * 1024;

/** Files all messages, or without a broker only counts them. Errors: the broker's, except errors about a single transcript. */
export async function sweepTranscripts(deps: SweepDeps): Promise<SweepReport> {
  const { files, limit, caller, signal } = deps;
  const report: SweepReport = {
    ...{ files: 0, messages: 0, added: 0, changed: 0, present: 0, skipped: [], failed: 0 },
    ...{ interrupted: false, dryRun: caller === undefined },
  };
  // The limit also counts transcripts without new messages.
  const chosen = limit === 0 ? files : files.slice(0, limit);
  await fileEach({ ...deps, report }, chosen, {
    limit: 0,
    inFlightMax: 1,
    nameOf: ({ name }) => name,
    file: async (file) => {
      const before = report.added;
      report.files += 1;
      try {
        await sweepOne(file, caller, report, signal);
      } catch (error) {
        if (error instanceof PalaceError) countRefused(report, file.name, error);
        else countUnread(report, file.name, error);
      }
      return report.added - before;
    },
  });
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
  for (const line of jsonLines(path, { followsLinks: false })) {
    const message = messageOf(line);
    if (message === undefined) continue;
    report.messages += 1;
    if (message.content.length > SOURCE_CALL_MAX_BYTES) {
      report.skipped.push({ file: name, reason: `message ${message.uuid} is too long` });
      continue;
    }
    if (part.length >= MESSAGES_PART_MAX || size + message.content.length > PART_CHARACTERS_MAX) {
      await flush();
      [part, size] = [[], 0];
    }
    part.push(message);
    size += message.content.length;
  }
  await flush();
}

/** Returns undefined if neither user nor assistant wrote the line, or if its time, text or an id is missing. */
function messageOf(record: Readonly<Record<string, unknown>>): SweptMessage | undefined {
  if (record["type"] !== "user" && record["type"] !== "assistant") return undefined;
  const said = record["message"];
  if (!isRecord(said)) return undefined;
  const { role, content = "" } = said;
  const [timestamp, uuid] = [record["timestamp"], record["uuid"]];
  const sessionId = record["sessionId"] || record["session_id"];
  if (role !== "user" && role !== "assistant") return undefined;
  if (![timestamp, uuid, sessionId].every((one) => typeof one === "string" && one !== "")) return undefined;
  const text = flat(content);
  if (text.trim() === "") return undefined;
  return { sessionId: String(sessionId), uuid: String(uuid), timestamp: String(timestamp), role, content: text };
}

function flat(content: unknown): string {
  if (!Array.isArray(content)) return str(content);
  const parts = content.filter(isRecord).map((block) => {
    const type = block["type"] ?? "";
    if (type === "text") return str(block["text"] ?? "");
    if (type === "tool_use")
      return `[tool_use: ${str(block["name"] ?? "?")} input=${jsonDumpsSpaced(block["input"] ?? {})}]`;
    if (type === "tool_result") return `[tool_result: ${jsonDumpsSpaced(block["content"] ?? "")}]`;
    return `[${str(type)}: ${jsonDumpsSpaced(block)}]`;
  });
  return parts.filter((part) => part !== "").join("\n");
}
