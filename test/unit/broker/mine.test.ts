/** Tests the tool `mine` with a miner in a real process: arguments, who may mine which folder, and mines that outlast the call. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { filesFor, isOpened } from "../../../src/broker/file-access.ts";
import { MineJobs } from "../../../src/broker/mine/jobs.ts";
import { placeOf } from "../../../src/broker/mine/place.ts";
import { argumentsOf, type MineRequest, readRequest } from "../../../src/broker/mine/request.ts";
import { openSourceFiles } from "../../../src/broker/palace/source-files.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { cpuTimeOf } from "../../helpers/cpu-time.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "palace-mine-"));
  mkdirSync(join(root, "open/project"), { recursive: true });
  mkdirSync(join(root, "closed"));
  symlinkSync(join(root, "closed"), join(root, "open/out"));
  writeFileSync(join(root, "open/talk.txt"), "x");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const HERE: Peer = { id: 1, agent: "t", door: "unix", role: "admin", uid: 1, pid: 1, tools: "full" };
const ELSEWHERE: Peer = { ...HERE, door: "gate", role: "agent" };
const never = new AbortController().signal;
const quiet = (): void => {};

function jobsOf(script: string, waitMs = 30_000, roots: string[] = []): MineJobs {
  const miner = { command: process.execPath, args: ["-e", script, "--"], env: {} };
  return new MineJobs({ miner, places: { userHome: root, roots }, waitMs, log: SILENT_LOG });
}
const DOCUMENT = `console.log(JSON.stringify({ wing: "w", files: 2, filed: 1, unchanged: 1, drawers: 3, skipped: [] }))`;
const step = (done: number): string =>
  `console.error(JSON.stringify({ done: ${done}, total: 3, name: "f${done}", drawers: 2 }))`;

test("the mine tool answers wrong arguments in upstream's words", () => {
  const error = (values: Record<string, unknown>): unknown => (readRequest(values) as { error?: string }).error;
  expect(error({ source: "/x", mode: "all" })).toBe("invalid mode 'all'; expected one of: projects, convos, extract");
  expect(error({ source: "/x", include_ignored: [" "] })).toMatch(/^include_ignored must be an array/);
  expect(error({ source: "/x", include_ignored: ["a"], mode: "convos" })).toMatch(/only in projects mode$/);
  expect(error({ source: "/x", include_subagents: "false" })).toBe("include_subagents must be a boolean");
  for (const words of [{ agent: "a\0b" }, { wing: "a\0b" }, { include_ignored: ["a\0b"] }])
    expect(error({ source: "/x", ...words })).toMatch(/must not contain a null character$/);
  // More bytes than WORDS_MAX_BYTES, which is half of what Linux allows for one argument of a process.
  for (const words of [
    { agent: "x".repeat(70_000) },
    { include_ignored: Array.from({ length: 700 }, () => "x".repeat(100)) },
  ])
    expect(error({ source: "/x", ...words })).toMatch(
      /^agent, wing and include_ignored are too long together: 70000 bytes/,
    );
});

test("no argument of the mine tool becomes an option of the miner", () => {
  const request = readRequest({
    source: "--db",
    wing: "--force",
    agent: "-x",
    include_ignored: ["--json"],
  }) as MineRequest;
  const line = argumentsOf(request, "/p");
  expect(line.slice(line.indexOf("--"))).toEqual(["--", "/p"]);
  expect(line).toContain("--wing=--force");
  expect(line).toContain("--include-ignored=--json");
});

test("an agent on another machine can mine only folders of the setting `mine-roots`", async () => {
  const jobs = jobsOf(DOCUMENT, 30_000, [join(root, "open")]);
  const ask = async (source: string, peer = ELSEWHERE, mode = "projects"): Promise<unknown> => {
    const answer = (await jobs.mine({ source, mode }, peer, never, quiet)) as {
      success: boolean;
      error_class?: string;
    };
    return answer.error_class ?? answer.success;
  };
  expect(await ask(join(root, "open/project"))).toBe(true);
  expect(await ask(join(root, "closed"))).toBe("PermissionError");
  expect(await ask(join(root, "closed/nothing"))).toBe("PermissionError");
  expect(await ask(join(root, "open/out"))).toBe("PermissionError");
  expect(await ask(`${root}/open/../closed`)).toBe("PermissionError");
  expect(await ask(join(root, "open/out"), HERE)).toBe(true);
  expect(await ask(join(root, "open/talk.txt"))).toBe(false);
  expect(await ask(join(root, "open/talk.txt"), ELSEWHERE, "convos")).toBe(true);
  expect(await ask("open/project", HERE)).toBe(false);
  expect(await ask("~/open/project", HERE)).toBe(true);
});

test("a long mine answers with its progress, and a later call returns the result", async () => {
  const go = join(root, "go");
  const script = `${step(1)}; const t = setInterval(() => {
    if (require("fs").existsSync(${JSON.stringify(go)})) { clearInterval(t); ${step(2)}; ${DOCUMENT}; } }, 20)`;
  const jobs = jobsOf(script, 3_000);
  const call = (source: string, onStep: (done: number) => void = quiet): Promise<unknown> =>
    jobs.mine({ source: join(root, source) }, HERE, never, onStep);
  const steps = { first: [] as number[], second: [] as number[] };
  const beside = call("open", (done) => steps.second.push(done));
  expect(await call("open", (done) => steps.first.push(done))).toMatchObject({ status: "running", done: 1, total: 3 });
  expect(await beside).toMatchObject({ success: true, status: "running", done: 1, total: 3 });
  expect(await call("closed")).toMatchObject({ success: false, error_class: "LockHeldByOtherProcess" });
  writeFileSync(go, "");
  const result = await call("open");
  expect(result).toMatchObject({ success: true, mode: "projects", dry_run: false, status: "done", drawers: 3 });
  expect((result as { output: string }).output).toContain("  + [2/3] f2 +2");
  // Each caller got only the progress step that came before its answer.
  expect(steps).toEqual({ first: [1], second: [1] });
  // The last call returned the result, so the next call starts a new mine.
  rmSync(go);
  expect(await call("open")).toMatchObject({ status: "running" });
  await jobs.close();
});

test("a mine ends when its call is cancelled or the broker ends", async () => {
  const jobs = jobsOf(`${step(1)}; process.on("SIGTERM", () => process.exit(130)); setInterval(() => {}, 1000)`);
  const controller = new AbortController();
  const begun = Promise.withResolvers<void>();
  const call = jobs.mine({ source: root }, HERE, controller.signal, () => begun.resolve());
  await begun.promise;
  controller.abort();
  await call;
  expect(await jobs.mine({ source: root }, HERE, never, quiet)).toMatchObject({ error_class: "Interrupted" });
  const again = jobs.mine({ source: root }, HERE, never, quiet);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await jobs.close();
  expect(await again).toMatchObject({ success: false, error_class: "Interrupted" });
});

test("if the miner died or printed an error, the answer has the text of the error", async () => {
  const one = jobsOf(`console.error("no such thing"); process.exit(3)`);
  expect(await one.mine({ source: root }, HERE, never, quiet)).toMatchObject({
    success: false,
    error: expect.stringContaining("no such thing"),
  });
  const two = jobsOf(
    `console.log(JSON.stringify({ error: { code: "CONFIG_BAD_VALUE", message: "bad wing", hint: "h" } })); process.exit(2)`,
  );
  expect(await two.mine({ source: root }, HERE, never, quiet)).toEqual({
    success: false,
    error: "bad wing",
    error_class: "CONFIG_BAD_VALUE",
    hint: "h",
  });
});

test("the mine tool refuses a too long path in linear time", () => {
  const took = (times: number, peer: Peer): number => {
    const source = `${root}/${"a/a/../".repeat(times)}`;
    const request = readRequest({ source }) as MineRequest;
    return cpuTimeOf(() =>
      expect(placeOf(request, peer, { userHome: root, roots: [root] })).toMatchObject({ success: false }),
    );
  };
  for (const peer of [HERE, ELSEWHERE]) {
    took(10_000, peer);
    // Ten times the path takes about ten times the work, not a hundred times. The limit is higher because the machine may be busy.
    expect(took(100_000, peer) / Math.max(took(10_000, peer), 2)).toBeLessThan(40);
    expect(isOpened(`${root}/${"a/a/../".repeat(1_000)}`, [root])).toBe(false);
  }
});

test("a peer on another machine sees only files in folders of the setting `mine-roots`", () => {
  const files = openSourceFiles(join(root, "staging"));
  writeFileSync(join(root, "closed/secret.txt"), "x");
  const seen = (peer: Peer, name: string) => filesFor(peer, files, [join(root, "open")]).state(join(root, name));
  expect(seen(ELSEWHERE, "open/talk.txt")).toBe("file");
  expect(seen(ELSEWHERE, "open/gone.txt")).toBe("absent");
  for (const name of ["closed/secret.txt", "closed/gone.txt", "open/out/secret.txt", "open/out/gone.txt"])
    expect(seen(ELSEWHERE, name), name).toBe("unknown");
  expect(seen(HERE, "closed/secret.txt")).toBe("file");
});

test("a peer on another machine learns no project name or ignore rule of a folder outside of `mine-roots`", () => {
  for (const folder of ["open", "closed"]) {
    mkdirSync(join(root, folder, "project"), { recursive: true });
    writeFileSync(join(root, folder, "project/mempalace.yaml"), "wing: w\nrooms: []\n");
    writeFileSync(join(root, folder, "project/.gitignore"), "x\n");
  }
  const files = openSourceFiles(join(root, "staging"));
  const asked = (peer: Peer, folder: string): unknown[] => {
    const seen = filesFor(peer, files, [join(root, "open")]);
    const project = join(root, folder, "project");
    return [seen.resolve(project), seen.isProject(project), seen.ignoreRules(project), seen.directoryId(project)];
  };
  expect(asked(ELSEWHERE, "closed")).toEqual([undefined, false, undefined, undefined]);
  for (const [peer, folder] of [
    [ELSEWHERE, "open"],
    [HERE, "closed"],
  ] as const)
    expect(asked(peer, folder).map((answer) => answer !== undefined && answer !== false)).toEqual([
      true,
      true,
      true,
      true,
    ]);
});
