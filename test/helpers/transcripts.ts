/** Writes seeded transcripts in every format that the conversation miner reads. All of them are well-formed for upstream's Python too. */
import { Chooser } from "../fuzz/chooser.ts";
import { seededRandom } from "./random.ts";

export type Made = { name: string; text: string };

const WORDS = (
  "the broker writes palace_home and `readTranscript` because Postgres failed; we decided on src/feeders/read.ts instead of " +
  "LedgerTx.insertDrawers, see https://example.org/a?b=c;d — naïve café 日本語 🦊 e.g. 1.2.3 python code plan bug design fix HTTPServer _x_y_"
).split(" ");

const LINES = [
  "> quoted by somebody",
  "---",
  "",
  "  - a list item",
  "    indented code_block()",
  "<system-reminder>do not say this</system-reminder>",
  "<system-reminder>\nover two lines\n</system-reminder>",
  "<command-name>unclosed",
  '> <hook_output kind="x">gone</hook_output>  ',
  "CURRENT TIME: now",
  "it says CURRENT TIME: inline",
  "Ran 2 Stop hooks, all fine",
  "… +12 lines hidden",
  "output [120 tokens] (ctrl+o to expand) more",
  "\u2028separator\u0085next\u001cline",
  "\t tab and spaces   ",
  "Auto-save reminder... ok",
];

export function chooserOf(seed: number): Chooser {
  return new Chooser(seededRandom(seed));
}

export function prose(chooser: Chooser, linesMax = 12): string {
  const line = (): string =>
    chooser.chance(0.25)
      ? chooser.pick(LINES)
      : Array.from({ length: chooser.between(1, 30) }, () => chooser.pick(WORDS)).join(" ");
  const lines = Array.from({ length: chooser.between(1, linesMax) }, line);
  return chooser.chance(0.1) ? lines.join(" ").repeat(chooser.between(2, 6)) : lines.join("\n");
}

const TOOLS = ["Bash", "Read", "Grep", "Glob", "Edit", "Write", "mcp__palace__search", "Task", "WebFetch"];

function toolInput(chooser: Chooser, tool: string): Record<string, unknown> {
  switch (tool) {
    case "Bash":
      return { command: prose(chooser, 3) };
    case "Read":
      return {
        file_path: "/a/b.ts",
        ...chooser.pick([{}, { offset: 3, limit: 10 }, { offset: "x", limit: 2 }, { offset: 5 }]),
      };
    case "Grep":
      return { pattern: "a|b", ...chooser.pick([{}, { path: "src" }, { glob: "*.ts" }, { path: "", glob: "*.md" }]) };
    case "Glob":
      return { pattern: "**/*.ts" };
    case "Edit":
    case "Write":
      return chooser.pick([{ file_path: "/a/c.ts", content: "x" }, { content: "y" }]);
    default:
      return { query: prose(chooser, 2), limit: chooser.below(50), deep: [true, null, { ü: "é🦊" }] };
  }
}

/** Writes one line per content block, as Claude Code does. */
export function claudeCodeLines(chooser: Chooser, turns: number): string[] {
  const lines: object[] = [{ type: "summary", summary: "x", leafUuid: "y" }];
  let minute = 0;
  const stamp = (): string => new Date(Date.UTC(2026, 0, 2, 3, minute++)).toISOString();
  const say = (type: string, content: unknown): void => {
    lines.push({
      type,
      uuid: `u${lines.length}`,
      sessionId: "s",
      timestamp: stamp(),
      message: { role: type, content },
    });
  };
  for (let turn = 0; turn < turns; turn++) {
    if (chooser.chance(0.9))
      say(
        chooser.pick(["user", "human"]),
        chooser.chance(0.8) ? prose(chooser, 4) : [{ type: "text", text: prose(chooser) }, "bare"],
      );
    for (let step = chooser.below(4); step > 0; step--) {
      const tool = chooser.pick(TOOLS);
      const id = `t${turn}-${step}`;
      if (chooser.chance(0.3)) say("assistant", [{ type: "thinking", thinking: "hidden" }]);
      say("assistant", [
        { type: "text", text: prose(chooser, 3) },
        { type: "tool_use", id, name: tool, input: toolInput(chooser, tool) },
      ]);
      const output = chooser.chance(0.2) ? prose(chooser, 60) : prose(chooser, 5);
      const content = chooser.pick([
        output,
        [{ type: "text", text: output }],
        "",
        [{ type: "image", source: {} }],
        { error: "no", code: 5 },
      ]);
      say("user", [{ type: "tool_result", tool_use_id: chooser.chance(0.95) ? id : "unknown", content }]);
    }
    if (chooser.chance(0.9)) say("assistant", [{ type: "text", text: prose(chooser, 20) }]);
  }
  return lines.map((line) => JSON.stringify(line));
}

function lines(objects: readonly unknown[]): string {
  return `${objects.map((one) => JSON.stringify(one)).join("\n")}\n`;
}

