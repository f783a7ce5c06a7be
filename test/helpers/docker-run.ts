/**
 * Makes names for containers, images, networks and volumes of a test. A name contains the test's process, so a sweep can find and remove
 * the leftovers of killed runs.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { execa } from "execa";

const PREFIX = "palace-run";
const NAME = /^palace-run-(\d+)-(\d+)-(\d+)-/;
const LISTS = [
  { list: ["ps", "--all", "--format", "{{.Names}}"], remove: ["rm", "--force", "--volumes"] },
  { list: ["network", "ls", "--format", "{{.Name}}"], remove: ["network", "rm"] },
  { list: ["volume", "ls", "--format", "{{.Name}}"], remove: ["volume", "rm"] },
  { list: ["image", "ls", "--format", "{{.Repository}}:{{.Tag}}"], remove: ["image", "rm"] },
] as const;

/** Namespace of process ids. A pid is unique only within its namespace. */
const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";

/** Returns a name for a container, image, network or volume. `what` is in lower case and unique within the process. */
export function dockerName(what: string): string {
  return [PREFIX, namespace, process.pid, startOf(process.pid), what].join("-");
}

/** Returns a process's start time in clock ticks since boot. A pid may be reused, but not with the same start time. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** Returns true if the process that made this name has certainly ended. */
export function isLeftover(name: string): boolean {
  const [, made, pid, start] = NAME.exec(name) ?? [];
  return made === namespace && startOf(Number(pid)) !== start;
}

let swept: Promise<void> | undefined;

/** Removes the leftovers of killed runs from Docker, once per process. */
export function sweepLeftovers(): Promise<void> {
  return (swept ??= sweep());
}

async function sweep(): Promise<void> {
  for (const { list, remove } of LISTS) {
    const { stdout } = await execa("docker", list, { reject: false });
    const names = [...new Set(stdout.split("\n"))].filter(isLeftover);
    // Ignores errors, because another run may be removing the same leftovers.
    if (names.length > 0) await execa("docker", [...remove, ...names], { reject: false });
  }
}
