/** Counts the memory's rows with a script that runs in a container. The script reads only tables that all versions of the ledger have. */
import { isRecord, parseAs } from "../base/parse-json.ts";
import { unread } from "./home-tree.ts";

export type Counts = Readonly<{
  /** Version of the ledger's tables. */
  schema: number;
  /** Number of the journal's last write. */
  seq: number;
  mark: string;
  drawers: number;
  facts: number;
  diary: number;
  /** Hash of ids and texts of all drawers, in the order of their rows. */
  digest: string;
}>;

/** Returns the command for the container. `upTo`: number of the write whose key and fingerprint become `mark`; 0 for the last write. */
export function countCommand(upTo: number): string[] {
  return ["node", "-e", LOOK, String(upTo)];
}

export function parseCounts(text: string): Counts {
  return parseAs(text, isCounts) ?? unread("memory");
}

function isCounts(value: unknown): value is Counts {
  if (!isRecord(value)) return false;
  const { schema, seq, drawers, facts, diary, mark, digest } = value;
  const areNumbers = [schema, seq, drawers, facts, diary].every(Number.isFinite);
  return areNumbers && [mark, digest].every((text) => typeof text === "string");
}

/** Describes the first difference; undefined if there is none. If `after` has later writes, only the last write of `before` is compared. */
export function countsDiffer(before: Counts, after: Counts): string | undefined {
  if (after.seq < before.seq) return `the journal ends at write ${after.seq}, but ended at ${before.seq} before`;
  if (after.mark !== before.mark) return `write ${before.seq} of the journal has changed`;
  if (after.seq > before.seq) return undefined;
  for (const name of ["drawers", "facts", "diary"] as const)
    if (after[name] !== before[name]) return `there are ${after[name]} ${NAMES[name]}, but there were ${before[name]}`;
  return after.digest === before.digest ? undefined : "the drawers' texts have changed";
}

const NAMES = { drawers: "drawers", facts: "facts", diary: "entries of diaries" } as const;

const LOOK = `
const fs = require("node:fs");
const file = "/palace/ledger.sqlite3";
const none = { schema: 0, seq: 0, mark: "", drawers: 0, facts: 0, diary: 0, digest: "" };
if (!fs.existsSync(file)) console.log(JSON.stringify(none));
else {
  const Database = require("/usr/local/lib/node_modules/palace-devbox/node_modules/better-sqlite3");
  const ledger = new Database(file, { readonly: true, fileMustExist: true });
  const one = (sql, ...args) => ledger.prepare(sql).pluck().get(...args);
  ledger.transaction(() => {
    const seq = one("SELECT seq FROM sqlite_sequence WHERE name = 'journal'") ?? 0;
    const upTo = Number(process.argv[1]) || seq;
    const hash = require("node:crypto").createHash("sha256");
    for (const [id, text] of ledger.prepare("SELECT id, text FROM drawer ORDER BY row").raw().iterate())
      hash.update(JSON.stringify([id, text]));
    console.log(JSON.stringify({
      schema: ledger.pragma("user_version", { simple: true }), seq,
      mark: one("SELECT key || fingerprint FROM journal WHERE seq = ?", upTo) ?? "",
      drawers: one("SELECT count(*) FROM drawer"), facts: one("SELECT count(*) FROM kg_triple"),
      diary: one("SELECT count(*) FROM drawer WHERE room = 'diary'"), digest: hash.digest("hex"),
    }));
  })();
}
`;
