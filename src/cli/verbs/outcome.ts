/** `palace outcome` lists memories that learn from outcomes, explains their scores, and records a person's judgment. */
import { resolve } from "node:path";
import type { Client } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import { armFault } from "../../base/fault-point.ts";
import { PERSON } from "../../protocol/agent-name.ts";
import { newKey } from "../../base/ids.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import type { MemoryTold } from "../../protocol/outcome.ts";
import type { JsonObject, OutcomeDoorReport } from "../../protocol/spec.ts";
import { undoCommand } from "../terminal/drawer.ts";
import { type Output, plural, shorten } from "../terminal/output.ts";
import { assertNoCommand } from "../terminal/place.ts";
import { type Call, defineVerb, options, usageError } from "../define-verb.ts";

const USAGE = `palace outcome stats
palace outcome why ID
palace outcome turns [CONVERSATION]
palace outcome list [COLLECTION] [--sort recency|score]
palace outcome score ID worked|failed|partial
palace outcome forget ID
palace outcome ingest FILE [--title T] [--chunk-size N] [--chunk-overlap N]
palace outcome books
palace outcome remove TITLE
palace outcome import [DIR] [--profile NAME] [--dry-run]
palace outcome export DIR [--profile NAME]
palace outcome door [--local | --off]

Memory that learns from outcomes (docs/how-to/learning.md).

  stats  how many memories each collection holds, and how many of those shown helped, by week and agent
  why    a memory's outcomes, who reported them, its moves between collections, and where it was shown; for any scored drawer
  turns  the newest 100 turns that showed memories, of all conversations or of one, and each memory's outcome
  list   the memories of working, history, patterns and memory_bank, or of the collection you name: 500 at most, the newest first
  score  your own judgment. It replaces the agents' judgments, but never lowers a score it agrees with; your own judgments add up.
         A memory whose score falls too low is removed, and the command that restores it is printed
  forget removes a memory, and prints the command that restores it. \`palace forget ID\` erases it permanently
  ingest files a book: a text file, or .pdf .docx .pptx .xlsx .rtf .epub, in chunks that search_memory finds; an existing title is not changed
  books  lists the books with their titles, files and chunks
  remove removes a book, and prints the command that restores it
  import imports everything from a Roampal data folder (ROAMPAL_DATA_PATH, or Roampal's default), which is only read. A second import adds
         what is new. Memories that were scored or changed here stay as they are. The graphs are kept only for an export.
         --profile: imports into that profile of Roampal's profiles.json, without graphs; give its folder as well
  export writes a data folder that Roampal opens, with every memory, book and archived fact, and the imported graphs. --profile: only that profile
  door   shows whether the port of Roampal's HTTP API is open. --local: your own programs need no token there, because Roampal's hooks,
         plugins and MCP server cannot send one; this is permanent, and opens port 27182 if no port was set. --off: every program
         needs a token again`;

const OPTIONS = options("title= sort= profile= dry-run chunk-size= chunk-overlap= local off");

/** Client name of an import in the journal; `palace history undo --client` accepts it. */
const IMPORTER = "palace outcome import";

type Asked = {
  client: Client;
  config: Config;
  first: string;
  second: string;
  values: Call<typeof OPTIONS>["values"];
  out: Output;
};

const CALLS: Readonly<Record<string, readonly [least: number, most: number, run: (asked: Asked) => Promise<number>]>> =
  {
    stats: [0, 0, stats],
    why: [1, 1, why],
    turns: [0, 1, turns],
    list: [0, 1, list],
    score: [2, 2, score],
    forget: [1, 1, forget],
    ingest: [1, 1, ingest],
    books: [0, 0, books],
    remove: [1, 1, remove],
    import: [0, 1, importFolder],
    export: [1, 1, exportFolder],
    door: [0, 0, door],
  };

const TAKERS = {
  title: "ingest",
  "chunk-size": "ingest",
  "chunk-overlap": "ingest",
  "dry-run": "import",
  sort: "list",
  profile: "import or export",
  local: "door",
  off: "door",
} as const;

