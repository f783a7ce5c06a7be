/** The model that judges what agents have not scored, for `palace doctor`: whether its address answers. Imported by doctor.ts. */
import type { Env } from "../../config/env.ts";
import { readHarness } from "../../config/harness.ts";
import { printable } from "../terminal/output.ts";
import { type Check, ok, warn } from "./check.ts";

const ANSWER_MAX_MS = 3_000;
const NAME = "judge model";
const HINT =
  "judge-url is the address without /chat/completions, judge-model a name (palace config): docs/how-to/learning.md";

/** Nothing where none is named. Never throws. */
export async function checkJudge(env: Env): Promise<Check[]> {
  const { judge } = readHarness(env);
  const isNamed = Boolean(env["MEMPALACE_JUDGE_URL"] ?? env["MEMPALACE_JUDGE_MODEL"]);
  if (judge === undefined) return isNamed ? [warn(NAME, "address and model are needed; nobody is asked", HINT)] : [];
  const { url, model, key } = judge;
  const who = `${printable(model)} at ${printable(url)}`;
  try {
    const { status } = await fetch(`${url.replace(/\/+$/, "")}/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: "error",
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    });
    // Not every server lists its models; one that refuses, or has failed, judges nothing either.
    const isRefused = status === 401 || status === 403 || status >= 500;
    return [isRefused ? warn(NAME, `${who} answers with status ${status}`, HINT) : ok(NAME, who)];
  } catch {
    return [warn(NAME, `${who} does not answer; what agents do not score stays unscored`, HINT)];
  }
}
