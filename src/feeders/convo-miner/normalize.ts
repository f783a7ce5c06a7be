/** Converts a file of any known format into transcripts; any other file counts as plain text. Source: palace.md 5.4. */
import { strip } from "../../memory/text/text.ts";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { isQuestion } from "./chunk.ts";
import { conversationsOf, isOfAccount } from "./exports.ts";
import { LINE_FORMATS, LineFormat, type LineFormatName, type LineState } from "./line-formats.ts";
import type { SlackNames } from "./slack.ts";
import type { Conversation } from "./transcript.ts";

const QUESTIONS_MIN = 3;

/** State of a scan, as plain data for a checkpoint, from which a later run continues. */
export type ScanState = {
  /** States of the formats that are still possible. */
  formats: Partial<Record<LineFormatName, LineState>>;
  questions: number;
  authoredAt: string | null;
  agent: string | null;
};

export type LineResult = { format: LineFormatName; conversation: Conversation };

/** Reads a transcript line by line, in all formats at once until one of them is certain. */
export class LineScan {
  readonly #formats: [LineFormatName, LineFormat][];
  #questions = 0;
  #authoredAt: string | undefined;
  #agent: string | undefined;

  constructor(resume?: ScanState) {
    const names = (Object.keys(LINE_FORMATS) as LineFormatName[]).filter(
      (name) => resume === undefined || resume.formats[name] !== undefined,
    );
    this.#formats = names.map((name) => [name, new LineFormat(name, resume?.formats[name])]);
    this.#questions = resume?.questions ?? 0;
    this.#authoredAt = resume?.authoredAt ?? undefined;
    this.#agent = resume?.agent ?? undefined;
  }

  /** Reads a line. A carriage return within it ends a line, too. */
  take(raw: string): void {
    for (const line of raw.includes("\r") ? raw.split("\r") : [raw]) this.#takeOne(strip(line.replace(/^\uFEFF/, "")));
  }

  #takeOne(line: string): void {
    if (line === "") return;
    if (isQuestion(line)) this.#questions += 1;
    let entry: unknown;
    try {
      entry = JSON.parse(line);
    } catch {
      return;
    }
    if (!isRecord(entry)) return;
    const { timestamp, type } = entry;
    if (typeof timestamp === "string" && (this.#authoredAt === undefined || timestamp > this.#authoredAt))
      this.#authoredAt = timestamp;
    if (type === "session_meta") this.#agent = "Codex";
    else if ("parentUuid" in entry) this.#agent ??= "Claude Code";
    for (const [, format] of this.#formats) format.take(entry);
    // The first possible format wins as soon as it has a conversation.
    if (this.#formats.length > 1 && this.#formats[0]?.[1].isSure() === true) this.#formats.length = 1;
  }

  /** True if the file is already a transcript in upstream's format. */
  get isPlain(): boolean {
    return this.#questions >= QUESTIONS_MIN;
  }

  /** Agent that certainly wrote the file. Such a file never counts as plain text, even without a conversation. */
  get agent(): string | undefined {
    return this.#agent;
  }

  /** Newest `timestamp` of all lines. */
  get authoredAt(): string | undefined {
    return this.#authoredAt;
  }

  result(): LineResult | undefined {
    for (const [format, reader] of this.#formats) {
      if (format === "gemini" && this.#agent === "Codex") return undefined;
      const conversation = reader.conversation();
      if (conversation !== undefined) return { format, conversation };
    }
    return undefined;
  }

  state(): ScanState {
    return structuredClone({
      formats: Object.fromEntries(this.#formats.map(([name, format]) => [name, format.state()])),
      questions: this.#questions,
      authoredAt: this.#authoredAt ?? null,
      agent: this.#agent ?? null,
    });
  }
}

export type WholeOptions = { mayBeJson: boolean; name: string; names: SlackNames };

/** Reads a text that LineScan did not recognise, with line feeds as line ends. Returns the reason as a string if it has no conversation. */
export function conversationsOfText(text: string, { mayBeJson, name, names }: WholeOptions): Conversation[] | string {
  if (strip(text) === "") return [];
  const document = mayBeJson ? parseJson(text) : undefined;
  const found = document === undefined ? undefined : conversationsOf(document, names);
  if (found === undefined && document !== undefined && isOfAccount(name, document))
    return "no conversation: a file of an export about accounts and settings";
  return found ?? [{ text, times: [] }];
}
