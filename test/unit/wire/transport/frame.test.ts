/** Tests of lines that are too long, and of the id of a request that cannot be read. */
import { expect, test } from "vitest";
import { FrameSplitter, idOfUnread, isDeeper } from "../../../../src/wire/transport/frame.ts";

const idOf = (line: string): unknown => idOfUnread(Buffer.from(line), Buffer.from(line));

test("the reader finds a request's id at the beginning or end, and not inside the parameters", () => {
  const call = '"method":"tools/call","params":{"id":8,"text":"\\"id\\":9}"';
  expect(idOf(`{"jsonrpc":"2.0","id":7,${call}}}`)).toBe(7);
  expect(idOf(`{ "id" : "seven", "jsonrpc": "2.0", ${call}}}`)).toBe("seven");
  expect(idOf(`{${call}},"jsonrpc":"2.0","id":7}`)).toBe(7);
  expect(idOf(`{${call}}, "id": -7 }\r`)).toBe(-7);
  expect(idOf(`{${call}}}`)).toBeNull();
  expect(idOf('{"method":"m","params":{"id":8}}')).toBeNull();
  expect(idOf('{"method":"m","params":{"a":1,"id":8}}')).toBeNull();
  expect(idOf('{"jsonrpc":"2.0","id":null,"method":"m"}')).toBeNull();
  // Nobody must answer a message that is itself an answer.
  expect(idOf('{"jsonrpc":"2.0","id":7,"result":{}}')).toBeNull();
});

test("the reader returns the head and tail of a too long line and reads the next line", () => {
  const splitter = new FrameSplitter(8, 1_000_000);
  const line = `${"h".repeat(1024)}${"x".repeat(9_000)}${"t".repeat(256)}`;
  const chunks = `${line}\nnext\n`.match(/[^]{1,100}/g) ?? [];
  const frames = chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk)));
  expect(frames).toEqual([
    { oversize: true, head: Buffer.from("h".repeat(1024)), tail: Buffer.from("t".repeat(256)) },
    { bytes: Buffer.from("next") },
  ]);
});

test("the reader accepts a line of the maximum length and refuses a longer line", () => {
  const splitter = new FrameSplitter(8);
  expect(splitter.push(Buffer.from("12345678\n"))).toEqual([{ bytes: Buffer.from("12345678") }]);
  expect(splitter.push(Buffer.from("123456789\n"))).toMatchObject([{ oversize: true }]);
});

test("a line without an end is returned as too long once it is longer than `returnedAtBytes`", () => {
  const splitter = new FrameSplitter(8, 16);
  expect(splitter.push(Buffer.from("a".repeat(16)))).toEqual([]);
  expect(splitter.push(Buffer.from("b"))).toMatchObject([{ oversize: true }]);
  expect(splitter.push(Buffer.from("b".repeat(100)))).toEqual([]);
  expect(splitter.push(Buffer.from("\n{}\n"))).toEqual([{ bytes: Buffer.from("{}") }]);
});

test("the reader counts brackets only outside strings", () => {
  const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  expect([isDeeper(nested(8), 8), isDeeper(nested(9), 8)]).toEqual([false, true]);
  expect(isDeeper(JSON.stringify({ text: `\\"]}${nested(20)}\\` }), 8)).toBe(false);
  expect(isDeeper(`{"a":"\\\\","b":${nested(8)}}`, 8)).toBe(true);
  // Brackets that are closed again do not add up to a deep level.
  expect(isDeeper(`[${Array.from({ length: 20 }, () => "[{}]").join(",")}]`, 8)).toBe(false);
});