const FORMATS: Record<string, (chooser: Chooser) => string> = {
  "claude.jsonl": (chooser) =>
    `${claudeCodeLines(chooser, chooser.between(0, 8)).join(chooser.pick(["\n", "\r\n", "\n\n"]))}\n`,
  "codex.jsonl": (chooser) =>
    lines([
      { type: "session_meta", payload: { id: "x" }, timestamp: "2026-02-03T00:00:00Z" },
      ...Array.from({ length: chooser.between(2, 9) }, () => ({
        type: "event_msg",
        payload: { type: chooser.pick(["user_message", "agent_message", "token_count"]), message: prose(chooser) },
      })),
      { type: "event_msg", payload: { type: "user_message", message: "so be it" } },
      { type: "event_msg", payload: { type: "agent_message", message: "it is" } },
    ]),
  "gemini.jsonl": (chooser) =>
    lines([
      { type: "user", content: [{ text: "before the header" }] },
      { type: "session_metadata" },
      ...Array.from({ length: chooser.between(2, 9) }, () => ({
        type: chooser.pick(["user", "gemini", "message_update"]),
        content: [{ text: prose(chooser) }, { text: " " }, { text: prose(chooser, 1) }],
      })),
    ]),
  "pi.jsonl": (chooser) =>
    lines([
      { type: "session", version: 3, id: "x", timestamp: "2026-03-04T00:00:00Z", cwd: "/w" },
      ...Array.from({ length: chooser.between(2, 9) }, () => ({
        type: "message",
        message: {
          role: chooser.pick(["user", "assistant", "toolResult"]),
          content: chooser.chance(0.5)
            ? prose(chooser)
            : [
                { type: "thinking", thinking: "x" },
                { type: "text", text: prose(chooser) },
              ],
        },
      })),
    ]),
  "claude-ai.json": (chooser) =>
    JSON.stringify(
      Array.from({ length: chooser.between(1, 3) }, () => ({
        uuid: "x",
        // Never makes a conversation of one message, because upstream skips it.
        chat_messages: Array.from({ length: chooser.pick([0, 2, 3, 4, 5, 6]) }, () => {
          const text = `so ${prose(chooser)}`;
          const said = chooser.pick([{ text }, { content: [{ type: "text", text }] }]);
          return { sender: chooser.pick(["human", "assistant"]), ...said };
        }),
      })),
      null,
      chooser.pick([0, 2]),
    ),
  "messages.json": (chooser) =>
    JSON.stringify({
      messages: Array.from({ length: chooser.between(2, 9) }, () => ({
        role: chooser.pick(["user", chooser.chance(0.2) ? "model" : "assistant", "ai"]),
        content: prose(chooser),
      })),
    }),
  "chatgpt.json": (chooser) => {
    const conversation = (): object => {
      const count = chooser.pick([1, 3, 4, 5, 6, 7, 8]);
      const nodes = Array.from({ length: count }, (_, index): [string, object] => [
        `n-${index}`,
        {
          parent: index === 0 ? null : `n-${index - 1}`,
          children: index + 1 < count ? [`n-${index + 1}`, "other"] : [],
          message:
            index === 0
              ? null
              : {
                  author: { role: index < 3 ? "user" : chooser.pick(["user", "assistant", "system"]) },
                  content: { parts: [`so ${prose(chooser)}`, "", 5] },
                },
        },
      ]);
      return { title: "t", mapping: Object.fromEntries(nodes) };
    };
    return JSON.stringify(chooser.chance(0.5) ? conversation() : [conversation(), conversation()]);
  },
  "slack.json": (chooser) =>
    JSON.stringify(
      Array.from({ length: chooser.between(2, 12) }, () => ({
        type: chooser.pick(["message", "message", "join"]),
        ...chooser.pick([{ user: chooser.pick(["U1", "U[2]", "U\n3"]) }, { username: "bot" }]),
        text: prose(chooser, 3),
      })),
    ),
  "continue.json": (chooser) =>
    JSON.stringify({
      history: Array.from({ length: chooser.between(2, 9) }, () => ({
        role: chooser.pick(["user", "assistant", "tool", "system"]),
        content: chooser.pick([prose(chooser), [{ type: "text", text: prose(chooser) }, "bare"]]),
      })),
    }),
  "plain.txt": (chooser) =>
    Array.from({ length: chooser.between(1, 6) }, () => `> ${prose(chooser, 2)}\n${prose(chooser, 20)}`).join("\n\n\n"),
  "notes.md": (chooser) =>
    Array.from({ length: chooser.between(1, 5) }, () => prose(chooser, 40)).join(chooser.pick(["\n", "\n\n"])),
  "settings.json": (chooser) => JSON.stringify({ theme: "dark", words: prose(chooser, 2) }),
  "short.txt": (chooser) => `short ${chooser.below(1e9)}`,
  "blank.md": () => " \n\n ",
};

export function transcriptOf(chooser: Chooser): Made {
  const [name, make] = chooser.pick(Object.entries(FORMATS));
  return { name, text: make(chooser) };
}

/** Writes `each` files of each format, in one folder per format. */
export function transcriptFiles(seed: number, each: number): Made[] {
  return Object.entries(FORMATS).flatMap(([name, make], format) =>
    Array.from({ length: each }, (_, index) => ({
      name: `${index}/${name}`,
      text: make(chooserOf(seed * 7919 + format * 1009 + index)),
    })),
  );
}
