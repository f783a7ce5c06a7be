import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../../scripts/main.ts";
import { FILE, SIZE_MAX, takePicture } from "../../../scripts/screenshot.ts";

/** Returns the width and height in a PNG's header, pixels. Throws an Error for another kind of file. */
function sizeOf(png: Buffer): [width: number, height: number] {
  if (png.toString("latin1", 1, 4) !== "PNG") throw new Error("this is not a PNG");
  return [png.readUInt32BE(16), png.readUInt32BE(20)];
}

test("the script takes the picture of the README again, in the same size and with at most 150 kB", async () => {
  expect(SIZE_MAX).toBe(150_000);
  const kept = readFileSync(join(ROOT, FILE));
  const fresh = await takePicture();
  expect(sizeOf(kept)).toEqual(sizeOf(fresh));
  expect(Math.max(kept.length, fresh.length)).toBeLessThanOrEqual(SIZE_MAX);
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(`](${FILE})`);
});