/** Collections that `list` shows by default. Books have too many chunks; the subcommand `books` lists them. */
const LISTED = ["working", "history", "patterns", "memory_bank"];
const SORTS = ["recency", "score"] as const;
/** Maximum number of listed memories; the broker has the same limit. */
const LISTED_MAX = 500;
const TEXT_COLUMNS = 70;
const TURNS_MAX = 100;
const TELLINGS = ["worked", "failed", "partial"];

export const verb = defineVerb({
  usage: USAGE,
  options: OPTIONS,
  args: [1, 3],
  place: ({ args: [what] }) => (what === "ingest" || what === "import" || what === "door" ? "anew" : "there"),
  forOwner: true,
  run: async ({ args: [what = "", ...rest], values, config, connect, out }) => {
    const [least = 0, most = 0, run] = (Object.hasOwn(CALLS, what) ? CALLS[what] : undefined) ?? [];
    if (run === undefined) throw usageError(USAGE, `there is no ${what}`);
    if (rest.length < least || rest.length > most)
      throw usageError(USAGE, `${what} takes ${least === most ? "" : "at most "}${most} arguments`);
    for (const [option, taker] of Object.entries(TAKERS))
      if (values[option as keyof typeof values] !== undefined && !taker.split(" or ").includes(what))
        throw usageError(USAGE, `${what} takes no --${option}`);
    if (what === "door") return door({ config, values, out });
    const named = { score: PERSON, forget: PERSON, import: IMPORTER }[what] ?? config.agentName ?? PERSON;
    const [first = "", second = ""] = rest;
    return run({ client: await connect(named), config, first, second, values, out });
  },
});

/** Shows or changes the door at Roampal's port. A change restarts the broker, so this function gets no connected client. */
async function door({ config, values, out }: Pick<Asked, "config" | "values" | "out">): Promise<number> {
  const { assertOpen, doorOf, letOwnerIn } = await import("../settings/outcome-door.ts");
  const { local = false, off = false } = values;
  if (local && off) throw usageError(USAGE, "door takes --local or --off");
  const report = local || off ? await letOwnerIn(config, local) : await doorOf(config);
  if (local) assertOpen(report);
  return out.answer({ door: report ?? null }, describeDoor(report));
}

function describeDoor(report: OutcomeDoorReport | undefined): string {
  if (report === undefined) return "the port is closed; `palace outcome door --local` opens it";
  const address = `http://127.0.0.1:${report.port}`;
  if (report.state === "shut") return `${address} is shut: ${report.why}\n  ${report.hint}`;
  const who = report.isLocal ? "your own programs need no token" : "every program needs a token";
  return `${address} is open: ${who}`;
}

async function stats({ client, out }: Asked): Promise<number> {
  const held = await client.call("outcome.stats", {});
  return out.answer(held, [
    ...Object.entries(held.collections),
    ["archived", held.archived],
    ["conversations", held.conversations],
    ...(held.helped ?? []).map(({ week, agent, shown, worked, partial, failed }) => [
      `week of ${week}`,
      `${agent}: ${shown} shown, ${worked} worked, ${partial} partial, ${failed} failed`,
    ]),
  ]);
}

async function turns({ client, first: conversation, out }: Asked): Promise<number> {
  const asked = conversation === "" ? {} : { conversation };
  const page = await client.call("turn.list", { ...asked, limit: TURNS_MAX });
  if (out.isJson) out.document(page);
  else if (page.turns.length === 0)
    out.text(`No turn has shown a memory yet${conversation === "" ? "" : ` in ${conversation}`}.`);
  else
    for (const { conversation: of, turn, at, memories } of page.turns) {
      out.text(`${at} ${of}, turn ${turn}`);
      out.table(
        memories.map(({ id, drawer, text, outcomes }) => [
          id,
          drawer === null ? "removed since" : (outcomes.at(-1)?.outcome ?? "no outcome"),
          shorten(text, TEXT_COLUMNS),
        ]),
      );
    }
  if (page.total > page.turns.length) out.notice(`${page.turns.length} of ${page.total}; name a conversation`);
  return 0;
}

