import { expect, test } from "vitest";
import { decodeText } from "../../../src/feeders/decode.ts";

const latin = (text: string): Buffer => Buffer.from(text, "latin1");

test("a byte order mark decides the encoding and does not count as text", () => {
  const little = Buffer.from("\uFEFFBrücke\n", "utf16le");
  const big = Buffer.from(little).swap16();
  for (const bytes of [little, big, Buffer.from("\uFEFFBrücke\n")])
    expect(decodeText(bytes)).toEqual({ text: "Brücke\n", lost: 0 });
});

test("bytes that are not UTF-8 are read as Windows-1252 if possible", () => {
  expect(decodeText(latin("Br\xfcckenpr\xfcfung, laut \x84Plan\x93 \x80 5"))).toEqual({
    text: "Brückenprüfung, laut „Plan“ € 5",
    lost: 0,
  });
});

test("the reader counts the lost characters of other encodings and of damaged UTF-8", () => {
  // The bytes are GBK and Shift-JIS.
  for (const bytes of [latin("plan \xd6\xd0\xce\xc4\xce\xc4\xb5\xb5"), latin("\x83e\x83X\x83g \x8f\x9c")])
    expect(decodeText(bytes).lost).toBeGreaterThan(0);
  const damaged = Buffer.concat([Buffer.from("Brücke über\n"), Buffer.of(0xff)]);
  expect(decodeText(damaged)).toEqual({ text: "Brücke über\n\uFFFD", lost: 1 });
});
