/** Asks the model that the user has named, if any, to judge exchanges that the agent has not scored (outcome-memory.md 7.5). */
import { setTimeout as sleep } from "node:timers/promises";
import type { JudgeSettings } from "../../config/harness.ts";
import { isRecord } from "../../base/parse-json.ts";
import type { OwedScore } from "../../protocol/outcome.ts";
import { INSTRUCTIONS, type Judgment, question, readJudgment } from "./judgment.ts";

const REQUEST_MAX_MS = 8_000;
const ATTEMPTS = 2;
const WAIT_MAX_MS = 2_000;
const REPLY_TOKENS = 800;

/** Asks the model, for 18 s at most. Errors: an Error with the endpoint's address and the cause. */
export async function askJudge(settings: JudgeSettings, owed: OwedScore): Promise<Judgment> {
  const messages = [
    { role: "system", content: INSTRUCTIONS },
    { role: "user", content: question(owed) },
  ];
  // The second attempt leaves out the parameters that some models refuse.
  const usual = { temperature: 0, max_tokens: REPLY_TOKENS };
  let problem = "";
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const body = { model: settings.model, messages, ...(attempt === 1 && usual) };
    const answer = await post(settings, body).catch((error: unknown) => ({ problem: causeOf(error), waitMs: 0 }));
    if ("problem" in answer) {
      ({ problem } = answer);
      if (attempt < ATTEMPTS) await sleep(answer.waitMs);
      continue;
    }
    const judgment = readJudgment(answer.text, owed);
    if (judgment !== undefined) return judgment;
    problem = "its reply is not a judgment";
  }
  throw new Error(`${settings.url}: ${problem}`);
}

async function post(
  { url, key }: JudgeSettings,
  body: object,
): Promise<{ text: string } | { problem: string; waitMs: number }> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(body),
    // Does not follow redirects: the text may only go to this address.
    redirect: "error",
    signal: AbortSignal.timeout(REQUEST_MAX_MS),
  });
  const text = await response.text();
  if (!response.ok) return { problem: `status ${response.status}`, waitMs: waitOf(response) };
  return { text: contentOf(JSON.parse(text)) };
}

function waitOf(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return response.status === 429 ? Math.min(Math.max(seconds * 1000 || WAIT_MAX_MS, 0), WAIT_MAX_MS) : 0;
}

/** Returns the model's answer, or an empty text. Some models put the answer into their thoughts; incomplete thoughts do not count. */
function contentOf(completion: unknown): string {
  const choices = isRecord(completion) ? completion["choices"] : undefined;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const { message, finish_reason: end } = isRecord(first) ? first : {};
  const { content, reasoning_content: thoughts } = isRecord(message) ? message : {};
  const texts = [content, end === "length" ? "" : thoughts].filter(
    (text): text is string => typeof text === "string" && text.trim() !== "",
  );
  return texts[0] ?? "";
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
