/** Mines the sessions of LoCoMo's development half as files, and asks every question. locomo.ts has the metrics. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../../../src/config/env.ts";
import { realModelDir, type TestPalace } from "../../helpers/palace.ts";
import {
  average,
  CATEGORIES,
  type Conversation,
  type Figures,
  isoDate,
  place,
  placeAll,
  readConversations,
  type Score,
  type ScoredHit,
  scoreHits,
  slug,
} from "../locomo.ts";
import { allEmbedded } from "../settled.ts";
import { askAll } from "./ask.ts";
import { keptPalace, openCopy } from "./kept.ts";
import { MEMPALACE_WAYS, mempalaceUnavailable, openMempalaceOn } from "./mempalace-side.ts";
import type { Leg } from "./legs.ts";
import type { Options, Outcome } from "./options.ts";
import { header, rowLine } from "./table.ts";

type Answer = { results: ScoredHit[]; weak_match?: true; nothing_found?: true };
/** `own`: for each question about the palace, whether the answer was called weak. `foreign`: the same for questions about other palaces. */
type Measured = { scores: Score[]; own: boolean[]; foreign: boolean[] };

const LIMIT = 100;
/** Asks only every n-th question about another conversation. */
const FOREIGN_STEP = 4;
/** Minimum figures of our search by column, from docs/lab/search-recipe.md. */
const BARS: Readonly<Record<string, Figures>> = {
  words: { recall5: 89, recall10: 94.5, hit5: 87.5, hit10: 92 },
  "+ MiniLM": { recall5: 90, recall10: 95.5, hit5: 89.5, hit10: 93 },
  "+ MiniLM, one palace": { recall5: 89, recall10: 94, hit5: 87, hit10: 92 },
};
const METRICS: Readonly<Record<keyof Figures, string>> = {
  recall5: "session R@5",
  recall10: "session R@10",
  hit5: "turn hit@5",
  hit10: "turn hit@10",
};

export async function locomoSet(options: Options): Promise<Outcome[]> {
  const conversations = readConversations();
  if (conversations === undefined) {
    options.leaveOut("LoCoMo", "../shared/bench is not beside this checkout");
    return [];
  }
  const columns: Record<string, Measured> = {};
  for (const { name, mode, env, why = "" } of options.legs) {
    if (env === undefined) {
      options.leaveOut(`LoCoMo, ${name}`, why);
      continue;
    }
    const measured: Measured[] = [];
    for (const conversation of conversations) measured.push(await askOurs([conversation], conversations, env, mode));
    columns[name] = joined(measured);
    const shared = `${name}, one palace`;
    if (BARS[shared] !== undefined) columns[shared] = await askOurs(conversations, conversations, env, mode);
  }
  if (options.hasPython) {
    const why = await mempalaceUnavailable();
    for (const [name, way] of Object.entries(MEMPALACE_WAYS))
      if (why === undefined) columns[name] = await askMempalace(conversations, way);
      else options.leaveOut(`LoCoMo, ${name}`, why);
  }
  printTable(columns, options);
  return [];
}

function printTable(columns: Readonly<Record<string, Measured>>, { print }: Options): void {
  const names = Object.keys(columns);
  print(header(`LoCoMo dev (${Object.values(columns)[0]?.scores.length ?? 0})`, names));
  const row = (name: string, cell: (measured: Measured, column: string) => string): void => {
    const cells = Object.fromEntries(Object.entries(columns).map(([column, of]) => [column, cell(of, column)]));
    print(rowLine({ name, cells }, names));
  };
  for (const [metric, name] of Object.entries(METRICS) as [keyof Figures, string][])
    row(name, ({ scores }, column) => barred(average(scores)[metric], BARS[column]?.[metric]));
  for (const [category, name] of Object.entries(CATEGORIES))
    row(`  ${name}: R@5, turn hit@5`, ({ scores }) => {
      const { recall5, hit5 } = average(scores.filter((score) => score.category === Number(category)));
      return `${recall5.toFixed(1)} ${hit5.toFixed(1)}`;
    });
  row("called weak: own, another palace", ({ own, foreign }) => `${share(own)} ${share(foreign)}`);
}

