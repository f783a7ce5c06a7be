/** Tests how exports are read, with small files in the forms that the services write. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Reading, readTranscript } from "../../../../src/feeders/convo-miner/read.ts";
import { jsonDumps } from "../../../../src/feeders/convo-miner/python.ts";
import { chunkConversation } from "../../../../src/feeders/convo-miner/chunk.ts";
import { slackNamesOf } from "../../../../src/feeders/convo-miner/slack.ts";
import { timesOf } from "../../../../src/feeders/convo-miner/times.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "exports-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(document: unknown, name = "conversations.json"): Reading | string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(document));
  return readTranscript(path, { resumeSizeMin: 0 });
}

function texts(document: unknown): string[] {
  const reading = read(document);
  if (typeof reading === "string") throw new Error(reading);
  return reading.conversations.map(({ text }) => text);
}

type Said = [id: string, parent: string | null, role: string, content: unknown];

function chatGpt(said: readonly Said[], more: object = {}): object {
  const node = ([id, parent, role, content]: Said): [string, object] => {
    const children = said.flatMap(([child, of]) => (of === id ? [child] : []));
    return [id, { id, parent, children, message: { author: { role }, content } }];
  };
  return { title: "t", create_time: 1746000000, mapping: Object.fromEntries(said.map(node)), ...more };
}

const words = (...parts: unknown[]): object => ({ content_type: "text", parts });

const REGENERATED: readonly Said[] = [
  ["u1", null, "user", words("Which database?")],
  ["a_old", "u1", "assistant", words("Take MongoDB.")],
  ["a_new", "u1", "assistant", words("Take PostgreSQL.")],
  ["u2", "a_new", "user", words("Agreed. Which port?")],
  ["a2", "u2", "assistant", words("5433")],
];
const ACCEPTED = "> Which database?\nTake PostgreSQL.\n\n> Agreed. Which port?\n5433\n";

test("the miner reads only the current branch of a regenerated answer in ChatGPT", () => {
  expect(texts([chatGpt(REGENERATED, { current_node: "a2" })])).toEqual([ACCEPTED]);
  // Without `current_node`, the last branch counts as the current branch.
  expect(texts([chatGpt(REGENERATED)])).toEqual([ACCEPTED]);
  expect(texts([chatGpt(REGENERATED, { current_node: "a_old" })])).toEqual(["> Which database?\nTake MongoDB.\n"]);
});

test("the miner reads ChatGPT's spoken turns and code messages without parts", () => {
  const spoken = (text: string): object => ({
    content_type: "multimodal_text",
    parts: [
      { content_type: "audio_asset_pointer", asset_pointer: "file://x" },
      { content_type: "audio_transcription", text },
    ],
  });
  const talk = chatGpt([
    ["u1", null, "user", spoken("How do I prune the zebra plant?")],
    ["a1", "u1", "assistant", spoken("Cut above a node.")],
    ["u2", "a1", "user", words({ content_type: "image_asset_pointer" }, "Is this leaf sick?")],
    ["a2", "u2", "assistant", { content_type: "code", language: "python", text: "print('leaf spot')" }],
  ]);
  expect(texts([talk])).toEqual([
    "> How do I prune the zebra plant?\nCut above a node.\n\n> Is this leaf sick?\nprint('leaf spot')\n",
  ]);
});

test("the miner reads transcripts in UTF-16 and Windows-1252", () => {
  const path = join(folder, "talk.jsonl");
  const line = (type: string, content: string): string => `${JSON.stringify({ type, message: { content } })}\r\n`;
  writeFileSync(path, `\uFEFF${line("user", "Brücke?")}${line("assistant", "Ja.")}`, "utf16le");
  expect(readTranscript(path, { resumeSizeMin: 0 })).toMatchObject({ conversations: [{ text: "> Brücke?\nJa.\n" }] });
  writeFileSync(path.replace(".jsonl", ".txt"), "> Br\xfccke?\nJa.", "latin1");
  expect(readTranscript(path.replace(".jsonl", ".txt"), { resumeSizeMin: 0 })).toMatchObject({
    conversations: [{ text: "> Brücke?\nJa." }],
  });
});

test("the text of Claude.ai's attachments belongs to the question", () => {
  const attachments = [{ file_name: "kiln.txt", extracted_content: "Element two is weak." }, { file_name: "a.png" }];
  const said = [
    { sender: "human", text: "What is wrong with it?", attachments },
    { sender: "assistant", text: "Replace element two." },
  ];
  expect(texts([{ uuid: "x", chat_messages: said }])).toEqual([
    "> What is wrong with it?\n\n[attached kiln.txt]\nElement two is weak.\nReplace element two.\n",
  ]);
});

const SLACK_TEXT =
  "<@U02> the reindex in <#C1|ops> takes &lt; 4 hours &amp; blocks, see <https://example.org|the page>";

test("the miner reads a day of a Slack channel with names, and leaves out markup and messages about joining and leaving", () => {
  const users = [
    { id: "U01", profile: { real_name: "Jane Roe" } },
    { id: "U02", name: "max" },
  ];
  const path = join(folder, "2024-05-01.json");
  const day = (...said: object[]): Reading | string => {
    writeFileSync(path, JSON.stringify(said.map((one) => ({ type: "message", ...one }))));
    return readTranscript(path, { resumeSizeMin: 0, names: slackNamesOf(users) });
  };
  const attachments = [{ title: "Alert", text: "disk is full" }];
  expect(
    day(
      { subtype: "channel_join", user: "U02", text: "<@U02> has joined the channel" },
      { user: "U01", text: SLACK_TEXT },
      { subtype: "bot_message", username: "watch", text: "", attachments },
    ),
  ).toMatchObject({
    conversations: [
      {
        text:
          "> [Jane Roe] @max the reindex in #ops takes < 4 hours & blocks, see the page (https://example.org)\n" +
          "[watch] Alert\ndisk is full\n",
      },
    ],
  });
  expect(day({ user: "U03", text: "done" })).toMatchObject({ conversations: [{ text: "> [U03] done\n" }] });
});

test("the miner does not file the account files of an export, but files other JSON", () => {
  expect(read({ id: "u", email: "jane.roe@example.org" }, "user.json")).toMatch(/^no conversation/);
  expect(read([{ uuid: "u", verified_phone: null, email_address: "a@example.org" }], "mine.json")).toMatch(/^no conv/);
  expect(read({ export_files: [] }, "export_manifest.json")).toMatch(/^no conversation/);
  expect(read({ theme: "dark" }, "notes.json")).toMatchObject({ conversations: [{ text: '{"theme":"dark"}' }] });
});

/** Returns the first line of each drawer, and the time at which its text was said. */
function dated(document: unknown): [string, string | null | undefined][] {
  const reading = read(document);
  if (typeof reading === "string") throw new Error(reading);
  return reading.conversations.flatMap(({ text, times }) => {
    const drawers = chunkConversation(text);
    const found = timesOf(text, times, drawers);
    return drawers.map((drawer, at): [string, string | null | undefined] => [drawer.split("\n")[0] ?? "", found?.[at]]);
  });
}

