/**
 * Table of the commands of `palace`, from which the help, the completions, the man page and docs/reference/commands.md are made (by `node
 * scripts/docs.ts`). Every command that prints a hint loads this file, so it has only data.
 */

export const GROUPS = {
  memory: "Memory",
  feeding: "Import and export",
  agents: "Agents",
  stack: "Stack",
  care: "Care",
  machines: "Several machines",
  programs: "For programs, not for people",
} as const;

export type Command = Readonly<{
  group: keyof typeof GROUPS;
  /** Action of the command, for the overview of the help. */
  does: string;
  /** Complete call, shown by `palace help VERB`. */
  example: string;
  /** Words that may follow the verb, and what each does. */
  subs?: Readonly<Record<string, string>>;
  /**
   * True if the call deletes or replaces something; a list of subverbs if only these do. bin/palace.ts then suggests the call less often.
   */
  harmful?: true | readonly string[];
}>;

/** Commands by group, the most used ones first. */
export const COMMANDS = {
  add: { group: "memory", does: "file a note", example: 'palace add "we deploy on Fridays"' },
  search: {
    group: "memory",
    does: "find memories, by words and by meaning",
    example: 'palace search "how do we deploy"',
  },
  ls: { group: "memory", does: "list wings, rooms and memories", example: "palace ls me/notes" },
  show: { group: "memory", does: "print a memory, and where it came from", example: "palace show c75c741223" },
  edit: { group: "memory", does: "change a memory in your editor", example: "palace edit c75c741223" },
  rm: { group: "memory", does: "delete memories; can be undone", example: "palace rm c75c741223", harmful: true },
  history: {
    group: "memory",
    does: "list who wrote what, and undo it",
    example: "palace history --since 2h",
    subs: { undo: "undo what one agent wrote" },
    harmful: ["undo"],
  },
  forget: {
    group: "memory",
    does: "erase memories permanently: by id, by source, by text",
    example: "palace forget --match - --dry-run",
    harmful: true,
  },
  mine: {
    group: "feeding",
    does: "file a folder, documents or conversations",
    example: "palace mine docs ~/project",
    subs: {
      docs: "the documentation of a project",
      projects: "all text of a project",
      formats: "office documents and PDFs",
      convos: "exported conversations",
      sessions: "the sessions of your agents",
      git: "the commits of a repository",
      sweep: "every message of transcripts",
      why: "why a file is filed, or not",
    },
  },
  import: {
    group: "feeding",
    does: "merge another memory: a backup, an export, another palace",
    example: "palace import ~/backups/laptop.tar --dry-run",
    subs: { adopt: "adopt a palace of MemPalace in place" },
  },
  export: {
    group: "feeding",
    does: "write everything as a palace that MemPalace opens",
    example: "palace export ~/palace-copy",
  },
  install: {
    group: "agents",
    does: "wire coding agents to the memory",
    example: "palace install all",
    subs: {
      all: "every agent of this machine",
      "claude-code": "Claude Code",
      opencode: "opencode",
      pi: "pi",
      status: "which agents are here, and whether they are wired",
      remove: "remove an agent's wiring",
    },
    harmful: ["remove"],
  },
  outcome: {
    group: "agents",
    does: "memory that learns: what helped, and why",
    example: "palace outcome stats",
    subs: {
      stats: "how many memories each collection holds",
      why: "the outcomes of a memory",
      list: "the memories, the newest or the best first",
      score: "your own judgment of a memory",
      forget: "remove a memory; one command restores it",
      ingest: "file a book",
      books: "list the books",
      remove: "remove a book",
      import: "import a Roampal data folder",
      export: "write a data folder that Roampal opens",
    },
    harmful: ["forget", "remove"],
  },
  events: {
    group: "agents",
    does: "messages, tasks and files between agents",
    example: "palace events list --limit 10",
    subs: {
      append: "append an event",
      list: "list events",
      wait: "wait for an event",
      watch: "wait for events in the background",
      ack: "answer an event",
      task: "work for another agent: create, launch",
      artifact: "exact texts: put, get",
    },
  },
  call: {
    group: "agents",
    does: "call a tool as an agent does",
    example: "palace call status",
    subs: { tools: "list the tools, or show one with its parameters" },
  },
  up: {
    group: "stack",
    does: "start everything and prove that it works",
    example: "palace up",
    subs: { demo: "a demonstration in a temporary palace" },
  },
  devbox: {
    group: "stack",
    does: "the container in which agents work",
    example: "palace devbox shell",
    subs: {
      up: "build and start it",
      shell: "a shell in it",
      status: "the state of the stack and the size of its memory",
      recreate: "new containers, with memory and home kept",
      down: "end it; keep memory and home",
      restore: "restore a copy of memory and home",
    },
    harmful: ["down", "restore"],
  },
  start: { group: "care", does: "start the broker", example: "palace start" },
  stop: { group: "care", does: "stop the broker until `palace start`", example: "palace stop" },
  status: {
    group: "care",
    does: "the state of the broker and the memory",
    example: "palace status",
    subs: {
      logs: "the log of the broker",
      jobs: "long work of the broker: list, cancel",
      stats: "what the memory did for your agents, in numbers",
      spool: "writes that wait for a broker: list, show, replay",
      ui: "a page in your browser: see, search, change, undo",
    },
  },
  doctor: { group: "care", does: "check everything, and say what to do", example: "palace doctor --fix" },
  backup: {
    group: "care",
    does: "write, check or restore a backup of everything",
    example: "palace backup ~/backups/",
    subs: { verify: "check a backup", restore: "replace the palace with a backup" },
    harmful: ["restore"],
  },
  repair: {
    group: "care",
    does: "rebuild indexes and the public palace",
    example: "palace repair status",
    subs: {
      status: "what a repair would do; changes nothing",
      migrate: "rebuild a palace of an older Chroma",
      compact: "free the space of deleted memories",
      closets: "rebuild the index of mined files",
    },
    harmful: ["migrate"],
  },
  config: {
    group: "care",
    does: "lasting settings, and the source of each",
    example: "palace config set model-dir ~/models/all-MiniLM-L6-v2",
    subs: {
      list: "every setting, its value and its source",
      get: "print one value",
      set: "check a value and write it into settings.json",
      unset: "remove a key from settings.json",
      path: "print where that file is",
      model: "get: add the model MiniLM to the search",
    },
  },
  bridge: {
    group: "machines",
    does: "share one memory between a container and its host",
    example: "palace bridge setup me@host.docker.internal",
    subs: {
      setup: "connect to the broker of a host, or of a container",
      status: "whether the bridge is up",
      key: "print the public key",
      remove: "remove the bridge",
      token: "tokens for clients over TCP: add, list, revoke",
      gate: "keys that may connect: authorize, revoke",
    },
    harmful: ["remove", "token revoke", "gate revoke"],
  },
  completions: {
    group: "programs",
    does: "completions for a shell, and the man page",
    example: "palace completions zsh",
    subs: { bash: "for bash", zsh: "for zsh", fish: "for fish", man: "the man page" },
  },
  shim: { group: "programs", does: "stdio MCP for an agent", example: "palace shim" },
  hook: { group: "programs", does: "runs in agents' hooks", example: "palace hook claude-code" },
  gate: {
    group: "programs",
    does: "the host's end of a bridge, run by sshd",
    example: "palace gate socket",
    harmful: ["revoke"],
  },
} as const satisfies Readonly<Record<string, Command>>;

