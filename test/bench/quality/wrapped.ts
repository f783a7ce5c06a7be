/** Wraps the developers' questions as people write prompts: with a greeting, the situation, and thanks or a pasted log. Deterministic. */
import type { DocsQuestion, Kind } from "./score.ts";

/** Kinds of questions to wrap, and the kinds of the resulting prompts. */
const WRAPPED: Partial<Record<Kind, Kind>> = {
  natural: "wrapped",
  paraphrase: "wrapped",
  identifier: "wrapped",
  offtopic: "wrappedOfftopic",
};
const GREETINGS = [
  "Hi there, hope you had a nice weekend!",
  "Good morning, and sorry to bother you again.",
  "Hello, thank you for looking at this.",
  "Dear team, thank you for the good work of the last weeks.",
  "Hey, quick one before lunch.",
] as const;
const SITUATION = [
  "We inherited this service from another team last month and are still finding our way.",
  "It runs on Node 22 in a container behind a proxy, and is deployed twice a day.",
  "I have read the code for an hour and asked two colleagues, who did not know either.",
  "It worked until Tuesday, then somebody updated a few packages.",
  "The tests pass on my machine, and fail on the build server about once a day.",
  "Our users noticed before we did, which was embarrassing.",
  "The project is still small, about forty files, and written in TypeScript.",
  "I would rather not add another dependency for it.",
] as const;
const THANKS = [
  "Thanks a lot in advance, I really appreciate it!",
  "Please keep the answer short.",
  "Kind regards and have a nice evening.",
  "Thank you so much for your help!",
  "No rush, Monday is fine as well. Cheers!",
] as const;
const LOG = Array.from(
  { length: 12 },
  (_, line) =>
    `    at Object.<anonymous> (/srv/app/build/step${line}.js:${10 + line}:14)\n{"level":30,"time":17643168${10 + line}000,"pid":71,"msg":"request completed","responseTime":${line}.1}`,
).join("\n");

/**
 * Makes a prompt of each question of a kind in WRAPPED. The question is near the beginning, in the middle, at the end, or before a log of
 * 1,500 characters.
 */
export function wrapped(questions: readonly DocsQuestion[]): DocsQuestion[] {
  return questions
    .filter(({ kind }) => WRAPPED[kind] !== undefined)
    .map(({ id, kind, question, passages }, at) => {
      const pick = (list: readonly string[], nth: number): string => list[(at * 7 + nth * 3) % list.length] ?? "";
      const wish = /[.?!]$/.test(question) ? question : `${question}?`;
      const situation = [0, 1, 2].map((nth) => pick(SITUATION, nth));
      const [greeting, thanks] = [pick(GREETINGS, 0), pick(THANKS, 1)];
      const shapes = [
        [greeting, ...situation, wish].join(" "),
        [greeting, wish, ...situation, thanks].join(" "),
        [greeting, ...situation, wish, thanks].join(" "),
        `${[greeting, ...situation, wish].join(" ")}\n${LOG}\n${thanks}`,
      ] as const;
      const prompt = shapes[at % shapes.length] ?? "";
      return { id: `${id}-wrapped`, kind: WRAPPED[kind] ?? kind, question: prompt, passages };
    });
}
