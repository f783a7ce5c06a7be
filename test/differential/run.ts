/** Sends the same seeded calls to the real MemPalace and to us. A failing run prints its seed for PALACE_DIFFERENTIAL_SEED. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { makeOldRecipe } from "../helpers/old-recipe.ts";
import { mempalaceBin, mempalaceEnv, mempalaceMissing, type MempalaceVersion } from "../helpers/python-mempalace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { type Call, makeCalls } from "./calls.ts";
import { compare, type Finding } from "./compare.ts";
import { DIFFERENCES } from "./differences.ts";
import { MINED, oddRequests } from "./fixed-calls.ts";
import { parting } from "./mend.ts";
import { type Answer, DifferentialServer } from "./server.ts";
import { ROWS } from "./tool-rows.ts";

vi.setConfig({ testTimeout: 1_800_000, hookTimeout: 1_800_000 });

const CALLS = Number(process.env["PALACE_DIFFERENTIAL_CALLS"] ?? 1500);
const SEED = Number(process.env["PALACE_DIFFERENTIAL_SEED"] ?? 20_261_122);
/** Maximum number of findings to show, because one cause may make many. */
const SHOWN = Number(process.env["PALACE_DIFFERENTIAL_SHOWN"] ?? 5);
const PLACES_SHOWN = 6;
const MODEL_MAX_MS = 60_000;
/** Tools that search by vectors. Before such a call the test waits until our vectors are computed. */
const BY_VECTOR: readonly string[] = ["search", "check_duplicate", "checkpoint"];

/** Installs MemPalace `version` if needed. If that is impossible, its tests are skipped, or fail in CI. */
export async function describeDifferential(version: MempalaceVersion): Promise<void> {
  const missing = await mempalaceMissing(version);
  const title = `our answers against MemPalace ${version}${missing === undefined ? "" : ` (left out: ${missing})`}`;
  describe.skipIf(missing !== undefined)(title, () => defineTests(version));
}

function defineTests(version: MempalaceVersion): void {
  let home: string, palace: TestPalace, theirs: DifferentialServer, ours: DifferentialServer;
  const used = new Set<string>();

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "differential-"));
    const project = makeProject(join(home, "project"));
    theirs = new DifferentialServer(
      [mempalaceBin(version, "mempalace-mcp"), "--palace", join(home, "palace")],
      mempalaceEnv(home),
      project,
    );
    palace = createTestPalace();
    await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
    if (version === "3.3.6") await makeOldRecipe(palace);
    ours = new DifferentialServer([process.execPath, palace.executable("mp-shim")], palace.env, project);
    await Promise.all([theirs.open(), ours.open()]);
  });

  afterAll(async () => {
    await Promise.all([theirs.close(), ours.close()]);
    await palace[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });

  test(`${CALLS} seeded calls get the same answers from MemPalace and from us`, async (context) => {
    const client = await palace.client();
    const embedded = async (): Promise<void> => {
      while ((await client.call("palace.status", {})).search.pending > 0)
        await new Promise((resolve) => setTimeout(resolve, 5));
    };
    const model = async (): Promise<string> => (await client.call("palace.status", {})).search.modelState;
    await expect.poll(model, { timeout: MODEL_MAX_MS }).toBe("ready");
    const findings: Finding[] = [];
    const calls = makeCalls(SEED, CALLS, version);
    const millis = { theirs: 0, ours: 0 };
    const timed = async (server: "theirs" | "ours", answer: Promise<Answer>): Promise<Answer> => {
      const started = performance.now();
      return answer.finally(() => (millis[server] += performance.now() - started));
    };
    for (const call of calls) {
      for (const folder of [home, palace.home]) leaveNotice(folder, call);
      if (BY_VECTOR.includes(call.tool)) await embedded();
      const [theirAnswer, ourAnswer] = await Promise.all([
        timed("theirs", theirs.call(call)),
        timed("ours", ours.call(withOwn(call))),
      ]);
      const finding = compare(version, call, theirAnswer, ourAnswer, used);
      if (finding !== undefined) findings.push(finding);
    }
    client.close();
    const took = `theirs ${Math.round(millis.theirs)} ms, ours ${Math.round(millis.ours)} ms`;
    await context.annotate(`seed ${SEED}: ${calls.length} calls, ${took}`);
    const shown = findings.slice(0, SHOWN).map(describeFinding);
    expect(findings.length, `seed ${SEED}, ${took}; ${byTool(findings)}\n${shown.join("\n")}`).toBe(0);
  });

  test("MemPalace and we give invalid messages the same answers", async () => {
    const findings: Finding[] = [];
    for (const [method, params] of oddRequests(version)) {
      const [a, b] = [await theirs.request(method, params), await ours.request(method, params)];
      const call: Call = { step: -1, tool: String(method), args: params };
      const finding = compare(version, call, answerOf(a), answerOf(b), used);
      if (finding !== undefined) findings.push(finding);
    }
    expect(findings.map(describeFinding)).toEqual([]);
  });

  test("our tools have the names and annotations of MemPalace's tools, and accept their arguments", async () => {
    const [a, b] = [toolTable(await theirs.tools()), toolTable(await ours.tools())];
    expect(Object.keys(a).filter((name) => !(name in b))).toEqual([]);
    for (const [name, theirTool] of Object.entries(a)) expectServes(name, theirTool, b[name] as ToolShape);
    expect(Object.keys(b).filter((name) => !Object.hasOwn(ROWS, name))).toEqual([]);
  });

  test.skipIf(CALLS < 1500)("every accepted difference that is not due to chance occurs in the seeded calls", () => {
    const listed = DIFFERENCES.filter(({ versions }) => versions.includes(version))
      .filter(({ byChance }) => byChance !== true)
      .map(({ name }) => name);
    expect(listed.filter((name) => !used.has(name))).toEqual([]);
  });
}

