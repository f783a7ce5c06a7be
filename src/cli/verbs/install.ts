/** `palace install`: wires coding agents to the palace. */
import { findAgent } from "../../agents/install/detect.ts";
import { install } from "../../agents/install/install.ts";
import type { Rival } from "../../agents/install/rivals/rival.ts";
import { rivalsOf } from "../../agents/install/rivals/rivals.ts";
import { CLIENTS } from "../../agents/install/paste.ts";
import { assertAgent, isClient, wiringParts } from "../report/wiring.ts";
import { wireAll } from "../report/wire-all.ts";
import { defineVerb, options } from "../define-verb.ts";
import { runUninstall } from "./uninstall.ts";

const USAGE = `palace install claude-code|opencode|pi|all [--dry-run]
palace install codex|gemini|cursor|vscode|zed
palace install --uninstall claude-code|opencode|pi|all

Gives a coding agent the palace: its tools as an MCP server, and what the agent has for hooks, plugins and skills. Everything else in
the agent's files stays byte for byte, comments too; a file that is changed is copied beside itself first. If you run it again, it
keeps what is right. It names settings that the agent prefers to ours or runs beside ours, and the command that removes them. all wires the
agents that are found on this machine. For codex and the others it prints the lines to paste.
What is written where: docs/how-to/agents.md.

  --dry-run    show what would be written, and write nothing
  --uninstall  the same as palace install remove`;

export const verb = defineVerb({
  usage: USAGE,
  options: options("dry-run uninstall"),
  args: [1, 1],
  place: "any",
  run: async ({ values, args: [name = ""], config, out }) => {
    const isDryRun = values["dry-run"] === true;
    const parts = wiringParts(config, (values as { palace?: string }).palace);
    if (values.uninstall === true) return runUninstall(name, parts, isDryRun, out);
    if (isClient(name)) {
      const paste = CLIENTS[name](parts.launch.shim);
      return out.answer({ client: name, changed: false, ...paste }, () => {
        if (paste.command !== undefined) out.text(`Run:\n\n${paste.command}\n`);
        out.text(`${paste.command === undefined ? "Put" : "or put"} this into ${paste.file}:\n\n${paste.lines}`);
        out.notice(`nothing was changed: the settings of ${name} are yours to write`);
      });
    }
    if (name !== "all") assertAgent(name, Object.keys(CLIENTS));
    const isMeant = (agent: Parameters<typeof findAgent>[0]): boolean => {
      const { program, hasFolder } = findAgent(agent, parts.places);
      return program !== undefined || hasFolder;
    };
    const words = {
      already: "already wired",
      done: "wired; sessions begun from now on have it",
      planned: "would be wired",
      blocked: "cannot be wired: a file is read-only",
      contested: "wired, but something else on this machine decides, too: see below",
      absent: "its program is not on the PATH; wired for when it is",
    };
    const does = (agent: Parameters<typeof install>[0]): ReturnType<typeof install> => install(agent, parts, isDryRun);
    const rivals = (agent: Parameters<typeof install>[0]): Rival[] => rivalsOf(agent, parts, process.cwd());
    return wireAll({ name, isMeant, does, words, rivals, isDryRun }, parts, out);
  },
});
