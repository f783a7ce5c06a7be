#!/usr/bin/env node
/** `palace VERB`: the command for everything. Only the file of the given verb is loaded. */
import "../platform/node-version.ts";
import { VERSION } from "../platform/version.ts";
import { PalaceError } from "../protocol/errors.ts";
import { nearestWord } from "./terminal/nearest.ts";
import type { PALACE_VERBS } from "./terminal/spelling.ts";
import { reportError, runVerb, type Verb } from "./verb.ts";

type Entry = readonly [does: string, load: () => Promise<{ verb: Verb }>];

const VERBS: Readonly<Record<(typeof PALACE_VERBS)[number], Entry>> = {
  up: ["start everything and prove that it works", () => import("./verb/up.ts")],
  shim: ["stdio MCP for an agent (what mp-shim does)", () => import("./verb/shim.ts")],
  start: ["start the broker", () => import("./verb/start.ts")],
  stop: ["stop the broker; it stays stopped until `palace start`", () => import("./verb/stop.ts")],
  restart: ["stop and start the broker", () => import("./verb/restart.ts")],
  status: ["what is running and what it holds", () => import("./verb/status.ts")],
  doctor: ["check everything, and say what to do", () => import("./verb/doctor.ts")],
  logs: ["the broker's log", () => import("./verb/logs.ts")],
  demo: ["a throw-away palace, two agents, three searches", () => import("./verb/demo.ts")],
  search: ["search the palace", () => import("./verb/search.ts")],
  outcome: [
    "memory that learns: stats, why ID, score ID OUTCOME; import and export for Roampal",
    () => import("./verb/outcome.ts"),
  ],
  reveal: ["a drawer as it was filed, secrets unmasked", () => import("./verb/reveal.ts")],
  call: ["call one MCP tool", () => import("./verb/call.ts")],
  tools: ["list the MCP tools", () => import("./verb/tools.ts")],
  export: ["write everything as a fresh palace for MemPalace", () => import("./verb/export.ts")],
  backup: ["one file of everything, while agents go on writing", () => import("./verb/backup.ts")],
  verify: ["read a backup through, every byte of it", () => import("./verb/verify.ts")],
  restore: ["put a backup in the place of the palace", () => import("./verb/restore.ts")],
  repair: ["make indexes and the public palace anew from the ledger", () => import("./verb/repair.ts")],
  compact: ["give back the space of what was deleted", () => import("./verb/compact.ts")],
  "repair-status": ["how ledger and public palace are; changes nothing", () => import("./verb/repair-status.ts")],
  migrate: ["make a public palace of an older Chroma anew", () => import("./verb/migrate.ts")],
  jobs: ["long work of the broker: list, cancel", () => import("./verb/jobs.ts")],
  token: ["tokens for clients behind the TCP door: add, list, revoke", () => import("./verb/token.ts")],
  bridge: ["the way from a container to its host's broker, over SSH", () => import("./verb/bridge.ts")],
  gate: ["the host's end of a bridge (sshd runs it)", () => import("./verb/gate.ts")],
  forget: ["erase drawers, a source, or whatever holds a text", () => import("./verb/forget.ts")],
  audit: ["who wrote what, and when", () => import("./verb/audit.ts")],
  undo: ["take back what one agent wrote", () => import("./verb/undo.ts")],
  spool: ["writes that wait for a broker: list, replay", () => import("./verb/spool.ts")],
  mine: [
    "file a source: mine projects DIR, docs DIR, formats DIR, convos DIR, sessions, sweep DIR",
    () => import("./verb/mine.ts"),
  ],
  install: ["wire coding agents to the palace: install claude-code|opencode|pi|all", () => import("./verb/install.ts")],
  uninstall: ["take that back", () => import("./verb/uninstall.ts")],
  agents: ["coding agents on this machine, and whether they are wired", () => import("./verb/agents.ts")],
  closets: ["the index of mined files: closets rebuild", () => import("./verb/closets.ts")],
  adopt: ["adopt an existing MemPalace palace, where it lies", () => import("./verb/adopt.ts")],
  logstream: [
    "events of agents for each other: append, list, wait, watch, ack",
    () => import("./coordination/logstream.ts"),
  ],
  task: ["work for another agent: create, launch", () => import("./coordination/task.ts")],
  artifact: ["exact texts that agents hand over: put, get", () => import("./coordination/artifact.ts")],
  devbox: ["the compose stack: up, shell, status, recreate, down", () => import("./verb/devbox.ts")],
  hook: ["what agents' hooks run: wake-up text, filing", () => import("./verb/hook.ts")],
  why: ["why a file is filed, or not", () => import("./verb/why.ts")],
};

const { common, name, rest } = splitArguments(process.argv.slice(2));
const entry = Object.hasOwn(VERBS, name) ? VERBS[name as keyof typeof VERBS] : undefined;
if (entry !== undefined) await runVerb("palace", (await entry[1]()).verb, [...common, ...rest], process.env);
else if (common.at(-1) === "--palace") {
  const error = new PalaceError("CONFIG_USAGE", "--palace takes a folder", "palace --palace DIR status");
  process.exitCode = reportError("palace", error, common);
} else if (common.includes("--version")) process.stdout.write(`palace-devbox ${VERSION}\n`);
else if (name === "" || name === "help") printHelp();
else {
  const near = nearestWord(name, Object.keys(VERBS));
  const hint = near === undefined ? "run `palace --help`" : `did you mean \`palace ${near}\`?`;
  const error = new PalaceError("CONFIG_USAGE", `there is no verb ${name}`, hint);
  process.exitCode = reportError("palace", error, [...common, ...rest]);
}

/** Common options before the verb are passed to it. */
function splitArguments(argv: readonly string[]): { common: string[]; name: string; rest: string[] } {
  let at = 0;
  while (argv[at]?.startsWith("-") === true) at += argv[at] === "--palace" ? 2 : 1;
  return { common: argv.slice(0, at), name: argv[at] ?? "", rest: argv.slice(at + 1) };
}

function printHelp(): void {
  const lines = Object.entries(VERBS).map(([verb, [does]]) => `  ${verb.padEnd(13)} ${does}`);
  const text = [
    "palace VERB [options]",
    "",
    ...lines,
    "",
    "palace VERB --help says more. Everywhere: --palace DIR, --json",
  ];
  process.stdout.write(`${text.join("\n")}\n`);
}
