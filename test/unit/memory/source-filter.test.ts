/** Tests the limits of a `source_file` filter in MemPalace 3.11, and the metadata keys that agents do not see. */
import { expect, test } from "vitest";
import { shownMetadata } from "../../../src/memory/drawer/logical.ts";
import { validSourceFilter } from "../../../src/memory/text/validate.ts";

test("the source filter is trimmed, and refused with more than 4096 characters", () => {
  const longest = "ä😀".repeat(2048);
  expect(validSourceFilter(`  ${longest}\n`)).toBe(longest);
  expect(() => validSourceFilter(`${longest}x`)).toThrow("source_file exceeds maximum length of 4096 characters");
});

test("an answer hides metadata keys that Chroma reserves", () => {
  const metadata = { wing: "w", "chroma:uri": "file:///x", "chroma:document": "twice", "my:chroma:key": 1, chroma: 2 };
  expect(shownMetadata(metadata)).toEqual({ wing: "w", "my:chroma:key": 1, chroma: 2 });
});
