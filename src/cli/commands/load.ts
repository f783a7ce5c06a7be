/** Loads the file of the given verb, and no other. */
import type { Verb } from "../define-verb.ts";
import { type ALSO, type CommandName, OLD_NAMES, type OldName } from "./table.ts";

export type Load = () => Promise<{ verb: Verb }>;

export const LOADERS: Readonly<Record<CommandName | OldName | keyof typeof ALSO, Load>> = {
  add: () => import("../verbs/add.ts"),
  adopt: () => import("../verbs/adopt.ts"),
  agents: () => import("../verbs/agents.ts"),
  artifact: () => import("../coordination/artifact.ts"),
  audit: () => import("../verbs/audit.ts"),
  backup: () => import("../verbs/backup.ts"),
  bridge: () => import("../verbs/bridge.ts"),
  call: () => import("../verbs/call.ts"),
  closets: () => import("../verbs/closets.ts"),
  compact: async () => ({ verb: (await import("../verbs/repair.ts")).compact }),
  completions: () => import("../verbs/completions.ts"),
  config: () => import("../verbs/config.ts"),
  demo: () => import("../verbs/demo.ts"),
  devbox: () => import("../verbs/devbox.ts"),
  doctor: () => import("../verbs/doctor.ts"),
  edit: () => import("../verbs/edit.ts"),
  events: () => import("../coordination/logstream.ts"),
  export: () => import("../verbs/export.ts"),
  forget: () => import("../verbs/forget.ts"),
  gate: () => import("../verbs/gate.ts"),
  history: () => import("../verbs/audit.ts"),
  hook: () => import("../verbs/hook.ts"),
  import: () => import("../verbs/import.ts"),
  install: () => import("../verbs/install.ts"),
  jobs: () => import("../verbs/jobs.ts"),
  logs: () => import("../verbs/logs.ts"),
  logstream: () => import("../coordination/logstream.ts"),
  ls: () => import("../verbs/ls.ts"),
  migrate: async () => ({ verb: (await import("../verbs/repair.ts")).migrate }),
  mine: () => import("../verbs/mine.ts"),
  model: () => import("../verbs/model.ts"),
  outcome: () => import("../verbs/outcome.ts"),
  repair: () => import("../verbs/repair.ts"),
  "repair-status": () => import("../verbs/repair-status.ts"),
  restart: () => import("../verbs/restart.ts"),
  restore: () => import("../verbs/restore.ts"),
  reveal: async () => ({ verb: (await import("../verbs/show.ts")).reveal }),
  rm: () => import("../verbs/rm.ts"),
  search: () => import("../verbs/search.ts"),
  shim: () => import("../verbs/shim.ts"),
  show: () => import("../verbs/show.ts"),
  spool: () => import("../verbs/spool.ts"),
  start: () => import("../verbs/start.ts"),
  stats: () => import("../verbs/stats.ts"),
  status: () => import("../verbs/status.ts"),
  stop: () => import("../verbs/stop.ts"),
  task: () => import("../coordination/task.ts"),
  token: () => import("../verbs/token.ts"),
  tools: () => import("../verbs/tools.ts"),
  ui: () => import("../verbs/ui.ts"),
  undo: () => import("../verbs/undo.ts"),
  uninstall: async () => ({ verb: (await import("../verbs/install.ts")).remove }),
  up: () => import("../verbs/up.ts"),
  verify: () => import("../verbs/verify.ts"),
  why: () => import("../verbs/why.ts"),
};

/** Loaders of the subverbs that have their own file, because they are also verbs, or were once. Other subverbs are in their verb's file. */
export const SUB_LOADERS: Readonly<Partial<Record<CommandName, Readonly<Record<string, Load>>>>> = subLoaders();

function subLoaders(): Record<string, Record<string, Load>> {
  const loaders: Record<string, Record<string, Load>> = {};
  const calls = {
    ...OLD_NAMES,
    gate: "palace bridge gate",
    logs: "palace status logs",
    stats: "palace status stats",
    ui: "palace status ui",
    model: "palace config model",
  };
  for (const [old, call] of Object.entries(calls)) {
    const [, verb = "", sub = ""] = call.split(" ");
    if (/^[a-z]/.test(sub)) (loaders[verb] ??= {})[sub] = LOADERS[old as keyof typeof calls];
  }
  return loaders;
}

export function loaderOf(name: string): Load | undefined {
  return Object.hasOwn(LOADERS, name) ? LOADERS[name as keyof typeof LOADERS] : undefined;
}

/** Finds the subverb after common options only, because a word after another option may be its value: `--passphrase-file verify`. */
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
