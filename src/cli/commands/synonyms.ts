/**
 * Words that people try before they have read the help, and the command each means. A word runs its command only when that
 * reads, or adds a note or documents; every other command is suggested. Only data. Imported by palace.ts.
 */

export type Synonym = Readonly<{
  /** Command and what follows it, as a person types it; words in capitals stand for the user's own. */
  means: string;
  /** Words to run in place of the synonym. Absent: the command is only suggested. */
  runs?: readonly string[];
}>;

const runs = (means: string, ...words: readonly string[]): Synonym => ({ means, runs: words });
const suggests = (means: string): Synonym => ({ means });

const ADD = runs("palace add TEXT", "add");
const LS = runs("palace ls", "ls");
const SHOW = runs("palace show ID", "show");
const SEARCH = runs("palace search WORDS", "search");
const HISTORY = runs("palace history", "history");
const MINE = runs("palace mine PATH", "mine");
const STATUS = runs("palace status", "status");
const DOCTOR = runs("palace doctor", "doctor");
const EDIT = suggests("palace edit ID");
const RM = suggests("palace rm ID");
const UP = suggests("palace up");
const INSTALL = suggests("palace install all");
const DEVBOX = suggests("palace devbox shell");
const BROWSE = suggests("palace ls");

export const SYNONYMS = {
  remember: ADD,
  note: ADD,
  memo: ADD,
  save: ADD,
  store: ADD,
  write: ADD,
  create: ADD,
  new: ADD,
  put: ADD,
  list: LS,
  memories: LS,
  notes: LS,
  wings: LS,
  rooms: LS,
  browse: LS,
  dir: LS,
  get: SHOW,
  cat: SHOW,
  view: SHOW,
  open: SHOW,
  read: SHOW,
  print: SHOW,
  find: SEARCH,
  query: SEARCH,
  ask: SEARCH,
  recall: SEARCH,
  lookup: SEARCH,
  grep: SEARCH,
  log: HISTORY,
  journal: HISTORY,
  ingest: MINE,
  index: MINE,
  feed: MINE,
  scan: MINE,
  ps: STATUS,
  info: STATUS,
  stats: STATUS,
  health: DOCTOR,
  check: DOCTOR,
  update: EDIT,
  change: EDIT,
  modify: EDIT,
  delete: RM,
  remove: RM,
  del: RM,
  unlink: RM,
  erase: suggests("palace forget ID"),
  load: suggests("palace import FILE"),
  merge: suggests("palace import FILE"),
  dump: suggests("palace export DIR"),
  snapshot: suggests("palace backup"),
  settings: runs("palace config list", "config", "list"),
  set: suggests("palace config set KEY VALUE"),
  setup: UP,
  init: UP,
  connect: INSTALL,
  wire: INSTALL,
  login: INSTALL,
  sync: suggests("palace mine PATH"),
  watch: suggests("palace events watch"),
  web: BROWSE,
  ui: BROWSE,
  gui: BROWSE,
  shell: DEVBOX,
  box: DEVBOX,
  docker: DEVBOX,
  run: suggests("palace start"),
  serve: suggests("palace start"),
  kill: suggests("palace stop"),
  quit: suggests("palace stop"),
  fix: suggests("palace doctor --fix"),
  rebuild: suggests("palace repair"),
} as const satisfies Readonly<Record<string, Synonym>>;

export function findSynonym(word: string): Synonym | undefined {
  return Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word as keyof typeof SYNONYMS] : undefined;
}
