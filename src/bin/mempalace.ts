#!/usr/bin/env node
/** `mempalace VERB`: upstream's command line (palace.md 9) through the broker. The error for a verb that we lack names another command. */
import { leave } from "../base/exit-process.ts";
import "../base/node-version.ts";
import { VERSION } from "../base/version.ts";
import { PalaceError, wrongUsage } from "../base/errors.ts";
import { ABSENT } from "../cli/upstream/absent.ts";
import { endIfUnwritable, reportError, type Verb } from "../cli/define-verb.ts";

/** MemPalace's version for `--version`, because skills and scripts for MemPalace may expect it. */
const UPSTREAM = "3.11.0";
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

const VERBS: Record<string, readonly [does: string, load: () => Promise<Verb>]> = {
  init: ["Set up rooms from a folder's structure", async () => (await import("../cli/upstream/init.ts")).verb],
  mine: ["Mine files into the palace", async () => (await import("../cli/upstream/mine.ts")).verb],
  sweep: ["File every message of transcripts", async () => (await import("../cli/upstream/sweep.ts")).verb],
  split: ["Split files that contain several sessions", async () => (await import("../cli/upstream/split.ts")).verb],
  search: ["Find anything, exact words", async () => (await import("../cli/upstream/search.ts")).verb],
  status: ["Show what's been filed", async () => (await import("../cli/upstream/status.ts")).verb],
  compress: ["Summarise drawers in AAAK", async () => (await import("../cli/upstream/compress.ts")).verb],
  "wake-up": ["Show L0 + L1 wake-up context", async () => (await import("../cli/upstream/wake-up.ts")).verb],
  sync: ["Prune drawers whose sources are gone", async () => (await import("../cli/upstream/sync.ts")).verb],
  repair: ["Rebuild the palace", async () => (await import("../cli/upstream/repair.ts")).repair],
  "repair-status": ["Compare rows and vectors", async () => (await import("../cli/upstream/repair-status.ts")).verb],
  migrate: ["Rebuild a palace of an older version", async () => (await import("../cli/upstream/repair.ts")).migrate],
  hook: ["Do what a coding agent's hook asks for", async () => (await import("../cli/upstream/hook.ts")).verb],
  hallways: ["List names that occur together", async () => (await import("../cli/upstream/hallways.ts")).verb],
  daemon: ["Start, stop or look at the broker", async () => (await import("../cli/upstream/daemon.ts")).verb],
  logstream: ["Events of agents for each other", async () => (await import("../cli/coordination/logstream.ts")).verb],
  task: ["Create or run tasks of agents", async () => (await import("../cli/coordination/task.ts")).verb],
  artifact: ["Exact texts that agents hand over", async () => (await import("../cli/coordination/artifact.ts")).verb],
  instructions: ["Output skill instructions", async () => (await import("../cli/upstream/instructions.ts")).verb],
  mcp: ["Show how to register the MCP server", async () => (await import("../cli/upstream/mcp.ts")).verb],
};

endIfUnwritable("mempalace", EXIT_FAILED);
try {
  const argv = withoutBackend(process.argv.slice(2));
  let at = 0;
  while (argv[at]?.startsWith("-") === true) at += argv[at] === "--palace" ? 2 : 1;
  const [common, name, rest] = [argv.slice(0, at), argv[at] ?? "", argv.slice(at + 1)];
  const entry = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (entry !== undefined) await leave(exitCode(await (await entry[1]()).execute([...common, ...rest], process.env)));
  else if (common.includes("--version")) process.stdout.write(`MemPalace ${UPSTREAM} (palace-devbox ${VERSION})\n`);
  else if (name === "") printHelp();
  else throw refusal(name, rest);
} catch (error) {
  await leave(exitCode(reportError("mempalace", error, process.argv)));
}

function exitCode(code: number): number {
  return [0, EXIT_USAGE, EXIT_INTERRUPTED].includes(code) ? code : EXIT_FAILED;
}

function refusal(verb: string, args: readonly string[]): PalaceError {
  const absent = Object.hasOwn(ABSENT, verb) ? ABSENT[verb] : undefined;
  if (absent === undefined) return wrongUsage(`argument command: invalid choice: '${verb}'`, "mempalace --help");
  const { why, hint, actions } = absent;
  const isBare = actions !== undefined && args.every((one) => one.startsWith("-"));
  if (isBare) return wrongUsage(`usage: mempalace ${verb} ${actions}`, `not done here: ${why}; ${hint}`);
  return new PalaceError("ENGINE_UNSUPPORTED", `${verb}: ${why}`, hint);
}

/** Removes `--backend NAME` at any position, because Chroma's storage is the only one. Errors: ENGINE_UNSUPPORTED for another name. */
function withoutBackend(given: readonly string[]): string[] {
  const left: string[] = [];
  for (let index = 0; index < given.length; index++) {
    const one = given[index] ?? "";
    if (one === "--") return [...left, ...given.slice(index)];
    if (one !== "--backend" && !one.startsWith("--backend=")) {
      left.push(one);
      continue;
    }
    const name = one === "--backend" ? given[++index] : one.slice("--backend=".length);
    if (name?.trim().toLowerCase() !== "chroma")
      throw new PalaceError(
        "ENGINE_UNSUPPORTED",
        `--backend ${name ?? ""}: Chroma's format is the only one`,
        "leave it out",
      );
  }
  return left;
}

function printHelp(): void {
  const lines = Object.entries(VERBS).map(([verb, [does]]) => `    ${verb.padEnd(18)}${does}`);
  const text = [
    "usage: mempalace [-h] [--version] [--palace PALACE] VERB ...",
    "",
    "MemPalace's command line, through the broker, the only process that opens the palace.",
    "",
    ...lines,
    "",
    "mempalace VERB --help says more; palace --help lists the commands that MemPalace does not have.",
  ];
  process.stdout.write(`${text.join("\n")}\n`);
}
