/** Tests which mount contains a folder, and on which file systems locks count as reliable. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasCoherentLocks, mountOf, parseMountInfo } from "../../../src/base/mount.ts";

const line = (point: string, type: string): string => `36 35 98:0 / ${point} rw,noatime shared:1 - ${type} source rw`;

test("a path belongs to its longest mount point, and to the later of two equal mount points", () => {
  const folder = mkdtempSync(join(tmpdir(), "mount-"));
  try {
    mkdirSync(join(folder, "a b/c"), { recursive: true });
    const table = parseMountInfo(
      [
        line("/", "ext4"),
        line(folder, "xfs"),
        line(`${folder}/a\\040b`, "ext4"),
        line(`${folder}/a\\040b`, "fuse.virtiofs"),
      ].join("\n"),
    );
    expect(mountOf(join(folder, "a b/c/not/there"), table)).toEqual({ type: "fuse.virtiofs", point: `${folder}/a b` });
    expect(mountOf(join(folder, "a bc"), table)?.type).toBe("xfs");
    expect(mountOf("/nowhere", table)?.type).toBe("ext4");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("locks count as reliable on the kernel's file systems and as unreliable on shared folders", () => {
  for (const type of ["ext4", "overlay", "tmpfs", "nfs4"]) expect(hasCoherentLocks({ type, point: "/" })).toBe(true);
  for (const type of ["fuse.grpcfuse", "virtiofs", "9p", "fuse", "vboxsf", "cifs", "fakeowner"])
    expect(hasCoherentLocks({ type, point: "/" }), type).toBe(false);
  // Some systems have no mount table.
  expect(hasCoherentLocks(undefined)).toBe(true);
  expect(mountOf("/", [])).toBeUndefined();
});
