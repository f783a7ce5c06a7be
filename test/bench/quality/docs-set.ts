/** Asks our search and the real MemPalace questions about npm packages, as developers ask them. */
import Database from "better-sqlite3";
import type { Env } from "../../../src/config/env.ts";
import { realModelDir } from "../../helpers/palace.ts";
import { allEmbedded, allIndexed } from "../settled.ts";
import { askAll } from "./ask.ts";
import { docsPalace } from "./docs-palace.ts";
import { openCopy } from "./kept.ts";
import { MEMPALACE_WAYS, mempalaceUnavailable, openMempalaceOn } from "./mempalace-side.ts";
import { npmDocs } from "./npm-docs.ts";
import type { Leg } from "./legs.ts";
import type { Options, Outcome } from "./options.ts";
import {
  type Asked,
  type DocsFigures,
  type DocsHit,
  type DocsQuestion,
  figuresOf,
  holds,
  type Kind,
  KINDS,
  rankOf,
  readQuestions,
  UNANSWERED,
} from "./score.ts";
import { header, rowLine } from "./table.ts";
import { wrapped } from "./wrapped.ts";

/** Number of hits to ask for. A passage after these hits counts as not found. */
export const DOCS_LIMIT = 20;
const SHOWN = 160;

export async function docsSet(options: Options): Promise<Outcome[]> {
  let folder: string;
  try {
    folder = await npmDocs();
  } catch (error) {
    options.leaveOut("developers' questions", `npm pack: ${(error as Error).message.split("\n")[0] ?? ""}`);
    return [];
  }
  const read = readQuestions();
  const questions = [...read, ...wrapped(read)].filter(
    ({ kind }) => options.kind === undefined || kind === options.kind,
  );
  const columns: Record<string, Asked[]> = {};
  for (const { name, mode, env, why = "" } of options.legs) {
    if (env === undefined) options.leaveOut(`developers' questions, ${name}`, why);
    else columns[name] = await askOurs(questions, folder, env, mode);
  }
  if (options.hasPython) {
    const why = await mempalaceUnavailable();
    for (const [name, way] of Object.entries(MEMPALACE_WAYS))
      if (why === undefined) columns[name] = await askMempalace(questions, folder, way);
      else options.leaveOut(`developers' questions, ${name}`, why);
  }
  printTable(columns, options);
  return Object.entries(columns).map(([column, asked]) => outcomeOf(column, asked));
}

function printTable(columns: Readonly<Record<string, Asked[]>>, { print }: Options): void {
  const names = Object.keys(columns);
  const all = Object.values(columns)[0]?.length ?? 0;
  print(header(`developers' questions (${all})`, names));
  const row = (name: string, of: (asked: Asked[]) => Asked[], cell: (figures: DocsFigures) => string): void => {
    const figures = names.map((column) => [column, figuresOf(of(columns[column] ?? []))] as const);
    const count = figures[0]?.[1].count ?? 0;
    const cells = Object.fromEntries(figures.map(([column, of]) => [column, cell(of)]));
    if (count > 0) print(rowLine({ name: `${name} (${count})`, cells }, names));
  };
  const found = ({ first, inFive, mrr }: DocsFigures): string => `${first} / ${inFive} / ${mrr.toFixed(3)}`;
  const weak = ({ weak: flagged, count }: DocsFigures): string => `${Math.round((100 * flagged) / count)} % weak`;
  const isAnswered = ({ question: { kind } }: Asked): boolean => !UNANSWERED.has(kind) && kind !== "wrapped";
  for (const [kind, name] of Object.entries(KINDS))
    row(name, (asked) => asked.filter(({ question }) => question.kind === kind), isUnanswered(kind) ? weak : found);
  row("all that have an answer", (asked) => asked.filter(isAnswered), found);
  row("… of them called weak", (asked) => asked.filter(isAnswered), weak);
}

function isUnanswered(kind: string): boolean {
  return UNANSWERED.has(kind as Kind);
}

function outcomeOf(column: string, asked: readonly Asked[]): Outcome {
  const answered = asked.filter(({ question }) => !UNANSWERED.has(question.kind));
  return {
    set: "docs",
    column,
    ranks: Object.fromEntries(answered.map(({ question, rank }) => [question.id, rank ?? null])),
    misses: answered
      .filter(({ rank }) => rank !== 1)
      .map(({ question: { id, question, passages }, rank, best }) => {
        const plain = (text = ""): string => text.replaceAll(/\s+/g, " ").slice(0, SHOWN);
        const wanted = passages.map(({ file, text }) => `${file} "${text}"`).join("; ");
        return `${column} ${id}, ${rank ?? "not found"}: ${plain(question)}\n  wanted ${wanted}\n  first  ${best?.path ?? ""} "${plain(best?.text)}"`;
      }),
  };
}

type OurAnswer = {
  results: { text: string; wing: string; source_path: string }[];
  weak_match?: true;
  nothing_found?: true;
};

async function askOurs(
  questions: readonly DocsQuestion[],
  folder: string,
  env: Env,
  mode: Leg["mode"],
): Promise<Asked[]> {
  await using palace = openCopy(await docsPalace(folder, env["MEMPALACE_MODEL_DIR"]), env);
  checkLabels(questions, palace.config.paths.ledgerFile);
  await palace.startBroker();
  const client = await palace.client();
  if (env["MEMPALACE_MODEL_DIR"] !== undefined) await allEmbedded(client);
  await allIndexed(palace.config.paths.ledgerFile);
  const asked = await askAll(questions, async (question) => {
    const values = { query: question.question, limit: DOCS_LIMIT };
    const answer = (await client.call("drawer.search", { ...values, mode })) as OurAnswer;
    const hits = answer.results.map(({ source_path: path, ...hit }): DocsHit => ({ path, ...hit }));
    return scored(question, hits, answer.weak_match === true || answer.nothing_found === true);
  });
  client.close();
  return asked;
}

function scored(question: DocsQuestion, hits: readonly DocsHit[], isWeak: boolean): Asked {
  return { question, rank: rankOf(question, hits), isWeak, best: hits[0] };
}

/** Throws if no drawer contains a question's passage: the question's label is then wrong or for another version of the documentation. */
function checkLabels(questions: readonly DocsQuestion[], ledgerFile: string): void {
  const ledger = new Database(ledgerFile, { readonly: true });
  const rows = ledger.prepare("SELECT text FROM drawer").all() as { text: string }[];
  ledger.close();
  const texts = rows.map(({ text }) => text.replaceAll(/\s+/g, " "));
  const passages = questions.flatMap(({ id, passages: of }) => of.map(({ text }) => ({ id, text })));
  const missing = passages.filter(({ text }) => !texts.some((drawer) => holds(drawer, text)));
  if (missing.length > 0) throw new Error(`no drawer holds these passages: ${JSON.stringify(missing)}`);
}

/** Asks the real MemPalace, which never calls an answer weak. `way`: further arguments of its search. */
async function askMempalace(questions: readonly DocsQuestion[], folder: string, way: object): Promise<Asked[]> {
  await using mempalace = await openMempalaceOn(await docsPalace(folder, realModelDir));
  const asked: Asked[] = [];
  for (const question of questions) {
    const hits = await mempalace.search(question.question, DOCS_LIMIT, way);
    const mapped = hits.map(({ source_file: path, ...hit }): DocsHit => ({ path, ...hit }));
    asked.push(scored(question, mapped, hits.length === 0));
  }
  return asked;
}
