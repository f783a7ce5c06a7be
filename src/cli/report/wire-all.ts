/** Wires agents, or takes that back, one after another: one that cannot be does not keep the others. Imported by install and uninstall. */
import { AGENTS, type AgentName } from "../../agents/install/agent-files.ts";
import { findAgent } from "../../agents/install/detect.ts";
import type { Outcome, Parts } from "../../agents/install/install.ts";
import type { Rival } from "../../agents/install/rivals/rival.ts";
import { PalaceError } from "../../base/errors.ts";
import type { Output } from "../terminal/output.ts";
import { noticeProfiles, noticeRivals, outcomeDocument, printOutcome, willChange } from "./wiring.ts";

type Job = {
  /** `all`: every agent that `isMeant` accepts. */
  name: AgentName | "all";
  isMeant: (agent: AgentName) => boolean;
  does: (agent: AgentName) => Outcome;
  words: { already: string; done: string; planned: string; blocked: string; absent?: string; contested?: string };
  /** Lists the rivals of our wiring that the agent has or prefers. */
  rivals?: (agent: AgentName) => Rival[];
  isDryRun: boolean;
};

/** The exit code. Errors: of an agent that was named. */
export function wireAll({ name, isMeant, does, words, rivals, isDryRun }: Job, parts: Parts, out: Output): number {
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
      out.notice(out.spelled(`  ${hint}`));
    }
  if (out.isJson) out.document({ dryRun: isDryRun, agents: documents, skipped });
  else if (skipped.length > 0) out.text(`left out, not found on this machine: ${skipped.join(", ")}`);
  return exitCode;
}