async function why({ client, first: id, out }: Asked): Promise<number> {
  const memory = await told(client, id);
  return out.answer(memory, () => print(memory, out));
}

function print(memory: MemoryTold, out: Output): void {
  const { id, wing, room, text, score, uses, successes, proven, outcomes, questions, over, moves, shownIn } = memory;
  const { asked, solved, answers } = questions;
  out.text(text);
  out.table([
    ["id", id],
    ["place", `${wing}/${room}`],
    ["score", score ?? "not scored yet"],
    ["uses", uses === 0 ? "none" : `${uses}, ${successes} helpful; ${Math.round((proven ?? 0) * 100)} % proven`],
    ...(asked === 0 ? [] : [["questions", `solved ${solved} of ${asked}`] as const]),
    ...answers.map(({ context, collection, worked, failed, partial }) => [
      `${context} talk`,
      `as ${collection}: ${worked} worked, ${failed} failed, ${partial} partial`,
    ]),
    ...(over === null ? [] : [["outdated", `${over.fact}, ended ${over.ended}`] as const]),
    ...outcomes.map(({ at, outcome, reason, by, weight }) => [
      at,
      [outcome, by !== null && ` by ${by}, weight ${weight}`, reason !== null && `: ${reason}`]
        .filter(Boolean)
        .join(""),
    ]),
    ...moves.map(({ timestamp, from, to, score: then, uses: times }) => [
      timestamp,
      `${from} → ${to}, score ${then}, uses ${times}`,
    ]),
    ...shownIn.map(({ at, conversation, turn }) => [at, `shown in ${conversation}, turn ${turn}`]),
  ]);
}

async function list({ client, first: collection, values, out }: Asked): Promise<number> {
  const { sort = "recency" } = values;
  const by = SORTS.find((name) => name === sort);
  if (by === undefined) throw usageError(USAGE, `list sorts by ${SORTS.join(" or ")}, not by ${sort}`);
  const { collections: held } = await client.call("outcome.stats", {});
  if (collection !== "" && !Object.hasOwn(held, collection))
    throw usageError(USAGE, `there is no collection ${collection}; there are ${Object.keys(held).join(", ")}`);
  const collections = collection === "" ? LISTED : [collection];
  const { memories } = await client.call("outcome.search", { collections, sort_by: by, limit: LISTED_MAX });
  const total = collections.reduce((sum, name) => sum + (held[name] ?? 0), 0);
  const none = `No memories in ${collections.join(", ")}.`;
  out.answer(
    { memories, total },
    memories.length === 0
      ? none
      : memories.map(({ id, score: reached, uses, age, content }) => [
          ...[id, Number(reached).toFixed(2), plural(Number(uses), "use"), String(age)],
          shorten(content, TEXT_COLUMNS),
        ]),
  );
  if (total > memories.length) out.notice(`${memories.length} of ${total}; palace outcome list COLLECTION shows one`);
  return 0;
}

async function score({ client, first: id, second: outcome, out }: Asked): Promise<number> {
  if (!TELLINGS.includes(outcome))
    throw wrongUsage(`${outcome} is not an outcome`, `palace outcome score ${id} ${TELLINGS.join("|")}`);
  await told(client, id);
  const args = { outcome: "unknown", memory_scores: { [id]: outcome } };
  const { gone, atMs } = await client.call("outcome.score", args, { key: newKey() });
  const [lost] = gone;
  const undo = out.spelled(undoCommand(PERSON, atMs, atMs));
  const more = lost && `; its score is ${lost.score.toFixed(1)}, so it was removed\nto restore it: ${undo}`;
  return out.answer({ id, outcome, gone: lost !== undefined, undo }, `${id}: ${outcome}${more ?? ""}`);
}

async function forget({ client, first: id, out }: Asked): Promise<number> {
  const { drawer, text } = await told(client, id);
  const sinceMs = Date.now();
  const done = (await client.callTool("mempalace_delete_drawer", { drawer_id: drawer })) as JsonObject;
  if (done["success"] !== true)
    throw new PalaceError("PROTOCOL_BAD_PARAMS", `${id} was not removed: ${String(done["error"])}`, "try again");
  const undo = out.spelled(undoCommand(PERSON, sinceMs, Date.now()));
  return out.answer(
    { id, gone: true, undo },
    `${id} was removed: ${shorten(text, TEXT_COLUMNS)}\nto restore it: ${undo}`,
  );
}

