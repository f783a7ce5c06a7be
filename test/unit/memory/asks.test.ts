import { expect, test } from "vitest";
import { askedFor } from "../../../src/memory/search/asks.ts";

test.each([
  [
    "Can you list the order in which I brought up aspects of testing throughout our chats? Mention only five items.",
    "order",
    "testing",
  ],
  ["Walk me through the sequence in which I raised the issues with logins.", "order", "logins"],
  ["Give me a comprehensive summary of the feedback I got.", "all", "the feedback I got"],
  ["Summarise the troubles with my disks so far.", "all", "the troubles with my disks"],
  ["How did my budget progress over time?", "all", "my budget"],
  ["List all my preferences about code.", "all", "all my preferences about code"],
])("%s asks for an overview of everything", (query, everything, subject) => {
  expect(askedFor(query)).toMatchObject({ everything, subject, isPast: true });
});

test.each([
  "in the order of the list",
  "sort order of keys",
  "what is in the summary table",
  "every argument of fs.cp",
])("%s does not ask for an overview of everything", (query) => {
  const { everything, subject } = askedFor(query);
  expect({ everything, subject }).toEqual({ everything: undefined, subject: query });
});

test.each([
  ["what is the latest release?", "newest"],
  ["what do we use now", "newest"],
  ["which name did it have at the very beginning?", "oldest"],
  ["my first long run", "oldest"],
  ["the first argument of open", undefined],
  ["what happened last week", undefined],
  ["how long does the battery last", undefined],
])("the question %s asks for the newest or the oldest drawers: %s", (query, end) => {
  expect(askedFor(query).end).toBe(end);
});

test("a prompt that only agrees, thanks or greets counts as small talk", () => {
  for (const said of ["ok thanks, go on", "Yes please!", "sounds good to me, let's do it", "hello, how are you today?"])
    expect(askedFor(said).isSmallTalk, said).toBe(true);
  for (const asked of [
    ...["ok, now the deploy", "where is the key?", "thanks for nginx", "谢谢", "???", ""],
    ...["What did we do today?", "What's next?", "what works", "go", "next", '"keep going"', '"ok"'],
  ])
    expect(askedFor(asked).isSmallTalk, asked).toBe(false);
});
