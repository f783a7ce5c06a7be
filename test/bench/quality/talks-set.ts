/** Asks about six generated conversations (talks.ts), which `palace mine convos` files as transcripts. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Env } from "../../../src/config/env.ts";
import type { TestPalace } from "../../helpers/palace.ts";
import { allEmbedded } from "../settled.ts";
import { askAll } from "./ask.ts";
import { keptPalace, openCopy } from "./kept.ts";
import type { Leg } from "./legs.ts";
import type { Options, Outcome } from "./options.ts";
import { CHAT_KINDS, makeChats } from "./chats.ts";
import { header, rowLine } from "./table.ts";
import { KINDS, makeTalks, type Talk, type TalkQuestion } from "./talks.ts";

type Hit = { authored_at: string; text: string };
/** `recall5`, `recall10`: share of the answering exchanges among the first 5 or 10 hits. `isFirst`: the first hit is right. */
type Score = { question: TalkQuestion; recall5: number; recall10: number; isFirst: boolean; hits: Hit[] };

const LIMIT = 10;
const FIVE = 5;

export async function talksSet(options: Options): Promise<Outcome[]> {
  const [talks, chats] = [makeTalks(), makeChats()];
  const columns: Record<string, Score[]> = {};
  for (const { name, mode, env, why = "" } of options.legs) {
    if (env === undefined) options.leaveOut(`talks, ${name}`, why);
    else columns[name] = [...(await askOurs("talks", talks, env, mode)), ...(await askOurs("chats", chats, env, mode))];
  }
  const names = Object.keys(columns);
  const row = (name: string, isOf: (score: Score) => boolean): void => {
    const cells = Object.fromEntries(names.map((column) => [column, cell((columns[column] ?? []).filter(isOf))]));
    options.print(rowLine({ name, cells }, names));
  };
  options.print(header("talks: first, recall @5 @10", names));
  const ofTalks = new Set(talks.flatMap(({ questions }) => questions));
  for (const [kind, name] of Object.entries(KINDS))
    row(name, ({ question }) => question.kind === kind && ofTalks.has(question));
  row("all", ({ question }) => ofTalks.has(question));
  for (const [kind, name] of Object.entries(CHAT_KINDS))
    row(name, ({ question }) => question.kind === kind && !ofTalks.has(question));
  row("long: all", ({ question }) => !ofTalks.has(question));
  return Object.entries(columns).map(([column, scores]) => outcomeOf(column, scores));
}

function cell(scores: readonly Score[]): string {
  const mean = (of: (score: Score) => number): string =>
    ((100 * scores.reduce((sum, score) => sum + of(score), 0)) / scores.length).toFixed(1);
  return `${mean(({ isFirst }) => Number(isFirst))} ${mean(({ recall5 }) => recall5)} ${mean(({ recall10 }) => recall10)}`;
}

async function askOurs(name: string, talks: readonly Talk[], env: Env, mode: Leg["mode"]): Promise<Score[]> {
  const model = env["MEMPALACE_MODEL_DIR"];
  await using palace = openCopy(await palaceOf(name, talks, model), env);
  await palace.startBroker();
  const client = await palace.client();
  if (model !== undefined) await allEmbedded(client);
  const asked = talks.flatMap(({ id, questions }) => questions.map((question) => ({ wing: id, question })));
  const scores = await askAll(asked, async ({ wing, question }): Promise<Score> => {
    const values = { query: question.question, wing, limit: LIMIT, mode };
    const { results: hits } = (await client.call("drawer.search", values)) as { results: Hit[] };
    const recall = (count: number): number => {
      const times = new Set(hits.slice(0, count).map((hit) => hit.authored_at));
      return question.gold.filter((at) => times.has(at)).length / question.gold.length;
    };
    const isFirst = question.gold.includes(hits[0]?.authored_at ?? "");
    return { question, recall5: recall(FIVE), recall10: recall(LIMIT), isFirst, hits };
  });
  client.close();
  return scores;
}

/** Returns the cached palace of the conversations: one wing each, and one Claude Code transcript per session. */
function palaceOf(name: string, talks: readonly Talk[], model: string | undefined): Promise<string> {
  return keptPalace({ name, content: JSON.stringify(talks), model }, async (palace) => {
    for (const talk of talks) await mine(palace, talk);
  });
}

async function mine(palace: TestPalace, { id, sessions }: Talk): Promise<void> {
  const folder = join(palace.home, "talks", id);
  mkdirSync(folder, { recursive: true });
  sessions.forEach((exchanges, at) => {
    const lines = exchanges.flatMap(({ at: timestamp, user, assistant }) =>
      [user, assistant].map((content, side) => {
        const role = side === 0 ? "user" : "assistant";
        return JSON.stringify({ parentUuid: null, type: role, timestamp, message: { role, content } });
      }),
    );
    writeFileSync(join(folder, `session-${at}.jsonl`), `${lines.join("\n")}\n`);
  });
  const { code, stderr } = await palace.run("palace", ["mine", "convos", folder, "--wing", id, "--quiet"]);
  if (code !== 0) throw new Error(`palace mine convos ${id}: ${stderr}`);
}

function outcomeOf(column: string, scores: readonly Score[]): Outcome {
  const missed = scores.filter(({ recall10 }) => recall10 < 1);
  return {
    set: "talks",
    column,
    ranks: Object.fromEntries(scores.map(({ question, recall10 }) => [question.question, recall10])),
    misses: missed.map(
      ({ question, recall10, hits }) =>
        `${column} ${question.question}: ${recall10.toFixed(2)}\n  wanted ${question.gold.join(" ")}\n${hits
          .map(({ authored_at: at, text }) => `  ${at} "${text.replaceAll(/\s+/g, " ").slice(0, 100)}"`)
          .join("\n")}`,
    ),
  };
}