type ToolShape = { properties: Record<string, string>; required: readonly string[]; readOnly: boolean };

function toolTable(tools: readonly unknown[]): Record<string, ToolShape> {
  type Listed = {
    name: string;
    inputSchema: { properties?: Record<string, { type: string }>; required?: string[] };
    annotations?: { readOnlyHint?: boolean };
  };
  return Object.fromEntries(
    (tools as Listed[]).map(({ name, inputSchema: { properties = {}, required = [] }, annotations }) => [
      name.replace("mempalace_", ""),
      {
        properties: Object.fromEntries(Object.entries(properties).map(([key, { type }]) => [key, type])),
        required: required.toSorted(),
        readOnly: annotations?.readOnlyHint === true,
      },
    ]),
  );
}

/** Expects that a client of MemPalace's tool can use ours, which may have more parameters. 3.3.6 has no annotations. */
function expectServes(name: string, theirs: ToolShape, ours: ToolShape): void {
  expect(ours.properties, name).toMatchObject(theirs.properties);
  expect(
    ours.required.filter((key) => !theirs.required.includes(key)),
    name,
  ).toEqual([]);
  if (theirs.readOnly) expect(ours.readOnly, name).toBe(true);
}

/** Adds arguments that only our tools have, if the call's arguments are an object. */
function withOwn(call: Call): Call {
  const { args, own } = call;
  return own === undefined || typeof args !== "object" || args === null ? call : { ...call, args: { ...args, ...own } };
}

function answerOf({ result, error }: Awaited<ReturnType<DifferentialServer["request"]>>): Answer {
  return error === undefined ? { value: result } : { error };
}

/** Makes a project with some of the files in PROJECT_SOURCES and with ignore rules, and beside it the project MINED. */
function makeProject(folder: string): string {
  mkdirSync(`${folder}-mined`, { recursive: true });
  for (const [name, text] of Object.entries(MINED)) writeFileSync(join(`${folder}-mined`, name), text);
  mkdirSync(join(folder, "sub"), { recursive: true });
  for (const name of ["kept.md", "x.log", "sub/ignored.md", "sub/kept.md"]) writeFileSync(join(folder, name), "x");
  writeFileSync(join(folder, ".gitignore"), "*.log\n");
  writeFileSync(join(folder, "sub/.gitignore"), "ignored.md\n");
  return folder;
}

function leaveNotice(home: string, { notice }: Call): void {
  if (notice === undefined) return;
  const folder = join(home, ".mempalace", "hook_state");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "last_checkpoint"), notice);
}

function byTool(findings: readonly Finding[]): string {
  const counts = new Map<string, number>();
  for (const { call } of findings) counts.set(call.tool, (counts.get(call.tool) ?? 0) + 1);
  return [...counts].map(([tool, count]) => `${tool} ${count}`).join(", ");
}

function describeFinding({ call, theirs, ours }: Finding): string {
  const places = parting(theirs, ours).slice(0, PLACES_SHOWN);
  const own = call.own === undefined ? "" : ` own ${JSON.stringify(call.own)}`;
  return `#${call.step} ${call.tool} ${JSON.stringify(call.args).slice(0, 600)}${own}\n${places.join("\n")}`;
}
