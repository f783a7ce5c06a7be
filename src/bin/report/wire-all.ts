/** Wires agents, or takes that back, one after another: one that cannot be does not keep the others. Imported by install and uninstall. */
import { AGENTS, type AgentName } from "../../install/agent-files.ts";
import { findAgent } from "../../install/detect.ts";
import type { Outcome, Parts } from "../../install/install.ts";
import { PalaceError } from "../../protocol/errors.ts";
import type { Output } from "../terminal/output.ts";
import { outcomeDocument, printOutcome, willChange } from "./wiring.ts";

type Job = {
  /** `all`: those that `isMeant` says. */
  name: AgentName | "all";
  isMeant: (agent: AgentName) => boolean;
  does: (agent: AgentName) => Outcome;
  words: { already: string; done: string; planned: string; absent?: string };
  isDryRun: boolean;
};

/** The exit code. Errors: of an agent that was named. */
export function wireAll({ name, isMeant, does, words, isDryRun }: Job, parts: Parts, out: Output): number {
  const agents = AGENTS.filter((agent) => agent === name || (name === "all" && isMeant(agent)));
  const skipped = name === "all" ? AGENTS.filter((agent) => !agents.includes(agent)) : [];
  const documents: unknown[] = [];
  let exitCode = 0;
  for (const agent of agents)
    try {
      const outcome = does(agent);
      const { program, hasFolder } = findAgent(agent, parts.places);
      documents.push({ agent, found: program !== undefined || hasFolder, ...outcomeDocument(outcome, isDryRun) });
      if (out.isJson) continue;
      const hasChanges = outcome.changes.some(({ action }) => willChange(action));
      out.text(`${agent}: ${hasChanges ? (isDryRun ? words.planned : words.done) : words.already}`);
      printOutcome(out, outcome, isDryRun);
      if (program === undefined && words.absent !== undefined) out.notice(`${agent}: ${words.absent}`);
    } catch (error) {
      if (!(error instanceof PalaceError) || name !== "all") throw error;
      const { code, message, hint } = error;
      exitCode = error.exitCode;
      documents.push({ agent, error: { code, message, hint } });
      out.notice(`${agent}: ${message}\n  ${hint}`);
    }
  if (out.isJson) out.document({ dryRun: isDryRun, agents: documents, skipped });
  else if (skipped.length > 0) out.text(`left out, not found on this machine: ${skipped.join(", ")}`);
  return exitCode;
}
