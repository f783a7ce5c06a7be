/** On a full disk a write can store only a part without an error. Such a part replaced the whole file. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeFileAtomic } from "../../src/base/atomic-file.ts";

const why = process.getuid?.() === 0 && process.platform === "linux" ? undefined : "a small disk needs root on Linux";
if (why !== undefined) console.log(`left out: short writes (${why})`);

test.skipIf(why)("a write that does not fit on the disk fails and leaves the old file unchanged", () => {
  const folder = mkdtempSync(join(tmpdir(), "short-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
  try {
    const file = join(folder, "file");
    writeFileAtomic(file, "what was there before\n");
    expect(() => writeFileAtomic(file, "x".repeat(1_000_000))).toThrow(expect.objectContaining({ code: "ENOSPC" }));
    expect(readFileSync(file, "utf8")).toBe("what was there before\n");
    expect(readdirSync(folder)).toEqual(["file"]);
  } finally {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  }
});
