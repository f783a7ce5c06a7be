/** Code shared by the verbs of `palace install`: the commands with which agents start our programs, and the report of each change. */
import { basename, dirname, join } from "node:path";
import { createTwoFilesPatch } from "diff";
import type { Config } from "../../config/config.ts";
import { AGENTS, type AgentName } from "../../agents/install/agent-files.ts";
import type { Outcome, Parts } from "../../agents/install/install.ts";
import { launchOf } from "../../agents/install/launch.ts";
import { CLIENTS } from "../../agents/install/paste.ts";
import type { Change } from "../../agents/install/plan.ts";
import type { Rival } from "../../agents/install/rivals/rival.ts";
import { armFault } from "../../base/fault-point.ts";
import { quoted } from "../../base/shell-word.ts";
import { wrongUsage } from "../../base/errors.ts";
import { PACKAGE_ROOT } from "../executable.ts";
import { nearestWord } from "../../base/nearest.ts";
import type { Output } from "../terminal/output.ts";

/** Returns the folders and commands that the installer needs. With `palace` (--palace), the agents' commands get --palace, too. */
export function wiringParts(config: Config, palace: string | undefined): Parts {
  armFault(config.fault);
  const { agents: places, paths } = config;
  return {
    places,
    launch: launchOf({
      root: PACKAGE_ROOT,
      node: process.execPath,
      folders: places.programFolders,
      palace: palace === undefined ? [] : ["--palace", paths.home],
    }),
    shipped: join(PACKAGE_ROOT, "dist/agents"),
    stateDir: paths.stateDir,
  };
}

/** Errors: CONFIG_USAGE for an unknown name. */
export function assertAgent(name: string, others: readonly string[]): asserts name is AgentName {
  const all = [...AGENTS, ...others];
  if (AGENTS.some((one) => one === name)) return;
  const near = nearestWord(name, all);
  const hint = near === undefined ? `one of ${all.join(", ")}, all` : `did you mean ${near}?`;
  throw wrongUsage(`there is no agent ${name}`, hint);
}

export const isClient = (name: string): name is keyof typeof CLIENTS => Object.hasOwn(CLIENTS, name);

const DONE: Readonly<Record<Change["action"], string>> = {
  ...{ already: "already", skip: "left out", write: "written", remove: "removed" },
};
const PLANNED: Readonly<Record<Change["action"], string>> = { ...DONE, write: "to write", remove: "to remove" };

export function printOutcome(out: Output, { changes, backups, blocked }: Outcome, isDryRun: boolean): void {
  for (const { path, kind, action, note, current, next } of changes) {
    // Skips a file that neither exists now nor will exist.
    if (action === "already" && current === undefined && next === undefined) continue;
    const backup = backups.get(path);
    const before = backup === undefined ? undefined : `before: ${backup}`;
    const whole = isDryRun && action === "write" && isWhole(kind) ? `${lineCount(next)} lines, all of them ours` : "";
    const more = [note, before, whole].filter(Boolean).join("; ");
    out.text(`  ${(isDryRun ? PLANNED : DONE)[action].padEnd(9)} ${path}${more === "" ? "" : ` (${more})`}`);
  }
  if (!isDryRun) return;
  if (blocked !== undefined) {
    out.notice(blocked.message);
    out.notice("  put the lines below into the file that this file is made from, or make this file writable");
  }
  const patch = diffOf(changes);
  if (patch !== "") out.text(`\n${patch.trimEnd()}`);
}

/** Lists the profiles of an agent that are still wired after an uninstall, each with the command that unwires it. */
export function noticeProfiles(out: Output, agent: AgentName, folders: readonly string[]): void {
  for (const folder of folders) {
    out.notice(`${agent}: another profile stays wired: ${folder}`);
    out.notice(`  ${profileOf(agent, folder)} ${out.spelled(`palace install remove ${agent}`)}`);
  }
}

/** Returns the prefix that makes a shell command use the agent's profile in `folder`. */
function profileOf(agent: AgentName, folder: string): string {
  if (agent === "pi") return `PI_CODING_AGENT_DIR=${quoted(folder)}`;
  if (agent === "opencode") return `XDG_CONFIG_HOME=${quoted(dirname(folder))}`;
  // The usual profile keeps its servers in a file beside its folder. With CLAUDE_CONFIG_DIR set, Claude Code would not read that file.
  return basename(folder) === ".claude" ? "env -u CLAUDE_CONFIG_DIR" : `CLAUDE_CONFIG_DIR=${quoted(folder)}`;
}

const RIVALS_SHOWN_MAX = 10;

export function noticeRivals(out: Output, agent: string, rivals: readonly Rival[]): void {
  for (const { what, where, wins, takeOut } of rivals.slice(0, RIVALS_SHOWN_MAX)) {
    out.notice(`${agent}: ${what} (${where}): ${wins}`);
    out.notice(`  ${takeOut}`);
  }
  const more = rivals.length - RIVALS_SHOWN_MAX;
  if (more > 0) out.hint(`${agent}: and ${more} more: palace install status --json`);
}

export function outcomeDocument(
  { changes, backups, elsewhere, blocked }: Outcome,
  isDryRun: boolean,
): Record<string, unknown> {
  const files = changes.map(({ path, action, note }) => ({
    ...{ path, action },
    ...(note === undefined ? {} : { note }),
    ...(backups.has(path) ? { backup: backups.get(path) } : {}),
  }));
  return {
    changed: files.some(({ action }) => willChange(action)),
    files,
    ...(blocked === undefined ? {} : { readOnly: blocked.message }),
    ...(elsewhere.length > 0 ? { stillWired: elsewhere } : {}),
    ...(isDryRun ? { diff: diffOf(changes) } : {}),
  };
}

export const willChange = (action: Change["action"]): boolean => action === "write" || action === "remove";

/** Returns true for a file with only our content. The report leaves out that content. */
const isWhole = (kind: Change["kind"]): boolean => kind === "own" || kind === "seed";

function lineCount(content: Buffer | undefined): number {
  return content === undefined ? 0 : content.toString("utf8").split("\n").length - 1;
}

function diffOf(changes: readonly Change[]): string {
  return changes
    .filter(({ action, kind }) => willChange(action) && kind !== "folder" && !isWhole(kind))
    .map(({ path, current, next }) =>
      createTwoFilesPatch(
        current === undefined ? "/dev/null" : path,
        next === undefined ? "/dev/null" : path,
        current?.toString("utf8") ?? "",
        next?.toString("utf8") ?? "",
      ).replace(/^(?:Index: .*\n)?=+\n/, ""),
    )
    .join("");
}
