/**
 * Table of the commands of `palace`. The help, the spelling of hints, the completions, the man page and docs/reference/commands.md
 * are made from it. A new verb gets a row here and a loader in load.ts; then run `node scripts/docs.ts`. Only data: every
 * command that prints a hint loads this file.
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

/** Most verbs that a person has to look through; those of the group `programs` are not counted. */
export const VERBS_MAX = 25;

export type Command = Readonly<{
  group: keyof typeof GROUPS;
  /** Line of the overview. */
  does: string;
  /** Complete call, shown by `palace help VERB`. */
  example: string;
  /** Words that may follow the verb, and what each does. */
  subs?: Readonly<Record<string, string>>;
}>;

/** By group, those of every day first. */
export const COMMANDS = {
  add: { group: "memory", does: "file a note", example: 'palace add "we deploy on Fridays"' },
  search: {
    group: "memory",
    does: "find memories, by words and by meaning",
    example: 'palace search "how do we deploy"',
  },
  ls: { group: "memory", does: "list wings, rooms and memories", example: "palace ls me/notes" },
  show: {
    group: "memory",
    does: "print a memory, and where it came from",
    example: "palace show c75c741223",
  },
  edit: { group: "memory", does: "change a memory in your editor", example: "palace edit c75c741223" },
  rm: { group: "memory", does: "delete memories; can be taken back", example: "palace rm c75c741223" },
  history: {
    group: "memory",
    does: "list who wrote what, and take it back",
    example: "palace history --since 2h",
    subs: { undo: "take back what one agent wrote" },
  },
  forget: {
    group: "memory",
    does: "erase memories for good: by id, by source, by text",
    example: "palace forget --match - --dry-run",
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
    subs: { adopt: "take over a palace of MemPalace where it is" },
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
      remove: "take the wiring of an agent out again",
    },
  },
  outcome: {
    group: "agents",
    does: "memory that learns: what helped, and why",
    example: "palace outcome stats",
    subs: {
      stats: "how many memories each collection holds",
      why: "what came of a memory",
      list: "the memories, the newest or the best first",
      score: "your own word on a memory",
      forget: "take a memory out; one command brings it back",
      ingest: "take in a book",
      books: "list the books",
      remove: "take a book out",
      import: "bring everything from a Roampal",
      export: "write a folder that Roampal opens",
    },
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
    subs: { demo: "show it all in a palace that is thrown away" },
  },
  devbox: {
    group: "stack",
    does: "the container in which agents work",
    example: "palace devbox shell",
    subs: {
      up: "build and start it",
      shell: "a shell in it",
      status: "what runs, and what it holds",
      recreate: "new containers, with memory and home kept",
      down: "end it; memory and home stay",
      restore: "put a copy of memory and home back",
    },
  },
  start: { group: "care", does: "start the broker", example: "palace start" },
  stop: { group: "care", does: "stop the broker until `palace start`", example: "palace stop" },
  status: {
    group: "care",
    does: "what is running and what it holds",
    example: "palace status",
    subs: {
      logs: "the log of the broker",
      model: "get: add the model MiniLM to the search",
      jobs: "long work of the broker: list, cancel",
      spool: "writes that wait for a broker: list, show, replay",
      ui: "a page in your browser: see, search, change, take back",
    },
  },
  doctor: { group: "care", does: "check everything, and say what to do", example: "palace doctor --fix" },
  backup: {
    group: "care",
    does: "write, check or restore one file of everything",
    example: "palace backup ~/backups/",
    subs: {
      verify: "read a backup through",
      restore: "put a backup in the place of the palace",
    },
  },
  repair: {
    group: "care",
    does: "make indexes and the public palace again",
    example: "palace repair status",
    subs: {
      status: "what a repair would do; changes nothing",
      migrate: "make a palace of an older Chroma again",
      compact: "give back the space of what was deleted",
      closets: "make the index of mined files again",
    },
  },
  config: {
    group: "care",
    does: "settings that stay, and where each comes from",
    example: "palace config set model-dir ~/models/all-MiniLM-L6-v2",
    subs: {
      list: "every setting, its value and its source",
      get: "print one value",
      set: "check a value and write it into settings.json",
      unset: "take a key out of settings.json",
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
      remove: "take the bridge out again",
      token: "tokens for clients over TCP: add, list, revoke",
      gate: "keys that may come in: authorize, revoke",
    },
  },
  completions: {
    group: "programs",
    does: "completions for a shell, and the man page",
    example: "palace completions zsh",
    subs: { bash: "for bash", zsh: "for zsh", fish: "for fish", man: "the man page" },
  },
  shim: { group: "programs", does: "stdio MCP for an agent", example: "palace shim" },
  hook: { group: "programs", does: "what hooks of agents run", example: "palace hook claude-code" },
  gate: { group: "programs", does: "the host's end of a bridge, run by sshd", example: "palace gate socket" },
} as const satisfies Readonly<Record<string, Command>>;

export type CommandName = keyof typeof COMMANDS;

/** Names that scripts may still use, and what each is called now. They do what they did. */
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

/** Words that are as good as a verb, and are not listed beside it. */
export const ALSO = {
  logs: "the log of the broker",
  model: "get: add the model MiniLM to the search",
  restart: "stop the broker and start it again",
  ui: "a page in your browser: see, search, change, take back",
} as const;

/** Every word that may follow `palace`. */
export const WORDS: readonly string[] = [...Object.keys(COMMANDS), ...Object.keys(OLD_NAMES), ...Object.keys(ALSO)];

export function findCommand(name: string): Command | undefined {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name as CommandName] : undefined;
}
