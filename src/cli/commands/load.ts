/** The file of each command. Only the file of the given verb is loaded. */
import type { Verb } from "../verb.ts";
import type { ALSO, CommandName, OldName } from "./table.ts";

export type Load = () => Promise<{ verb: Verb }>;

export const LOADERS: Readonly<Record<CommandName | OldName | keyof typeof ALSO, Load>> = {
  add: () => import("../verb/add.ts"),
  adopt: () => import("../verb/adopt.ts"),
  agents: () => import("../verb/agents.ts"),
  artifact: () => import("../coordination/artifact.ts"),
  audit: () => import("../verb/audit.ts"),
  backup: () => import("../verb/backup.ts"),
  bridge: () => import("../verb/bridge.ts"),
  call: () => import("../verb/call.ts"),
  closets: () => import("../verb/closets.ts"),
  compact: () => import("../verb/compact.ts"),
  completions: () => import("../verb/completions.ts"),
  config: () => import("../verb/config.ts"),
  demo: () => import("../verb/demo.ts"),
  devbox: () => import("../verb/devbox.ts"),
  doctor: () => import("../verb/doctor.ts"),
  edit: () => import("../verb/edit.ts"),
  events: () => import("../coordination/logstream.ts"),
  export: () => import("../verb/export.ts"),
  forget: () => import("../verb/forget.ts"),
  gate: () => import("../verb/gate.ts"),
  history: () => import("../verb/audit.ts"),
  hook: () => import("../verb/hook.ts"),
  import: () => import("../verb/import.ts"),
  install: () => import("../verb/install.ts"),
  jobs: () => import("../verb/jobs.ts"),
  logs: () => import("../verb/logs.ts"),
  logstream: () => import("../coordination/logstream.ts"),
  ls: () => import("../verb/ls.ts"),
  migrate: () => import("../verb/migrate.ts"),
  mine: () => import("../verb/mine.ts"),
  outcome: () => import("../verb/outcome.ts"),
  repair: () => import("../verb/repair.ts"),
  "repair-status": () => import("../verb/repair-status.ts"),
  restart: () => import("../verb/restart.ts"),
  restore: () => import("../verb/restore.ts"),
  reveal: () => import("../verb/reveal.ts"),
  rm: () => import("../verb/rm.ts"),
  search: () => import("../verb/search.ts"),
  shim: () => import("../verb/shim.ts"),
  show: () => import("../verb/show.ts"),
  spool: () => import("../verb/spool.ts"),
  start: () => import("../verb/start.ts"),
  status: () => import("../verb/status.ts"),
  stop: () => import("../verb/stop.ts"),
  task: () => import("../coordination/task.ts"),
  token: () => import("../verb/token.ts"),
  tools: () => import("../verb/tools.ts"),
  undo: () => import("../verb/undo.ts"),
  uninstall: () => import("../verb/uninstall.ts"),
  up: () => import("../verb/up.ts"),
  verify: () => import("../verb/verify.ts"),
  why: () => import("../verb/why.ts"),
};

/** Subverbs with a file of their own; the verb's own file has the others. */
export const SUB_LOADERS: Readonly<Partial<Record<CommandName, Readonly<Record<string, Load>>>>> = {
  backup: { restore: LOADERS.restore, verify: LOADERS.verify },
  bridge: { gate: LOADERS.gate, token: LOADERS.token },
  call: { tools: LOADERS.tools },
  events: { artifact: LOADERS.artifact, task: LOADERS.task },
  history: { undo: LOADERS.undo },
  import: { adopt: LOADERS.adopt },
  install: { remove: LOADERS.uninstall, status: LOADERS.agents },
  mine: { why: LOADERS.why },
  repair: {
    closets: LOADERS.closets,
    compact: LOADERS.compact,
    migrate: LOADERS.migrate,
    status: LOADERS["repair-status"],
  },
  status: { jobs: LOADERS.jobs, logs: LOADERS.logs, spool: LOADERS.spool },
  up: { demo: LOADERS.demo },
};

export function loaderOf(name: string): Load | undefined {
  return Object.hasOwn(LOADERS, name) ? LOADERS[name as keyof typeof LOADERS] : undefined;
}

/**
 * Finds the subverb among a verb's arguments. Only options that every verb has may come before it, so that a value is
 * never taken for one: `palace backup --passphrase-file verify`.
 */
export function findSub(name: string, argv: readonly string[]): { at: number; load: Load } | undefined {
  const subs = Object.hasOwn(SUB_LOADERS, name) ? SUB_LOADERS[name as CommandName] : undefined;
  if (subs === undefined) return undefined;
  let at = 0;
  while (["--palace", "--json", "--help", "-h"].includes(argv[at] ?? "") || argv[at]?.startsWith("--palace=") === true)
    at += argv[at] === "--palace" ? 2 : 1;
  const word = argv[at];
  const load = word !== undefined && Object.hasOwn(subs, word) ? subs[word] : undefined;
  return load === undefined ? undefined : { at, load };
}
