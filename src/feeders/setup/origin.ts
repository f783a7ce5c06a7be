/** Decides whether a folder has conversations with an AI, by names of models and markers such as `User:` (palace.md 5.8). */
import { anyCase } from "../../memory/text/text.ts";
import { WORD } from "../convo-miner/python-pattern.ts";
import { isOurs, readStart, textFiles } from "./walk.ts";

const FILES_MAX = 30;
const FILE_CHARS_MAX = 100_000;
const TOTAL_CHARS_MAX = 5_000_000;
/** Minimum characters for a "no": in a shorter text, missing signs prove nothing. */
const CHARS_MIN = 150;

const CERTAIN = `Anthropic,Claude Code,Claude 3,Claude 4,claude mcp,CLAUDE.md,.claude/,ChatGPT,GPT-4,GPT-3,GPT-5,OpenAI,gpt-4o,
gpt-4-turbo,o1-preview,o3,gemini-pro,gemini-1.5,Google AI,Mixtral,Cohere,MCP,LLM,RAG,fine-tune,context window,embedding`;
/** Names that also have other meanings. They count only together with other names. */
const DOUBTFUL = "Claude,Opus,Sonnet,Haiku,Gemini,Bard,Llama,Mistral";

const EDGE = `(?:(?<!${WORD})(?=${WORD})|(?<=${WORD})(?!${WORD}))`;
const TURNS = [
  ...["user", "assistant", "human", "ai"].map((who) => `${EDGE}${anyCase(who)}\\s*:\\s*`),
  ...["User", "Assistant"].map((who) => `${EDGE}>>>\\s*${anyCase(who)}${EDGE}`),
].map((source) => new RegExp(source, "giu"));

export type Origin = {
  likely_ai_dialogue: boolean;
  /** Confidence in the result, 0…1. */
  confidence: number;
  primary_platform: null;
  user_name: null;
  agent_persona_names: string[];
  evidence: string[];
};

/** Returns undefined if the folder has no text to examine. */
export function detectOrigin(root: string): Origin | undefined {
  const samples: string[] = [];
  let chars = 0;
  for (const file of textFiles(root, FILES_MAX)) {
    if (chars >= TOTAL_CHARS_MAX) break;
    const text = isOurs(file) ? undefined : readStart(file, FILE_CHARS_MAX);
    if (text === undefined || text === "") continue;
    samples.push(text);
    chars += Array.from(text).length;
  }
  return samples.length === 0 ? undefined : judge(samples.join("\n\n"));
}

function judge(text: string): Origin {
  const chars = Math.max(1, Array.from(text).length);
  const certain = counted(text, CERTAIN);
  const doubtful = counted(text, DOUBTFUL);
  const turns = TURNS.map((pattern) => text.match(pattern)?.length ?? 0);
  const [turnCount, turnKinds] = [sum(turns), turns.filter((count) => count > 0).length];
  const isContext = certain.size + turnKinds > 0;
  const names = isContext ? sum([...certain.values(), ...doubtful.values()]) : 0;
  const density = (count: number): number => count / (chars / 1000);

  const evidence: string[] = [];
  const shown = isContext ? new Map([...certain, ...doubtful]) : new Map<string, number>();
  if (shown.size > 0) evidence.push(`AI brand terms: ${list(shown, 5)}`);
  else if (doubtful.size > 0) evidence.push(`words that may be names of models, alone: ${list(doubtful, 3)}`);
  if (turnCount > 0) evidence.push(`turn markers: ${turnCount} of ${turnKinds} kinds`);

  const said = (likely: boolean, confidence: number, ...why: string[]): Origin => ({
    likely_ai_dialogue: likely,
    confidence,
    primary_platform: null,
    user_name: null,
    agent_persona_names: [],
    evidence: [...evidence, ...why],
  });
  if (density(names) >= 0.5 || density(turnCount) >= 2)
    return said(true, Math.min(0.95, 0.6 + 0.1 * (density(names) + density(turnCount))));
  if (names + turnCount === 0 && chars >= CHARS_MIN) return said(false, 0.9, `no sign of an AI in ${chars} characters`);
  return said(true, 0.4, names + turnCount > 0 ? "few signs: taken for a chat" : "little text: taken for a chat");
}

/** Counts each term, only as whole words. Where a term begins or ends with a punctuation mark, no word boundary is needed. */
function counted(text: string, terms: string): Map<string, number> {
  const found = terms.split(/,\n?/).map((term): [string, number] => {
    const before = /^\w/.test(term) ? `(?<!${WORD})` : "";
    const after = /\w$/.test(term) ? `(?!${WORD})` : "";
    return [term, text.match(new RegExp(`${before}${anyCase(term)}${after}`, "giu"))?.length ?? 0];
  });
  return new Map(found.filter(([, count]) => count > 0));
}

function list(counts: ReadonlyMap<string, number>, max: number): string {
  const top = [...counts].sort(([, a], [, b]) => b - a).slice(0, max);
  return top.map(([term, count]) => `'${term}' (${count}x)`).join(", ");
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