function barred(value: number, bar: number | undefined): string {
  const text = value.toFixed(1);
  if (bar === undefined || value >= bar) return bar === undefined ? text : `${text} ok`;
  process.exitCode = 1;
  return `${text} MISS ${bar}`;
}

function share(answers: readonly boolean[]): string {
  return answers.length === 0 ? "–" : `${((100 * answers.filter(Boolean).length) / answers.length).toFixed(1)} %`;
}

function joined(measured: readonly Measured[]): Measured {
  return {
    scores: measured.flatMap(({ scores }) => scores),
    own: measured.flatMap(({ own }) => own),
    foreign: measured.flatMap(({ foreign }) => foreign),
  };
}

/** Asks the questions about `group`, whose conversations share one palace, and every FOREIGN_STEP-th other question. */
async function askOurs(
  group: readonly Conversation[],
  all: readonly Conversation[],
  env: Env,
  mode: Leg["mode"],
): Promise<Measured> {
  const model = env["MEMPALACE_MODEL_DIR"];
  await using palace = openCopy(await palaceOf(group, model), env);
  await palace.startBroker();
  const client = await palace.client();
  if (model !== undefined) await allEmbedded(client);
  const search = async (query: string, limit: number): Promise<Answer> =>
    (await client.call("drawer.search", { query, limit, mode })) as Answer;
  const isWeak = ({ weak_match: weak, nothing_found: nothing }: Answer): boolean => weak === true || nothing === true;
  const measured: Measured = { scores: [], own: [], foreign: [] };
  for (const conversation of group) {
    const placed = placeAll(conversation);
    await askAll(conversation.questions, async (question) => {
      const answer = await search(question.question, LIMIT);
      measured.scores.push(scoreHits(question, answer.results, conversation.id, placed));
      measured.own.push(isWeak(answer));
    });
  }
  const foreign = all.filter((conversation) => !group.includes(conversation)).flatMap(({ questions }) => questions);
  const strange = foreign.filter((_, at) => at % FOREIGN_STEP === 0);
  measured.foreign = await askAll(strange, async ({ question }) => isWeak(await search(question, 1)));
  client.close();
  return measured;
}

function palaceOf(group: readonly Conversation[], model: string | undefined): Promise<string> {
  const name = `locomo-${group.map(({ id }) => id).join("-")}`;
  return keptPalace({ name, content: JSON.stringify(group), model }, async (palace) => {
    for (const conversation of group) await mine(palace, conversation);
  });
}

async function mine(palace: TestPalace, { id, sessions }: Conversation): Promise<void> {
  const folder = join(palace.home, "locomo", id);
  mkdirSync(folder, { recursive: true });
  for (const session of sessions)
    writeFileSync(join(folder, `${session.id}_${isoDate(session.date)}.txt`), place(session).text);
  const { code, stderr } = await palace.run("mempalace-docs", [folder, "--wing", slug(id), "--quiet"]);
  if (code !== 0) throw new Error(stderr);
}

/** Asks the real MemPalace, with one palace per conversation. MemPalace never marks an answer as weak, so `own` and `foreign` stay empty. */
async function askMempalace(conversations: readonly Conversation[], way: object): Promise<Measured> {
  const scores: Score[] = [];
  for (const conversation of conversations) {
    await using mempalace = await openMempalaceOn(await palaceOf([conversation], realModelDir));
    const placed = placeAll(conversation);
    for (const question of conversation.questions) {
      const hits = await mempalace.search(question.question, LIMIT, way);
      scores.push(scoreHits(question, hits, conversation.id, placed));
    }
  }
  return { scores, own: [], foreign: [] };
}
