/**
 * A message whose LF came alone, at the start of the next packet, was taken for a blank line: the request got no answer, and
 * an answer never reached its request. Found by the fuzzing of frames.
 */
import { expect, test } from "vitest";
import { FrameSplitter } from "../../src/wire/transport/frame.ts";

test("a message is whole when its line end comes in a packet of its own", () => {
  const splitter = new FrameSplitter();
  expect(splitter.push(Buffer.from('{"id":1}'))).toEqual([]);
  expect(splitter.push(Buffer.from("\n"))).toEqual([{ bytes: Buffer.from('{"id":1}') }]);
});