async function told(client: Client, id: string): Promise<MemoryTold> {
  const answer = await client.call("outcome.why", { id });
  if (answer.found) return answer;
  throw new PalaceError("PROTOCOL_BAD_PARAMS", `no memory ${id}`, "palace outcome list shows ids");
}

async function ingest({ client, first: file, values, out }: Asked): Promise<number> {
  const { readBook } = await import("../../feeders/book.ts");
  const { stem, content } = await readBook(resolve(file));
  const [size, overlap] = [countOf(values, "chunk-size"), countOf(values, "chunk-overlap")];
  const book = await client.call("book.ingest", {
    ...{ title: values.title ?? stem, source: resolve(file), content },
    ...(size !== undefined && { size }),
    ...(overlap !== undefined && { overlap }),
  });
  return out.answer(
    book,
    book.isNew ? `${book.title}: ${book.chunks} chunks` : `${book.title} exists already, and is not changed`,
  );
}

/** Reads a number of characters. The broker checks its range. */
function countOf(values: Asked["values"], option: "chunk-size" | "chunk-overlap"): number | undefined {
  const value = values[option];
  if (value === undefined || /^\d+$/.test(value)) return value === undefined ? undefined : Number(value);
  throw usageError(USAGE, `--${option} takes a number of characters`);
}

async function books({ client, out }: Asked): Promise<number> {
  const held = await client.call("book.list", {});
  return out.answer(
    held,
    held.books.length === 0
      ? out.spelled("No books; `palace outcome ingest FILE` files one.")
      : held.books.map(({ title, source, at, chunks }) => [title, `${chunks} chunks`, at, source]),
  );
}

async function remove({ client, config, first: title, out }: Asked): Promise<number> {
  const sinceMs = Date.now();
  const { removed } = await client.call("book.remove", { title });
  if (removed === 0) throw new PalaceError("PROTOCOL_BAD_PARAMS", `no book ${title}`, "palace outcome books");
  const undo = out.spelled(undoCommand(config.agentName ?? PERSON, sinceMs, Date.now()));
  return out.answer({ title, removed, undo }, `${title}: ${removed} chunks removed\nto restore it: ${undo}`);
}

async function importFolder({ client, config, first: dir, values, out }: Asked): Promise<number> {
  const { importRoampal } = await import("../../learning/roampal/import-folder.ts");
  const { describeImport, teller } = await import("../feeding/roampal.ts");
  const profile = await profileFor(config, values.profile);
  if (profile !== undefined && dir === "") throw usageError(USAGE, "import --profile takes the folder of the profile");
  armFault(config.fault);
  const imported = await importRoampal(client, resolve(dir === "" ? config.roampalDir : dir), {
    isDry: values["dry-run"] === true,
    profile,
    tell: teller(out.isJson),
  });
  return out.answer(imported, out.spelled(describeImport(imported, IMPORTER)));
}

async function exportFolder({ client, config, first: dir, values, out }: Asked): Promise<number> {
  const { exportRoampal } = await import("../../learning/roampal/export-folder.ts");
  const { describeExport, teller } = await import("../feeding/roampal.ts");
  assertNoCommand("palace outcome export", dir);
  armFault(config.fault);
  const exported = await exportRoampal(client, resolve(dir), {
    profile: await profileFor(config, values.profile),
    tell: teller(out.isJson),
  });
  return out.answer(exported, out.spelled(describeExport(exported)));
}

/** Returns the key of a profile; undefined for the default one. Errors: CONFIG_USAGE for a name that is not in Roampal's registry. */
async function profileFor(config: Config, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const { keyOfProfile } = await import("../../broker/outcome-api/profile.ts");
  try {
    return keyOfProfile(name, config.roampalSettings);
  } catch (error) {
    throw usageError(USAGE, (error as Error).message);
  }
}
