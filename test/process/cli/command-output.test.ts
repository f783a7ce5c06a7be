import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, ROOT } from "../../helpers/palace.ts";

const NOTE = { wing: "w", room: "r", content: "The heron stands in the reeds at dawn." };

test("every executable prints its help and version even if stdin stays open", async () => {
  await using palace = createTestPalace();
  for (const bin of ["mp-shim", "mempalace-docs", "mempalace-session", "mempalace", "mempalace-broker"]) {
    // Stdin stays open and empty. An executable that reads it would hang.
    const run = async (option: string): Promise<{ status: number | null; stdout: string; stderr: string }> => {
      const child = spawn(process.execPath, [palace.executable(bin), option], { env: palace.env });
      const said = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
      const timer = setTimeout(() => child.kill("SIGKILL"), 40_000);
      const [status] = (await once(child, "close")) as [number | null];
      clearTimeout(timer);
      return { status, ...said };
    };
    const help = await run("--help");
    expect([bin, help.status, help.stderr]).toEqual([bin, 0, ""]);
    expect(help.stdout).toContain("--palace");
    const version = await run("--version");
    expect([bin, version.status, version.stdout]).toEqual([bin, 0, expect.stringMatching(/\d+\.\d+\.\d+/)]);
  }
  expect(existsSync(palace.config.paths.home)).toBe(false);
});

test("a fresh clone can run MemPalace's command line through the same launcher as `palace`", () => {
  // Reads the launchers without running them, because a launcher would first install the dependencies.
  const [ours, theirs] = ["palace", "mempalace"].map((name) => readFileSync(join(ROOT, "scripts", name), "utf8"));
  // Leaves out the lines that start shims and hooks quickly, because `mempalace` has no such verbs.
  const commands = (text = ""): string => text.replaceAll(/^#.*\n|^if .*; fi\n|^if [^]*?^fi\n/gm, "");
  expect(commands(theirs)).toBe(commands(ours).replace("launch palace", "launch mempalace"));
  expect(statSync(join(ROOT, "scripts/mempalace")).mode & 0o111).toBe(0o111);
});

test("mempalace repair --json without a terminal prints a JSON document with `aborted: true`", async () => {
  await using palace = createTestPalace();
  mkdirSync(palace.config.paths.home, { recursive: true });
  writeFileSync(palace.config.paths.graphFile, "");
  const { code, stdout, stderr } = await palace.run("mempalace", ["repair", "--json"]);
  expect([code, stderr, JSON.parse(stdout)]).toEqual([
    0,
    "",
    { aborted: true, hint: "./scripts/mempalace repair --yes" },
  ]);
});

test("a search shows ids for reveal and forget, and reports a missing model", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["call", "add_drawer", JSON.stringify(NOTE)]);
  await palace.run("palace", ["call", "add_drawer", JSON.stringify({ ...NOTE, room: "again" })]);
  const plain = await palace.run("palace", ["search", "heron", "--room", "r"]);
  const id = plain.stdout.trimEnd().split("\t").at(-1) ?? "";
  expect(plain.stderr).toMatch(/^searched without the model: no model on this machine/);
  expect(plain.stdout.split("\t").slice(3, 5)).toEqual([NOTE.content, "by words"]);
  expect([plain.stderr, (await palace.run("palace", ["reveal", id])).stdout]).toEqual([
    expect.not.stringContaining("--mode"),
    expect.stringContaining(NOTE.content),
  ]);
  const vector = await palace.run("palace", ["search", "heron", "--mode", "vector"]);
  expect([vector.code, vector.stderr]).toEqual([
    0,
    expect.stringMatching(
      /^--mode vector: searched without the model: no model.*; \.\/scripts\/palace doctor says what to do\n/,
    ),
  ]);
  const wrong = await palace.run("palace", ["search", "heron", "--wing", "../x"]);
  expect([wrong.code, wrong.stderr]).toEqual([4, expect.not.stringContaining("spec.ts")]);
  // Another drawer has the same text and stays. `forget` must not report it as left over.
  const forgotten = await palace.run("palace", ["forget", id, "--yes", "--json"]);
  const { pending, left, notes } = JSON.parse(forgotten.stdout) as {
    pending: number;
    left: unknown[];
    notes: string[];
  };
  expect([forgotten.code, pending, left]).toEqual([0, 0, []]);
  expect(notes.join()).toContain("other drawers");
});