export type CommandName = keyof typeof COMMANDS;

/** Old names that scripts may still use, with the present names. */
export const OLD_NAMES = {
  adopt: "palace import adopt",
  audit: "palace history",
  undo: "palace history undo",
  reveal: "palace show --unmask",
  uninstall: "palace install remove",
  agents: "palace install status",
  logstream: "palace events",
  task: "palace events task",
  artifact: "palace events artifact",
  tools: "palace call tools",
  demo: "palace up demo",
  jobs: "palace status jobs",
  spool: "palace status spool",
  verify: "palace backup verify",
  restore: "palace backup restore",
  "repair-status": "palace repair status",
  migrate: "palace repair migrate",
  compact: "palace repair compact",
  closets: "palace repair closets",
  token: "palace bridge token",
  why: "palace mine why",
} as const satisfies Readonly<Record<string, `palace ${string}`>>;

export type OldName = keyof typeof OLD_NAMES;

/** Words that work like a verb. The overview of the help lists them without their descriptions. */
export const ALSO = {
  logs: "the log of the broker",
  model: "get: add the model MiniLM to the search",
  stats: "what the memory did for your agents, in numbers",
  restart: "stop the broker and start it again",
  ui: "a page in your browser: see, search, change, undo",
} as const;

export const WORDS: readonly string[] = [...Object.keys(COMMANDS), ...Object.keys(OLD_NAMES), ...Object.keys(ALSO)];

export function findCommand(name: string): Command | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name as CommandName] : undefined;
}
