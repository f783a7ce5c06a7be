import { expect, test } from "vitest";
import { quotedPhrases } from "../../../src/memory/search/phrases.ts";
import { askedDates } from "../../../src/memory/search/question-dates.ts";

const DAYS = ["2023-05-08", "2023-05-20", "2022-05-08", "2023-03-01", "2024-01-31", "2024-02-05"];
const agreeing = (query: string, now?: string): string[] => {
  const dates = askedDates(query, now);
  return DAYS.filter((day) => dates.some(({ agrees }) => agrees(day)));
};

test.each([
  ["What did Ann do on 8 May 2023?", ["2023-05-08"]],
  ["the meeting of May 8th, 2023", ["2023-05-08"]],
  ["notes of 2023-05-08", ["2023-05-08"]],
  ["What was said on the 8th of May?", ["2023-05-08", "2022-05-08"]],
  ["deploys in May 2023", ["2023-05-08", "2023-05-20"]],
  ["Where were we in March?", ["2023-03-01"]],
  ["what changed during 2024", ["2024-01-31", "2024-02-05"]],
])("the words %s mean the days %j", (query, days) => {
  expect(agreeing(query)).toEqual(days);
});

test.each([
  "may I march into the office?",
  "version 2023-13-45",
  "the 45 May",
  "what happened last week",
  "error 2023 in the log",
])("the words %s mean no particular day", (query) => {
  expect(agreeing(query)).toEqual([]);
});

test.each([
  ["what did we decide before May 2023?", ["2022-05-08", "2023-03-01"]],
  ["the plan until the 8th of May 2023", ["2023-05-08", "2022-05-08", "2023-03-01"]],
  ["what changed after 2023-05-08", ["2023-05-20", "2024-01-31", "2024-02-05"]],
  ["everything since 2024-02", ["2024-02-05"]],
  ["what did we say after 2023?", ["2024-01-31", "2024-02-05"]],
  ["what was agreed prior to 2023 and dropped", ["2022-05-08"]],
  ["Later than February 5, 2024", []],
  ["what failed after 2023 ms", []],
  ["before 2023-13-45", []],
  ["the week before 8 May 2023", ["2023-05-08"]],
  ["two days after 8 May 2023", ["2023-05-08"]],
])("the words %s mean the days before or after the date that they name", (query, days) => {
  expect(agreeing(query)).toEqual(days);
  expect(askedDates(query, undefined).some(({ agrees }) => agrees(""))).toBe(false);
});

test("a relative date such as `last week` is counted from the current day", () => {
  const now = "2024-02-07T10:00:00";
  expect(agreeing("what did we do last week?", now)).toEqual(["2024-01-31"]);
  expect(agreeing("this week's notes", now)).toEqual(["2024-02-05"]);
  expect(agreeing("2 days ago", now)).toEqual(["2024-02-05"]);
  expect(agreeing("last month", now)).toEqual(["2024-01-31"]);
  expect(agreeing("last year", now)).toEqual(["2023-05-08", "2023-05-20", "2023-03-01"]);
});

test("a quoted text is a phrase; inches, apostrophes and single quotation marks make no phrase", () => {
  expect(quotedPhrases('who said "blue cabinet" and “tide tables”?')).toEqual(["blue cabinet", "tide tables"]);
  expect(quotedPhrases('"one", "one" ("two")')).toEqual(["one", "two"]);
  expect(quotedPhrases('a 5" pipe and a 6" pipe, the crew\'s "mess')).toEqual([]);
  expect(quotedPhrases('"?!" "" " "')).toEqual([]);
});
