/** Finds the mount of a folder in /proc/self/mountinfo (proc(5)), and whether every machine that uses the mount sees its locks. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { orElse } from "./or-else.ts";

export type Mount = { type: string; point: string };

/** Local file systems, and network file systems whose server manages the locks of all clients. */
const COHERENT = new Set(
  `ext2 ext3 ext4 xfs btrfs zfs f2fs bcachefs jfs reiserfs overlay aufs tmpfs ramfs nfs nfs4 ceph erofs squashfs rootfs
   ecryptfs`.split(/\s+/),
);

/** Returns the mount of `path`, or of its nearest existing parent. Returns undefined on macOS. */
export function mountOf(path: string, table = readTable()): Mount | undefined {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  const real = realpathSync.native(place);
  return table
    .filter(({ point }) => point === "/" || real === point || real.startsWith(`${point}/`))
    .reduce<Mount | undefined>(
      (best, mount) => (mount.point.length >= (best?.point.length ?? 0) ? mount : best),
      undefined,
    );
}

/** Returns false for FUSE, folders shared with a virtual machine and similar: programs on the other side do not see our locks. */
export function hasCoherentLocks(mount: Mount | undefined): boolean {
  return mount === undefined || COHERENT.has(mount.type);
}

function readTable(): Mount[] {
  return orElse(() => parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8")), []);
}

export function parseMountInfo(text: string): Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const point = before.split(" ")[4];
    const type = after.split(" ")[0];
    if (point === undefined || type === undefined || type === "") return [];
    return [
      { type, point: point.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(parseInt(octal, 8))) },
    ];
  });
}
