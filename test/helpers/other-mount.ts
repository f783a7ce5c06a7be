/** The same folder under another name, in a mount namespace of one process's own; not a link, which would be resolved. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** Why there can be none here; undefined: there can. */
export const otherMountMissing = ((): string | undefined => {
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "a mount namespace needs root and unshare";
  }
})();

/** The folder's other path, and the words before a command that is to see it there. */
export function throughOtherMount(folder: string, mount: string): { path: string; wrapper: string[] } {
  mkdirSync(mount, { recursive: true });
  const script = `mount --bind "$1" "$2" && shift 2 && exec "$@"`;
  return { path: mount, wrapper: ["unshare", "--mount", "sh", "-c", script, "sh", folder, mount] };
}
