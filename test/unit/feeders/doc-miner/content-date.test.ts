/** Tests content dates from the file stem, the front matter, the first lines and the file time (palace.md 5.2 and its test vectors). */
import { expect, test } from "vitest";
import { contentDate } from "../../../../src/feeders/doc-miner/content-date.ts";

const CHANGED = new Date(2020, 0, 31, 12).getTime();
const dated = (stem: string, text = ""): string => contentDate(stem, text, CHANGED).date;

test.each([
  ["2024-11-08-notes", "2024-11-08"],
  ["notes_2024_11_08", "2024-11-08"],
  ["April-6th-2011-notes", "2011-04-06"],
  ["6_april_2011", "2011-04-06"],
  ["Sept. 1, 2019", "2019-09-01"],
])("the stem %s has the date %s", (stem, date) => {
  expect(dated(stem, "2001-01-01")).toBe(date);
});

test.each([
  ["---\ndate: 2023-05-01\n---\nfrom 2001-01-01", "2023-05-01"],
  ['---\ntitle: x\ncreated: "2023-05-02T10:00:00Z"\n---\n', "2023-05-02"],
  ["\uFEFF---\npublished: May 3rd, 2023\n---\n", "2023-05-03"],
  ["---\npublished: 2023-05-04\ndate: 2023-05-05\n---\n", "2023-05-05"],
  ["Meeting 31/12/2023 notes", "2023-12-31"],
  ["due 03/04/2024", "2024-03-04"],
  ["from 13/04/2024 to 02/05/2024", "2024-04-13"],
  ["due 02/05/2024, then 13/05/2024", "2024-05-02"],
  ["seen 1-2-71", "1971-01-02"],
  ["seen 1-2-69", "2069-01-02"],
  ["On the 4th of July 1999 we met", "1999-07-04"],
  ["02/03/2021 and 2022-02-03", "2022-02-03"],
])("the text %j has the date %s", (text, date) => {
  expect(dated("notes", text)).toBe(date);
});

test("dates after the tenth line are ignored", () => {
  expect(dated("notes", `${"x\n".repeat(9)}2021-02-03`)).toBe("2021-02-03");
  expect(dated("notes", `${"x\n".repeat(10)}2021-02-03`)).toBe("2020-01-31");
});

test("the first ten lines are counted from the end of the front matter", () => {
  expect(dated("notes", `---\n${"k: v\n".repeat(20)}---\n2021-02-03`)).toBe("2021-02-03");
});

test("impossible days do not count as dates", () => {
  expect(dated("2024-13-40", "on 2023-02-30 or 45/45/2020")).toBe("2020-01-31");
});

test("version numbers and addresses do not count as dates", () => {
  expect(dated("notes", "release 1.2.2024 of 10.0.0.1, build 20240102, 12024-01-02")).toBe("2020-01-31");
});

test("a text without a date gets the file's modification time in local time", () => {
  expect(contentDate("notes", "nothing", CHANGED)).toEqual({ date: "2020-01-31", by: "modification time" });
});
