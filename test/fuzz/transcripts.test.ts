/** Reads arbitrary transcripts. Drawers must have all of the text, and a read from a checkpoint must equal a full read. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { afterAll, expect } from "vitest";
import { chunkConversation } from "../../src/feeders/convo-miner/chunk.ts";
import { stripNoise } from "../../src/feeders/convo-miner/noise.ts";
import { LineScan } from "../../src/feeders/convo-miner/normalize.ts";
import { readTranscript } from "../../src/feeders/convo-miner/read.ts";
import { type Time, timesOf } from "../../src/feeders/convo-miner/times.ts";
import { roomOf } from "../../src/feeders/convo-miner/room.ts";
import { readClaudeCode } from "../../src/feeders/session-miner/claude-code.ts";
import { type MessageRow, type PartRow, turnsOf } from "../../src/feeders/session-miner/opencode-rows.ts";
import { readPi } from "../../src/feeders/session-miner/pi.ts";
import type { Session } from "../../src/feeders/session-miner/session.ts";
import { transcribe, transcriptName } from "../../src/feeders/session-miner/transcribe.ts";
import { claudeCodeLines, prose, transcriptOf } from "../helpers/transcripts.ts";
import { type Chooser, type Entry, object } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "palace-fuzz-transcripts-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Characters that are white space in Python. */
const SPACE = String.raw`[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;
const bare = (text: string): string => text.replace(new RegExp(SPACE, "g"), "");

function assertDrawers(conversation: string, times: readonly Time[] = []): void {
  const drawers = chunkConversation(conversation);
  const dated = timesOf(conversation, times, drawers);
  if (dated !== undefined) expect(dated).toHaveLength(drawers.length);
  for (const drawer of drawers) {
    expect(drawer).not.toBe("");
    expect(Array.from(drawer).length).toBeLessThanOrEqual(800);
  }
  expect(bare(drawers.join(""))).toBe(bare(conversation));
  expect(roomOf(conversation)).toMatch(/^[a-z]+$/);
}

/** Returns a line of any format, with some values replaced. */
function line(chooser: Chooser): string {
  const whole = chooser.chance(0.7)
    ? chooser.pick(claudeCodeLines(chooser, 1))
    : chooser.pick([
        '{"type":"session_meta","payload":{}}',
        '{"type":"event_msg","payload":{"type":"user_message","message":"hello"}}',
        '{"type":"session_metadata"}',
        '{"type":"gemini","content":[{"text":"x"}]}',
        '{"type":"session","version":3}',
        '{"type":"message","message":{"role":"user","content":"y"}}',
        "> a line that is quoted",
        "",
      ]);
  if (!chooser.chance(0.4) || !whole.startsWith("{")) return whole;
  const parsed = JSON.parse(whole) as Record<string, unknown>;
  const message = parsed["message"];
  const inner = typeof message === "object" && message !== null ? bentObject(chooser, message) : undefined;
  const entries = Object.entries(parsed).map(([key, value]): Entry => [
    key,
    key === "message" && inner !== undefined ? inner : JSON.stringify(value),
  ]);
  return object(chooser.bent(entries, 0.15));
}

function bentObject(chooser: Chooser, value: object): string {
  return object(
    chooser.bent(
      Object.entries(value).map(([key, one]): Entry => [key, JSON.stringify(one)]),
      0.2,
    ),
  );
}

type File = { name: string; bytes: Buffer; cut: number };

fuzz<File>("transcript-files", {
  count: 1_500,
  generate: (chooser) => {
    const made = chooser.chance(0.5)
      ? transcriptOf(chooser)
      : { name: chooser.pick(["x.jsonl", "x.json", "x.txt"]), text: chooser.some(12, () => line(chooser)).join("\n") };
    const text = chooser.chance(0.1) ? chooser.json(5) : made.text;
    const bytes = Buffer.from(chooser.chance(0.1) ? `\ufeff${text}` : text);
    const damaged = chooser.chance(0.3) ? chooser.damaged(bytes) : bytes;
    return { name: made.name, bytes: damaged, cut: chooser.below(damaged.length + 1) };
  },
  check: ({ name, bytes, cut }) => {
    const path = join(root, `file${extname(name)}`);
    writeFileSync(path, bytes);
    const whole = readTranscript(path, { resumeSizeMin: 0 });
    if (typeof whole !== "string") {
      for (const { text, times } of whole.conversations) assertDrawers(text, times);
    }
    writeFileSync(path, bytes.subarray(0, cut));
    const part = readTranscript(path, { resumeSizeMin: 0 });
    const earlier = typeof part === "string" ? undefined : part.checkpoint;
    writeFileSync(path, bytes);
    // Converts the checkpoint to JSON and back, because the miner stores checkpoints as JSON.
    const kept = earlier && (JSON.parse(JSON.stringify(earlier)) as typeof earlier);
    const resumed = readTranscript(path, { earlier: kept, resumeSizeMin: 0 });
    if (typeof whole === "string" || typeof resumed === "string") expect(resumed).toBe(whole);
    else {
      expect(resumed.conversations).toEqual(whole.conversations);
      expect(resumed.authoredAt).toBe(whole.authoredAt);
      expect(resumed.checkpoint).toEqual(whole.checkpoint);
    }
  },
});

const TAGS = "system-reminder command-message command-name task-notification user-prompt-submit-hook hook_output";

/** Applies upstream's own patterns. They need quadratic time on hostile texts, but these texts are short. */
function referenceNoise(text: string): string {
  for (const tag of TAGS.split(" "))
    text = text.replace(
      new RegExp(`(?<![^\\n])(?:> )?<${tag}(?:${SPACE}[^>]*)?>(?:(?!\\n${SPACE}*\\n)[^])*?</${tag}>[ \\t]*\\n?`, "gu"),
      "",
    );
  for (const start of ["CURRENT TIME:", "Auto-save reminder\\.\\.\\.", "Checking pipeline\\.\\.\\."])
    text = text.replace(new RegExp(`(?<![^\\n])(?:> )?${start}[^\\n]*\\n?`, "gu"), "");
  text = text.replace(/(?<![^\n])(?:> )?Ran \p{Nd}+ (?:Stop|PreCompact) hook[s]?[^\n]*\n?/gu, "");
  text = text.replace(new RegExp(`(?<![^\\n])(?:> )?…${SPACE}*\\+\\p{Nd}+ lines[^\\n]*\\n?`, "gu"), "");
  text = text.replace(new RegExp(`${SPACE}*\\[\\p{Nd}+${SPACE}+tokens?\\]${SPACE}*\\(ctrl\\+o to expand\\)`, "gu"), "");
  return text.replace(/\n{4,}/g, "\n\n\n").replace(new RegExp(`^${SPACE}+|${SPACE}+$`, "gu"), "");
}

const PIECES = [
  ...TAGS.split(" ").flatMap((tag) => [
    `<${tag}>`,
    `<${tag} a="b">`,
    `</${tag}>`,
    `<${tag}\n>`,
    `<${tag}x>`,
    `<${tag}`,
  ]),
  ..."\n|\n|\n\n|\n \n|> | |\t|\u2028|\u001c|x|words of a line|CURRENT TIME: 5|Ran 3 Stop hooks|Ran 2 stop hook|Auto-save reminder...".split(
    "|",
  ),
  ..."…|… +5 lines|+5 lines|[12 tokens] (ctrl+o to expand)|[1 token]|(ctrl+o to expand)|Checking pipeline...|>".split(
    "|",
  ),
];

fuzz<string>("noise", {
  count: 20_000,
  generate: (chooser) => chooser.some(30, () => chooser.pick(PIECES)).join(""),
  check: (text) => expect(stripNoise(text)).toBe(referenceNoise(text)),
});

const HIDDEN = "nobody-said-this";

function part(chooser: Chooser): string {
  const state: Entry[] = [
    ["status", JSON.stringify(chooser.pick(["completed", "error", "running", "pending"]))],
    ["input", chooser.chance(0.7) ? '{"command":"ls","filePath":"/x"}' : chooser.json(2)],
    ["output", JSON.stringify(chooser.chance(0.5) ? prose(chooser, 3) : chooser.text())],
  ];
  const whole = chooser.pick<() => string>([
    () =>
      object([
        ["type", '"text"'],
        ["text", JSON.stringify(prose(chooser, 4))],
      ]),
    () =>
      object(
        chooser.bent(
          [
            ["type", '"reasoning"'],
            ["text", JSON.stringify(chooser.text())],
          ],
          0.2,
        ),
      ),
    () =>
      object([
        ["type", '"tool"'],
        ["tool", '"bash"'],
        ["callID", JSON.stringify(chooser.text())],
        ["state", object(chooser.bent(state, 0.2))],
      ]),
    () =>
      object(
        chooser.bent(
          [
            ["type", '"file"'],
            ["url", '"file:///a"'],
            ["filename", JSON.stringify(chooser.text())],
          ],
          0.2,
        ),
      ),
    () =>
      object(
        chooser.bent(
          [
            ["type", '"subtask"'],
            ["agent", '"x"'],
            ["prompt", '"y"'],
          ],
          0.3,
        ),
      ),
    () => `{"type":"text","synthetic":true,"text":"${HIDDEN}"}`,
    () => chooser.json(3),
  ])();
  return chooser.chance(0.05) ? whole.slice(0, chooser.below(whole.length + 1)) : whole;
}

type Rows = { id: string; directory: string; time: number; messages: MessageRow[]; parts: PartRow[] };

function assertTranscript(session: Session): void {
  const text = transcribe(session);
  expect(text).toBe(transcribe(session));
  const open = new Set<string>();
  const scan = new LineScan();
  for (const one of text.trimEnd().split("\n")) {
    const { type, message } = JSON.parse(one) as { type: string; message: { content: unknown } };
    expect(["user", "assistant"]).toContain(type);
    for (const block of Array.isArray(message.content) ? (message.content as Record<string, unknown>[]) : []) {
      if (block["type"] === "tool_use") open.add(String(block["id"]));
      if (block["type"] === "tool_result") expect(open.delete(String(block["tool_use_id"]))).toBe(true);
    }
    scan.take(one);
  }
  const found = scan.result();
  if (found !== undefined) assertDrawers(found.conversation.text, found.conversation.times);
  expect(transcriptName("opencode", session)).toMatch(/^opencode-[\d+-]*(undated)?[\w-]+\.jsonl$/);
}

fuzz<Rows>("opencode-rows", {
  count: 2_500,
  generate: (chooser) => {
    const ids = ["m1", "m2", "m3", "__proto__"];
    return {
      id: chooser.chance(0.7) ? "ses_abc" : chooser.text(),
      directory: chooser.chance(0.7) ? "/home/u" : chooser.text(),
      time: chooser.pick([1_700_000_000_000, 0, -1, Number.NaN, 1e300, 8.64e15]),
      messages: chooser.some(5, () => ({
        id: chooser.pick(ids),
        time: chooser.pick([1_700_000_000_000, 0, 1e300]),
        data: chooser.chance(0.8)
          ? object(
              chooser.bent(
                [
                  ["role", chooser.pick(['"user"', '"assistant"'])],
                  ["error", chooser.chance(0.1) ? '{"name":"E","data":{"message":"m"}}' : "null"],
                ],
                0.1,
              ),
            )
          : chooser.json(2),
      })),
      parts: chooser.some(12, () => ({ message: chooser.pick(ids), data: part(chooser) })),
    };
  },
  check: ({ id, directory, time, messages, parts }) => {
    const turns = turnsOf(messages, parts);
    const session = { id, title: id, directory, agent: "opencode", createdMs: time, updatedMs: time, turns };
    assertTranscript(session);
    expect(transcribe(session)).not.toContain(HIDDEN);
  },
});

fuzz<string[]>("agent-lines", {
  count: 2_000,
  generate: (chooser) =>
    chooser.some(10, () =>
      chooser.chance(0.6)
        ? line(chooser)
        : object(
            chooser.bent(
              [
                ["type", '"message"'],
                ["id", JSON.stringify(chooser.pick(["a", "b", "c"]))],
                ["parentId", chooser.pick(['"a"', '"b"', '"c"', "null"])],
                [
                  "message",
                  object(
                    chooser.bent(
                      [
                        ["role", chooser.pick(['"user"', '"assistant"', '"toolResult"'])],
                        ["toolCallId", '"t"'],
                        [
                          "content",
                          chooser.pick([
                            '"said"',
                            '[{"type":"toolCall","id":"t","name":"read","arguments":{"path":"/x"}}]',
                            '[{"type":"text","text":"x"}]',
                          ]),
                        ],
                      ],
                      0.2,
                    ),
                  ),
                ],
              ],
              0.1,
            ),
          ),
    ),
  check: (lines) => {
    const objects = lines.flatMap((one): Record<string, unknown>[] => {
      try {
        const value: unknown = JSON.parse(one);
        return typeof value === "object" && value !== null && !Array.isArray(value)
          ? [value as Record<string, unknown>]
          : [];
      } catch {
        return [];
      }
    });
    const head = { id: "x", updatedMs: 1, version: "1" };
    assertTranscript(readClaudeCode(head, objects, false));
    assertTranscript(readPi(head, objects));
  },
});
