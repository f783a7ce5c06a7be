/** World of `npm run bench:learning`: problems with solutions that are true, that were true once, or that mislead. */
import type { Telling } from "../../src/memory/port/outcome.ts";
import { seededRandom } from "../helpers/random.ts";

export const ROUNDS = 10;
export const SHOWN = 4;
/** Number of a problem's solutions by kind. At most three of the four shown solutions can be true. */
export const KINDS = { true: 3, outdated: 2, misleading: 2 } as const;
/** Before this round one true solution of each problem becomes outdated, and one outdated solution becomes true. */
const CHANGE_ROUND = 6;
/** Time between two rounds. A memory in `working` expires within it unless it is promoted. */
const ROUND_MS = 2 * 86_400_000;
const QUESTION_MS = 60_000;
export const START_MS = Date.UTC(2026, 0, 5, 9);

export type Setting = {
  /** Share of turns whose outcome is wrong. */
  noise: number;
  /** Number of times that each misleading memory was scored `worked` before the first round. */
  praise: number;
  isChanging: boolean;
};
type Kind = keyof typeof KINDS;
export type Memory = { text: string; kind: Kind; problem: number; changed: Kind };
export type World = { memories: Memory[]; problems: { wordings: string[] }[] };
/** `show` returns the memories to show at `atMs`. `hear` gets the outcome of each memory and of the answer. */
export type Strategy = {
  show(question: string, atMs: number): Promise<number[]>;
  hear(outcomes: ReadonlyMap<number, Telling>, answer: Telling, atMs: number): Promise<void>;
  rest?(atMs: number): Promise<void>;
};

const SUBJECTS = [
  ...["deployment pipeline", "login page", "database backup", "search index"],
  ...["payment webhook", "mobile build", "image upload", "mail queue"],
];
const TROUBLES = ["times out under load", "fails after an upgrade"];
const REMEDIES = [
  ...["raise the timeout to two minutes", "pin the older driver", "clear the lock file first", "run it as one worker"],
  ...["turn off compression", "rotate the token", "rebuild the index overnight", "use the second region"],
  ...["switch to the new endpoint", "drop the stale session table", "warm the cache beforehand"],
  ...["add a retry with a pause", "move the job to Sunday", "double the memory limit", "disable the proxy"],
  "use the signed certificate",
];
const STATEMENTS: readonly ((subject: string, trouble: string, remedy: string) => string)[] = [
  (subject, trouble, remedy) => `When the ${subject} ${trouble}, ${remedy}.`,
  (subject, trouble, remedy) => `The ${subject} ${trouble}? Then ${remedy}.`,
  (subject, trouble, remedy) => `If somebody reports that the ${subject} ${trouble}, the answer is to ${remedy}.`,
  (subject, trouble, remedy) => `Found while debugging: the ${subject} ${trouble} until you ${remedy}.`,
  (subject, trouble, remedy) => `Handbook, ${subject}: it ${trouble}. Remedy: ${remedy}.`,
  (subject, trouble, remedy) => `To get the ${subject} going again when it ${trouble}, ${remedy}.`,
  (subject, trouble, remedy) => `You can ${remedy} as soon as the ${subject} ${trouble}.`,
];
const QUESTIONS: readonly ((subject: string, trouble: string) => string)[] = [
  (subject, trouble) => `What helps when the ${subject} ${trouble}?`,
  (subject, trouble) => `Our ${subject} ${trouble} again, what was it that we did about it?`,
  (subject, trouble) => `${subject} ${trouble}, any idea?`,
  (subject, trouble) => `How do I fix it: the ${subject} ${trouble}`,
  (subject, trouble) => `The ${subject} ${trouble} since this morning. What should I try first?`,
  (subject, trouble) => `Do we know why the ${subject} ${trouble}, and what to do?`,
];

export function makeWorld(seed: number): World {
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const memories: Memory[] = [];
  const problems: World["problems"] = [];
  for (const subject of SUBJECTS)
    for (const trouble of TROUBLES) {
      const problem = problems.length;
      problems.push({ wordings: QUESTIONS.map((ask) => ask(subject, trouble)) });
      const remedies = REMEDIES.toSorted(() => random() - 0.5);
      for (const kind of Object.keys(KINDS) as Kind[])
        for (let nth = 0; nth < KINDS[kind]; nth++) {
          // The truth changes: the first true solution becomes outdated, and the first outdated solution becomes true.
          const changed = nth > 0 || kind === "misleading" ? kind : kind === "true" ? "outdated" : "true";
          const text = pick(STATEMENTS)(subject, trouble, remedies.pop() ?? "");
          memories.push({ text, kind, problem, changed });
        }
    }
  return { memories: memories.toSorted(() => random() - 0.5), problems };
}

/** Returns the share of true memories among the shown memories, for each round. Each round asks in another wording. */
export async function play(world: World, setting: Setting, strategy: Strategy, seed: number): Promise<number[]> {
  const { noise, praise, isChanging } = setting;
  const random = seededRandom(seed * 1000 + noise * 10);
  const misleading = world.memories.flatMap(({ kind }, at) => (kind === "misleading" ? [[at, "worked"] as const] : []));
  for (let time = 0; time < praise; time++) await strategy.hear(new Map(misleading), "worked", START_MS);
  const rounds: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const roundMs = START_MS + round * ROUND_MS;
    await strategy.rest?.(roundMs);
    let good = 0;
    for (const [problem, { wordings }] of world.problems.entries()) {
      const atMs = roundMs + problem * QUESTION_MS;
      const shown = await strategy.show(wordings[(round + problem) % wordings.length] ?? "", atMs);
      const isWrong = random() < noise;
      const outcomes = new Map<number, Telling>();
      let helped = 0;
      for (const at of shown) {
        const memory = world.memories[at];
        if (memory?.problem !== problem) continue;
        const isTrue = (isChanging && round >= CHANGE_ROUND ? memory.changed : memory.kind) === "true";
        if (isTrue) helped += 1;
        outcomes.set(at, isTrue === isWrong ? "failed" : "worked");
      }
      good += helped;
      await strategy.hear(outcomes, helped >= SHOWN / 2 === isWrong ? "failed" : "worked", atMs + QUESTION_MS / 2);
    }
    rounds.push(good / (world.problems.length * SHOWN));
  }
  return rounds;
}
