/**
 * Names for what a test makes in Docker: each holds the process that made it, so two runs never meet in a name, and what a
 * killed run left is known by its dead process. A sweep removes only such leftovers, never what a live process made.
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

/** Process ids mean something within one namespace only. */
const namespace = /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";

/** `what` is in lower case and unique within the process. */
export function dockerName(what: string): string {
  return [PREFIX, namespace, process.pid, startOf(process.pid), what].join("-");
}

/** In clock ticks since boot: a process id is used again, but not with this. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** Whether the process that made this name is known to be gone. */
export function isLeftover(name: string): boolean {
  const [, made, pid, start] = NAME.exec(name) ?? [];
  return made === namespace && startOf(Number(pid)) !== start;
}

let swept: Promise<void> | undefined;

/** Removes what dead processes left; once in a process. */
export function sweepLeftovers(): Promise<void> {
  return (swept ??= sweep());
}

async function sweep(): Promise<void> {
  for (const { list, remove } of LISTS) {
    const { stdout } = await execa("docker", list, { reject: false });
    const names = [...new Set(stdout.split("\n"))].filter(isLeftover);
    // Another run may sweep the same at this moment.
    if (names.length > 0) await execa("docker", [...remove, ...names], { reject: false });
  }
}
