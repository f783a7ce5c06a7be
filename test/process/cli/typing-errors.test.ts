/** A typing error is answered with the option or wing that was probably meant. */
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

test("an unknown option is an error that offers the nearest one, and an unknown wing is named", async () => {
  await using palace = createTestPalace();
  const bogus = await palace.run("palace", ["search", "x", "--limt", "3"]);
  expect(bogus.code).toBe(2);
  expect(bogus.stderr).toMatch(/Unknown option '--limt'; did you mean --limit\?\n {2}usage: .*palace search/);
  const far = await palace.run("palace", ["status", "--bogus"]);
  expect(far.code).toBe(2);
  expect(far.stderr).toMatch(/Unknown option '--bogus'\n {2}usage: .*palace status/);
  await palace.run("palace", ["call", "add_drawer", '{"wing":"notes","room":"r","content":"a key behind the door"}']);
  const wrong = await palace.run("palace", ["search", "key", "--wing", "note"]);
  expect(wrong.stderr).toContain("there is no wing note; did you mean notes?");
  const json = await palace.run("palace", ["search", "key", "--wing", "nope", "--json"]);
  expect(json.stderr).toContain("there is no wing nope");
  expect(JSON.parse(json.stdout)).toMatchObject({ results: [] });
  const closets = await palace.run("palace", ["closets", "rebuild", "--wing", "note"]);
  expect(closets.stderr).toContain("there is no wing note; did you mean notes?");
  const right = await palace.run("palace", ["search", "key", "--wing", "notes"]);
  expect(right.stderr).not.toContain("there is no wing");
});
