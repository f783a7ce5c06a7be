/** Sends the same seeded steps to us and to the real Roampal's servers. Answers may differ only as api-differences.ts says. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { agentOf } from "../../helpers/outcome-agent.ts";
import { send, withDoors } from "../../helpers/outcome-http.ts";
import { askRoampal, ROAMPAL_VERSIONS, type RoampalVersion, roampalMissing } from "../../helpers/python-roampal.ts";
import { compareAnswers, idIn, type Told } from "./api-compare.ts";
import { API_DIFFERENCES } from "./api-differences.ts";
import { sharedCount } from "./api-mend.ts";
import { apiSteps, type Step } from "./api-steps.ts";

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

const SEED = Number(process.env["PALACE_DIFFERENTIAL_SEED"] ?? 1);
const SHOWN = Number(process.env["PALACE_DIFFERENTIAL_SHOWN"] ?? 3);
const SHARED_MIN = 100;
const PLACE = /@(\d+)(?::(\w+))?@/g;

for (const version of ROAMPAL_VERSIONS) {
  const missing = await roampalMissing(version);
  const title = `we answer requests and tool calls as Roampal ${version} does`;
  test.skipIf(missing !== undefined)(missing === undefined ? title : `${title} (${missing})`, () => agrees(version));
}

/** Our answers, computed once for both versions. */
let ours: Promise<Told[]> | undefined;

async function agrees(version: RoampalVersion): Promise<void> {
  const steps = apiSteps(SEED);
  ours ??= ourAnswers(steps);
  const [theirs, told] = await Promise.all([theirAnswers(version, steps), ours]);
  const used = new Set<string>();
  const findings = steps.flatMap((step, at) => {
    const pair = [theirs[at], told[at]] as [Told, Told];
    const found = compareAnswers(version, step, ...pair, used);
    return found === undefined ? [] : [{ at, step, ...found }];
  });
  expect(findings.slice(0, SHOWN), `${findings.length} of ${steps.length} steps differ`).toEqual([]);
  // Each server ranks by its own rule, so only a minimum of shared memories is required.
  const shared = steps.reduce((sum, step, at) => sum + sharedCount(theirs[at], told[at], step), 0);
  expect(shared).toBeGreaterThan(SHARED_MIN);
  const known = API_DIFFERENCES.filter(({ versions }) => versions.includes(version)).map(({ name }) => name);
  expect([...used].toSorted()).toEqual(known.toSorted());
}

async function theirAnswers(version: RoampalVersion, steps: readonly Step[]): Promise<Told[]> {
  const dir = mkdtempSync(join(tmpdir(), "roampal-"));
  try {
    return (await askRoampal(version, join(import.meta.dirname, "api.py"), { dir, steps })) as Told[];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function ourAnswers(steps: readonly Step[]): Promise<Told[]> {
  await using palace = await withDoors();
  const agent = await agentOf(palace);
  const told: Told[] = [];
  for (const step of steps) {
    const given = filled(step, told);
    if (given.via === "list") {
      told.push((await agent.request("tools/list", {})) as { tools: unknown[] });
    } else if (given.via === "http") {
      const { status, body } = await send(
        { ...palace.socket, method: given.method },
        given.path,
        JSON.stringify(given.body),
      );
      told.push({ status, body });
    } else {
      const { name, arguments: args } = given;
      const answer = await agent.request("tools/call", { name, arguments: args }).catch((error: unknown) => error);
      const { content, isError = false } = answer as { content?: [{ text: string }]; isError?: boolean };
      told.push({ text: content?.[0].text ?? `refused: ${String(answer)}`, isError: isError || content === undefined });
    }
  }
  return told;
}

function filled(step: Step, told: readonly Told[]): Step {
  const text = JSON.stringify(step).replaceAll(PLACE, (_all, at: string, to: string | undefined) => {
    const id = idIn(told[Number(at)]) ?? "working_00000000";
    return to === undefined ? id : `${to}_${id.slice(id.lastIndexOf("_") + 1)}`;
  });
  return JSON.parse(text) as Step;
}
