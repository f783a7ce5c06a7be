/** Checks the settings file, whether the running broker uses it, and the judge model, for `palace doctor`. */
import type { Config } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { readHarness } from "../../config/harness.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { sourceText } from "../settings/sources.ts";
import { printable } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const NAME = "settings file";

/** `status`: report of the running broker, if it gave one. */
export function checkSettingsFile(config: Config, status: StatusReport | undefined): Check[] {
  const { file, faults } = config.settings;
  const checks = faults.map(({ kind, message, hint }) =>
    (kind === "unknown" ? warn : fail)(NAME, printable(message), hint),
  );
  const used = config.settings
    .told()
    .map((one) => `${one.key} from ${one.source === "file" ? "the file" : sourceText(one)}`);
  const what = used.length === 0 ? "all defaults" : used.join(", ");
  if (checks.length === 0) checks.push(ok(NAME, `${file.path}${file.isThere ? "" : ", not there"}: ${what}`));
  // A broker on another machine reads its own file.
  if (isElsewhere(config)) return checks;
  return [...checks, ...checkUse(config, status?.settings), ...checkDoor(status)];
}

/** Warns if a door in the settings file is shut: the broker starts without that door. */
function checkDoor(status: StatusReport | undefined): Check[] {
  const listen = status?.settings?.find(({ key, source }) => key === "listen" && source === "file");
  if (listen === undefined || listen.value === "off" || status?.doors.some(({ kind }) => kind === "tcp") === true)
    return [];
  return [warn("listen", `the door ${printable(listen.value)} of the file is shut`, "palace status logs says why")];
}

/** Compares the file with the values that the running broker has read; an older broker does not report them. */
function checkUse({ settings }: Config, inUse: StatusReport["settings"]): Check[] {
  if (inUse === undefined) return [];
  const wanted = settings.told().filter(({ takesEffect }) => takesEffect === "start");
  return wanted.flatMap(({ key, value, source }) => {
    const used = inUse.find((one) => one.key === key);
    if (source !== "file" || used?.value === value) return [];
    const { variable } = used ?? {};
    return variable === undefined
      ? [warn(key, `the running broker does not use the file's ${printable(value)} yet`, "palace restart")]
      : [
          warn(
            key,
            `the running broker was started with ${variable}=${printable(used?.value ?? "")}, which wins over the file's ${printable(value)}`,
            `to use the file: unset ${variable} where the agents start, then palace restart`,
          ),
        ];
  });
}

const ANSWER_MAX_MS = 3_000;
const JUDGE = "judge model";
const HINT =
  "judge-url is an address without /chat/completions, judge-model is the model's name: docs/how-to/learning.md";

/** Returns no check if no judge model is set. Never throws. */
export async function checkJudge(env: Env): Promise<Check[]> {
  const { judge } = readHarness(env);
  const isNamed = Boolean(env["MEMPALACE_JUDGE_URL"] ?? env["MEMPALACE_JUDGE_MODEL"]);
  if (judge === undefined) return isNamed ? [warn(JUDGE, "off: judge-url and judge-model are both needed", HINT)] : [];
  const { url, model, key } = judge;
  const who = `${printable(model)} at ${printable(url)}`;
  try {
    const { status } = await fetch(`${url.replace(/\/+$/, "")}/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      redirect: "error",
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
    });
    // A server that does not list its models may still be able to judge. A server that refuses or fails cannot.
    const isRefused = status === 401 || status === 403 || status >= 500;
    return [isRefused ? warn(JUDGE, `${who} answers with status ${status}`, HINT) : ok(JUDGE, who)];
  } catch {
    return [warn(JUDGE, `${who} does not answer; memories that agents do not score stay unscored`, HINT)];
  }
}
