/** Tests which notes are shown beside a prompt in a palace without a model: none for small talk, and the note with the answer for a short question. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recallText } from "../../../src/agents/recall.ts";
import type { Client } from "../../../src/wire/client/client.ts";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";

const NOTES = [
  "We deploy with kamal from the main branch.",
  "The staging database runs on port 5433.",
  "Ada prefers tabs over spaces.",
  "Option b of the migration plan was to copy the rows by hand.",
  "The CI runs on self-hosted runners.",
  "Say please in the mails to the customer.",
];

let palace: SearchPalace;
let client: Client;
beforeAll(async () => {
  palace = await createSearchPalace();
  const docs = globSync(join(import.meta.dirname, "../../../docs/{how-to,explanation}/*.md"));
  const parts = docs.flatMap((file) => readFileSync(file, "utf8").split(/\n\n+/));
  for (const text of [...parts.filter(({ length }) => length > 80), ...NOTES]) palace.file(text.slice(0, 1_500));
  palace.settle();
  client = {
    callTool: (_name: string, { query, limit }: { query: string; limit: number }) => palace.search(query, { limit }),
  } as unknown as Client;
});
afterAll(() => palace[Symbol.asyncDispose]());

test.each([
  ...[
    "1",
    "2",
    "b",
    "a) please",
    "option b please",
    "option 2",
    "the second one",
    "which one?",
    "let's go with 1",
    "both",
  ],
  ...["what?", "why?", "and now?", "what do you think?", "where were we?", "who are you?", "what else?", "hm", "hello"],
  ...["yes do that", "go on", "try again", "do it again please", "not that, the other", "I agree", "can you continue?"],
  ...["sounds good", "looks good, continue", "perfect, thanks!", "ok thanks", "never mind", "👍", "ja, mach das"],
])("the prompt %j gets no text", async (prompt) => {
  expect(await recallText(client, prompt, 10_000)).toBe("");
});

test.each([
  ["how do we deploy?", "kamal"],
  ["staging port?", "5433"],
  ["tabs or spaces?", "Ada prefers"],
  ["run the ci", "self-hosted"],
  ["CI?", "self-hosted"],
  ["what was option b of the migration?", "copy the rows"],
  ["backup?", "backup"],
  ["where is the ledger?", "ledger"],
  ["ok, and which port is staging on", "5433"],
])("the short question %j gets the note with its answer", async (prompt, answer) => {
  expect(await recallText(client, prompt, 10_000)).toContain(answer);
});
