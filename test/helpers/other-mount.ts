/** Shows a folder under a second path, in a mount namespace of one process. A symbolic link is not enough: programs resolve it. */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** Returns why a mount namespace is impossible here, or undefined if it is possible. */
export const otherMountMissing = ((): string | undefined => {
  try {
    execFileSync("unshare", ["--mount", "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "a mount namespace needs root and unshare";
  }
})();

/** Returns the folder's other path, and the words to put before a command that must see the folder there. */
export function throughOtherMount(folder: string, mount: string): { path: string; wrapper: string[] } {
  mkdirSync(mount, { recursive: true });
  const script = `mount --bind "$1" "$2" && shift 2 && exec "$@"`;
  return { path: mount, wrapper: ["unshare", "--mount", "sh", "-c", script, "sh", folder, mount] };
}