const LONG = "This is a sentence that is long enough. ".repeat(30);

test("the drawers of an exchange have the exchange's time, or else the conversation's time", () => {
  const at = (month: number): number => Date.UTC(2025, month - 1, 2) / 1000;
  const node = (id: string, parent: string | null, role: string, text: string, time?: number): [string, object] => {
    const message = { author: { role }, content: words(text), ...(time !== undefined && { create_time: time }) };
    return [id, { parent, children: [], message }];
  };
  const talk = {
    create_time: at(1),
    current_node: "a2",
    mapping: Object.fromEntries([
      node("u1", null, "user", "Which database do we take for the ledger?", at(1)),
      node("a1", "u1", "assistant", LONG, at(2)),
      node("u2", "a1", "user", "And which port does it listen on, please?", at(5)),
      node("a2", "u2", "assistant", "5433"),
    ]),
  };
  const [february, may] = ["2025-02-02T00:00:00.000Z", "2025-05-02T00:00:00.000Z"];
  expect(dated([talk]).map(([, time]) => time)).toEqual([february, february, may]);
  const said = [
    { sender: "human", text: "What is the firing ramp for bisque?", created_at: "2025-03-10T09:00:00Z" },
    { sender: "assistant", text: "One hundred degrees in an hour.", created_at: "2025-03-10T09:01:00Z" },
    { sender: "human", text: "And what is it for a glaze, then?" },
  ];
  const claude = { uuid: "x", created_at: "2025-03-09T00:00:00Z", chat_messages: said };
  expect(dated([claude])).toEqual([
    ["> What is the firing ramp for bisque?", "2025-03-10T09:01:00Z"],
    ["> And what is it for a glaze, then?", "2025-03-09T00:00:00Z"],
  ]);
  const day = [
    { type: "message", user: "U01", text: "The reindex of the parcels begins now", ts: "1714550400.000100" },
    { type: "message", user: "U02", text: "Postmortem: it has finished after 3h12m", ts: "1714561920.000100" },
    { type: "message", user: "U01", text: "Thanks, I shall write that down today", ts: "1714564800.5" },
  ];
  expect(dated(day).map(([, time]) => time)).toEqual(["2024-05-01T11:12:00.000Z", "2024-05-01T12:00:00.500Z"]);
});

test("the miner files a conversation with only one message", () => {
  const alone = chatGpt([["u1", null, "user", words("Remember the spare key.")]]);
  const talk = chatGpt(REGENERATED, { current_node: "a2" });
  expect(texts([alone, talk])).toEqual(["> Remember the spare key.\n", ACCEPTED]);
  expect(texts([alone])).toEqual(["> Remember the spare key.\n"]);
  const claude = { uuid: "x", name: "", chat_messages: [{ sender: "human", text: "Remember the kiln." }] };
  expect(texts([claude, { uuid: "y", chat_messages: [] }])).toEqual(["> Remember the kiln.\n"]);
});

test("numbers in a tool's input are written as Python writes them", () => {
  expect(jsonDumps([1e-5, -1.5e-7, 0.0001, 0.00012, 12, 1e22])).toBe("[1e-05,-1.5e-07,0.0001,0.00012,12,1e+22]");
});
