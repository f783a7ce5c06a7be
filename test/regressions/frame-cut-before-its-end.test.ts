/** A line feed at the start of the next packet was read as a blank line, and the message before it was lost. Found by fuzzing. */
import { expect, test } from "vitest";
import { FrameSplitter } from "../../src/wire/transport/frame.ts";

test("a message is complete when its line end arrives in a separate packet", () => {
  const splitter = new FrameSplitter();
  expect(splitter.push(Buffer.from('{"id":1}'))).toEqual([]);
  expect(splitter.push(Buffer.from("\n"))).toEqual([{ bytes: Buffer.from('{"id":1}') }]);
});