test("doctor names a Chroma that does not answer, and neither status nor doctor shows a delay of 0 ms for it", async () => {
  await using palace = createTestPalace({
    env: { MEMPALACE_DRIVER: "chroma", MEMPALACE_CHROMA_URL: "http://127.0.0.1:1" },
  });
  await palace.run("palace", ["call", "add_drawer", JSON.stringify(NOTE)]);
  const { stdout: doctor } = await palace.run("palace", ["doctor"]);
  const driver = doctor.split("\n").find((line) => line.includes("\tdriver\t")) ?? "";
  expect(driver).toMatch(/1 drawer behind; no Chroma server answers at http:\/\/127\.0\.0\.1:1 \(bad port\)/);
  expect(driver).toContain("chroma-url");
  const { stdout: status } = await palace.run("palace", ["status"]);
  expect(status + doctor).not.toContain(" 0 ms");
});

test("a failed restart says that no broker runs and how to start one", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["start"]);
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  const failed = await palace.run("palace", ["restart"], { env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  taken.close();
  expect(failed.code).not.toBe(0);
  expect(failed.stderr).toMatch(
    /^palace: the old broker has ended and no new one runs: .*\n .*: \.\/scripts\/palace start\n$/,
  );
  expect((await palace.run("palace", ["start"])).code).toBe(0);
});

test("a hook ignores invalid input and logs one line about the problem", async () => {
  await using palace = createTestPalace();
  const { settingsDir } = palace.config.paths;
  mkdirSync(settingsDir, { recursive: true });
  const args = ["hook", "run", "--hook", "stop", "--harness", "claude-code"];
  for (const input of ["{no json", "", "[]", JSON.stringify({ transcript_path: "/etc/passwd" })]) {
    const { code, stdout } = await palace.run("mempalace", args, { input });
    expect([input, code, stdout]).toEqual([input, 0, "{}\n"]);
  }
  const lines = readFileSync(join(settingsDir, "hook_state/hook.log"), "utf8").trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^\[[\d:]+\] /, ""))).toEqual([
    "stop: stdin is not a JSON document (8 characters)",
    "stop: nothing came on stdin, a JSON document was expected",
    "stop: stdin is not a JSON document (2 characters)",
    'stop: transcript_path is not a transcript (a .jsonl or .json file): "/etc/passwd"',
  ]);
});

test("a dry run of `palace mine` counts the files that the real run files", async () => {
  await using palace = createTestPalace();
  const root = join(palace.home, "project");
  mkdirSync(root);
  for (const [name, text] of [
    ["long.md", "A paragraph that is long enough to become a drawer of the palace."],
    ["short.md", "too short"],
    ["blank.md", "  \n\n"],
  ] as const)
    writeFileSync(join(root, name), text);
  for (const kind of ["docs", "projects"]) {
    const mine = async (...more: string[]): Promise<Record<string, unknown>> =>
      JSON.parse((await palace.run("palace", ["mine", kind, root, "--json", ...more])).stdout) as Record<
        string,
        unknown
      >;
    const rehearsed = await mine("--dry-run");
    expect([kind, rehearsed["wouldFile"]]).toEqual([kind, ["long.md"]]);
    const { filed, skipped } = await mine();
    expect([kind, filed, skipped]).toEqual([kind, 1, rehearsed["skipped"]]);
  }
});

test("a repair of an empty palace puts no copy aside and reports no difference", async () => {
  await using palace = createTestPalace();
  for (let round = 0; round < 2; round++) {
    const { code, stdout } = await palace.run("palace", ["repair"]);
    expect([code, stdout]).toEqual([
      0,
      "ledger: index of words rebuilt; nothing else was wrong\npalace: 0 drawers written and verified\n",
    ]);
  }
  const { stdout } = await palace.run("palace", ["repair-status"]);
  expect(stdout).toContain("mempalace_drawers\tempty\n");
  expect(stdout).toContain("difference\tnone");
  expect(stdout).not.toContain("put aside");
});

test("a command whose output cannot be written ends with exit code 7 and one line; a command whose reader has ended is silent", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const typed = async (line: string): Promise<[number | null, string]> => {
    const command = `palace() { "${process.execPath}" "${palace.executable("palace")}" "$@"; }; ${line}`;
    const child = spawn("bash", ["-c", command], { env: palace.env, stdio: ["ignore", "ignore", "pipe"] });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    const [code] = (await once(child, "close")) as [number | null];
    return [code, stderr];
  };
  if (existsSync("/dev/full"))
    for (const verb of ["status", "help", "--version", "nonsense --json", "ls --json"])
      expect([verb, ...(await typed(`palace ${verb} > /dev/full`))]).toEqual([
        ...[verb, 7],
        expect.stringMatching(/^palace: the output cannot be written: ENOSPC.*\n$/),
      ]);
  expect(await typed("palace nonsense 2> /dev/full")).toEqual([2, ""]);
  for (const line of ["help | true", "status --watch | head -n 1", "logs -f | true", "events watch --follow | true"])
    expect([line, ...(await typed(`set -o pipefail; palace ${line}`))]).toEqual([line, 0, ""]);
});
