/** Implements `palace install` and `palace install remove`, which wire coding agents to the palace and unwire them. */
import { type AgentName, AGENTS } from "../../agents/install/agent-files.ts";
import { findAgent } from "../../agents/install/detect.ts";
import { install, type Outcome, type Parts, uninstall } from "../../agents/install/install.ts";
import { CLIENTS } from "../../agents/install/paste.ts";
import type { Rival } from "../../agents/install/rivals/rival.ts";
import { rivalsOf } from "../../agents/install/rivals/rivals.ts";
import { PalaceError } from "../../base/errors.ts";
import { defineVerb, options } from "../define-verb.ts";
import {
  assertAgent,
  isClient,
  noticeProfiles,
  noticeRivals,
  outcomeDocument,
  printOutcome,
  willChange,
  wiringParts,
} from "../report/wiring.ts";
import type { Output } from "../terminal/output.ts";

export const verb = defineVerb({
  usage: `palace install claude-code|opencode|pi|all [--dry-run]
palace install codex|gemini|cursor|vscode|zed
palace install --uninstall claude-code|opencode|pi|all

Connects a coding agent to the palace: with an MCP server, and with the hooks, plugins and skills that the agent supports. Everything else in
the agent's files stays byte for byte, comments too; a file that is changed is copied beside itself first. If you run it again, it
changes only what is wrong. It names settings that the agent prefers to ours or runs beside ours, and the command that removes them. all wires the
agents that are found on this machine. For codex and the others it prints the lines to paste.
What is written where: docs/how-to/agents.md.

  --dry-run    show what would be written, and write nothing
  --uninstall  the same as palace install remove`,
  options: options("dry-run uninstall"),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [name = ""], config, out }) => {
    const isDryRun = values["dry-run"] === true;
    const parts = wiringParts(config, values.palace);
    if (values.uninstall === true) return runUninstall(name, parts, isDryRun, out);
    if (isClient(name)) {
      const paste = CLIENTS[name](parts.launch.shim);
      return out.answer({ client: name, changed: false, ...paste }, () => {
        if (paste.command !== undefined) out.text(`Run:\n\n${paste.command}\n`);
        out.text(`${paste.command === undefined ? "Put" : "or put"} this into ${paste.file}:\n\n${paste.lines}`);
        out.notice(`nothing was changed: add these lines to ${name} yourself`);
      });
    }
    if (name !== "all") assertAgent(name, Object.keys(CLIENTS));
    const isMeant = (agent: AgentName): boolean => {
      const { program, hasFolder } = findAgent(agent, parts.places);
      return program !== undefined || hasFolder;
    };
    const words = {
      already: "already wired",
      done: "wired; new sessions use it",
      planned: "would be wired",
      blocked: "cannot be wired: a file is read-only",
      contested: "wired, but another entry replaces ours or runs beside it: see below",
      absent: "its program is not on the PATH; it is wired for a later install",
    };
    const does = (agent: AgentName): Outcome => install(agent, parts, isDryRun);
    const rivals = (agent: AgentName): Rival[] => rivalsOf(agent, parts, process.cwd());
    return wireAll({ name, isMeant, does, words, rivals, isDryRun }, parts, out);
  },
});

export const remove = defineVerb({
  usage: `palace install remove claude-code|opencode|pi|all [--dry-run]

Removes what palace install has written. If nobody has changed a file since, it gets its old content, byte for byte, or is deleted if it
did not exist before. From a file that was changed, only our part is removed. The palace itself is not touched.

  --dry-run  show what would be written, and write nothing`,
  options: options("dry-run"),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [name = ""], config, out }) =>
    runUninstall(name, wiringParts(config, values.palace), values["dry-run"] === true, out),
});

function runUninstall(name: string, parts: Parts, isDryRun: boolean, out: Output): number {
  if (name !== "all") assertAgent(name, []);
  const words = {
    already: "not wired, nothing to remove",
    done: "no longer wired",
    planned: "would be removed",
    blocked: "cannot be removed: a file is read-only",
  };
  const does = (agent: AgentName): Outcome => uninstall(agent, parts, isDryRun);
  return wireAll({ name, isMeant: () => true, does, words, isDryRun }, parts, out);
}

type Job = {
  /** The agent to wire; `all` means every agent that `isMeant` accepts. */
  name: AgentName | "all";
  isMeant: (agent: AgentName) => boolean;
  does: (agent: AgentName) => Outcome;
  words: { already: string; done: string; planned: string; blocked: string; absent?: string; contested?: string };
  rivals?: (agent: AgentName) => Rival[];
  isDryRun: boolean;
};

/** Wires or unwires agents and returns the exit code. With `all`, prints each agent's error and continues; else throws the error. */
function wireAll({ name, isMeant, does, words, rivals, isDryRun }: Job, parts: Parts, out: Output): number {
  const agents = AGENTS.filter((agent) => agent === name || (name === "all" && isMeant(agent)));
  const skipped = name === "all" ? AGENTS.filter((agent) => !agents.includes(agent)) : [];
  const documents: unknown[] = [];
  let exitCode = 0;
  for (const agent of agents)
    try {
      const outcome = does(agent);
      const { program, hasFolder } = findAgent(agent, parts.places);
      const found = program !== undefined || hasFolder;
      const beside = rivals?.(agent) ?? [];
      const more = rivals === undefined ? {} : { rivals: beside };
      documents.push({ agent, found, ...outcomeDocument(outcome, isDryRun), ...more });
      if (out.isJson) continue;
      const hasChanges = outcome.changes.some(({ action }) => willChange(action));
      const done = hasChanges ? words.done : words.already;
      const said = beside.length === 0 ? done : (words.contested ?? done);
      out.text(
        `${agent}: ${hasChanges && isDryRun ? (outcome.blocked === undefined ? words.planned : words.blocked) : said}`,
      );
      printOutcome(out, outcome, isDryRun);
      noticeRivals(out, agent, beside);
      noticeProfiles(out, agent, outcome.elsewhere);
      if (program === undefined && words.absent !== undefined) out.notice(`${agent}: ${words.absent}`);
    } catch (error) {
      if (!(error instanceof PalaceError) || name !== "all") throw error;
      const { code, message, hint } = error;
      exitCode = error.exitCode;
      documents.push({ agent, error: { code, message, hint } });
      out.notice(`${agent}: ${message}`);
      out.hint(`  ${hint}`);
    }
  if (out.isJson) out.document({ dryRun: isDryRun, agents: documents, skipped });
  else if (skipped.length > 0) out.text(`left out, not found on this machine: ${skipped.join(", ")}`);
  return exitCode;
}
