/** Compares the message stream's reading of lines and JSON with a second, slower implementation. */
import { expect } from "vitest";
import { JSON_DEPTH_MAX } from "../../src/protocol/limits.ts";
import { decodeFrame, type Frame, FrameSplitter } from "../../src/wire/transport/frame.ts";
import type { Chooser } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const LF = 10;

type Cut = { sizeMax: number; pieces: Buffer[] };

fuzz("frames", {
  count: 20_000,
  generate: (chooser): Cut => {
    const parts = chooser.some(12, () =>
      chooser.chance(0.4) ? Buffer.of(LF) : chooser.chance(0.3) ? Buffer.from(chooser.text()) : chooser.bytes(40),
    );
    return { sizeMax: chooser.between(1, 60), pieces: chooser.pieces(Buffer.concat(parts), 8) };
  },
  check: ({ sizeMax, pieces }) => {
    const splitter = new FrameSplitter(sizeMax);
    expect(pieces.flatMap((piece) => splitter.push(piece))).toEqual(framesOf(Buffer.concat(pieces), sizeMax));
  },
});

/** Splits all bytes into lines at once. An unfinished last line counts only if it is too long. */
function framesOf(bytes: Buffer, sizeMax: number): Frame[] {
  const lines = bytes.toString("latin1").split("\n");
  return lines.flatMap((line, index): Frame[] => {
    if (line.length > sizeMax)
      return [{ oversize: true, head: expect.any(Buffer) as Buffer, tail: expect.any(Buffer) as Buffer }];
    return line === "" || index === lines.length - 1 ? [] : [{ bytes: Buffer.from(line, "latin1") }];
  });
}

fuzz("frame-json", {
  count: 20_000,
  generate: (chooser): Buffer => {
    const bytes = Buffer.from(chooser.json(6));
    return chooser.chance(0.5) ? bytes : wrong(chooser, bytes);
  },
  check: (bytes) => {
    const decoded = decodeFrame(bytes);
    const expected = parsed(bytes);
    if (expected === undefined || depthOf(bytes.toString()) > JSON_DEPTH_MAX) {
      expect(decoded.ok).toBe(false);
      // A blank line is skipped. Any other invalid line gets a reason in a few words.
      if (!decoded.ok) expect(decoded.why).toMatch(/^(?:Parse error: [\w -]{5,40})?$/);
    } else expect(decoded).toEqual({ ok: true, message: expected.value });
  },
});

function wrong(chooser: Chooser, bytes: Buffer): Buffer {
  if (chooser.chance(0.5)) return chooser.damaged(bytes);
  const bad = chooser.pick([[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xef, 0xbb, 0xbf]]);
  const at = chooser.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(bad), bytes.subarray(at)]);
}

/** Parses UTF-8 JSON with Node's own functions. Returns undefined for invalid UTF-8 or invalid JSON. */
function parsed(bytes: Buffer): { value: unknown } | undefined {
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes)) return undefined;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Returns how deeply the JSON is nested. Counts brackets in the text, because JSON.parse drops the first of two equal keys. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const bracket of json.replaceAll(/"(?:[^"\\]|\\.)*"/gs, "").match(/[[\]{}]/g) ?? []) {
    depth += "[{".includes(bracket) ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
