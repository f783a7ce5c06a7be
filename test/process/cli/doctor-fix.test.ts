import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { makeSteppedClock } from "../../helpers/stepped-clock.ts";

const DAY_MS = 86_400_000;
const DRAWER = JSON.stringify({ wing: "w", room: "r", content: "a note that waited" });

type Fix = { name: string; what: string; state: string; error?: { message: string } };
type Said = { code: number | null; fixes: Fix[]; names: string[]; states: Record<string, string> };

async function fix(palace: TestPalace, args: string[] = [], env: Record<string, string> = {}): Promise<Said> {
  const { code, stdout, stderr } = await palace.run("palace", ["doctor", "--fix", "--json", ...args], { env });
  const { fixes, checks } = JSON.parse(stdout || stderr) as { fixes: Fix[]; checks: { name: string; state: string }[] };
  const states = Object.fromEntries(checks.map(({ name, state }) => [name, state]));
  return { code, fixes, names: fixes.map(({ name }) => name), states };
}

test("doctor --fix removes a killed broker's files and starts a new broker", async () => {
  await using palace = createTestPalace();
  const { socketPath, gatePath, brokerFile, wantedFile, stateDir, tag } = palace.config.paths;
  const broker = await palace.startBroker();
  broker.kill("SIGKILL");
  await exitOf(broker);
  const starting = join(stateDir, `${tag}.starting`);
  mkdirSync(stateDir, { recursive: true });
  for (const file of [starting, wantedFile]) {
    writeFileSync(file, "1\n");
    utimesSync(file, new Date(Date.now() - DAY_MS), new Date(Date.now() - DAY_MS));
  }
  chmodSync(stateDir, 0o755);
  const left = [socketPath, gatePath, brokerFile, wantedFile, starting];
  expect(left.filter((file) => !existsSync(file))).toEqual([]);

  const dry = await fix(palace, ["--dry-run"]);
  expect(dry.names).toEqual(["folder", "socket", "socket", "note", "note", "note", "broker"]);
  expect(new Set(dry.fixes.map(({ state }) => state))).toEqual(new Set(["planned"]));
  expect(left.filter((file) => !existsSync(file))).toEqual([]);
  expect(statSync(stateDir).mode & 0o777).toBe(0o755);

  const quiet = await fix(palace, ["--no-start"]);
  expect(quiet.names).toEqual(["folder", "socket", "socket", "note", "note", "note"]);
  expect(left.filter((file) => existsSync(file))).toEqual([]);
  expect(statSync(stateDir).mode & 0o777).toBe(0o700);
  expect(await fix(palace)).toMatchObject({ code: 0, names: ["broker"], states: { broker: "ok" } });
  expect(await fix(palace)).toMatchObject({ code: 0, names: [] });
  const plain = await palace.run("palace", ["doctor", "--fix"]);
  expect(plain.stdout).toContain("Nothing to fix.");
});

test("doctor --fix recreates missing folders, readable only by their user", async () => {
  await using palace = createTestPalace();
  const { stateDir, socketPath } = palace.config.paths;
  const said = await palace.run("palace", ["doctor", "--fix", "--no-start"]);
  for (const folder of [stateDir, dirname(socketPath)]) {
    expect(said.stdout).toContain(`done\tfolder\tmake ${folder}`);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  }
  expect(existsSync(palace.config.paths.home)).toBe(false);
});

test("doctor --fix keeps files that no broker wrote, and the files of a paused broker (SIGSTOP)", async () => {
  await using palace = createTestPalace();
  const { socketPath, brokerFile, gatePath } = palace.config.paths;
  const broker = await palace.startBroker();
  broker.kill("SIGSTOP");
  try {
    expect((await fix(palace, ["--no-start"])).names).not.toContain("socket");
    expect([existsSync(socketPath), existsSync(brokerFile)]).toEqual([true, true]);
  } finally {
    broker.kill("SIGCONT");
  }
  broker.kill("SIGKILL");
  await exitOf(broker);
  rmSync(gatePath);
  writeFileSync(gatePath, "somebody's file");
  writeFileSync(brokerFile, "somebody's file");
  expect((await fix(palace, ["--no-start"])).names).toEqual(["socket"]);
  expect([gatePath, brokerFile].map((file) => readFileSync(file, "utf8"))).toEqual(Array(2).fill("somebody's file"));
});

test("doctor --fix delivers spooled writes once, and leaves a broker stopped that was stopped by hand", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["start"]);
  await palace.run("palace", ["stop"]);
  await palace.run("palace", ["call", "add_drawer", DRAWER], { env: { MEMPALACE_BROKER: "unix:/nowhere.sock" } });
  const stopped = await fix(palace);
  expect(stopped).toMatchObject({ names: [], states: { "stop mark": "warn", spool: "warn" } });
  rmSync(join(palace.config.paths.stateDir, `${palace.config.paths.tag}.stopped`));
  expect(await fix(palace)).toMatchObject({ code: 0, names: ["broker", "spool"], states: { spool: "ok" } });
  expect(await fix(palace)).toMatchObject({ code: 0, names: [] });
  const found = await palace.run("palace", ["call", "list_drawers", "{}"]);
  expect(JSON.parse(found.stdout)).toMatchObject({ total: 1 });
});

test("doctor --fix wires a changed agent again, and keeps the user's own lines and the agents of other palaces", async () => {
  await using palace = createTestPalace({ env: { PATH: "/usr/bin:/bin" } });
  const claude = join(palace.home, ".claude.json");
  const pi = join(palace.home, ".pi/agent/mcp.json");
  mkdirSync(join(palace.home, "other"));
  writeFileSync(claude, '{\n  // mine\n  "numStartups": 3\n}\n');
  await palace.run("palace", ["install", "claude-code"]);
  await palace.run("palace", ["install", "pi", "--palace", join(palace.home, "other")]);
  const wired = readFileSync(claude, "utf8");
  const other = readFileSync(pi, "utf8");
  writeFileSync(claude, wired.replace("scripts/palace", "scripts/an-older-palace"));

  const dry = await fix(palace, ["--dry-run", "--no-start"]);
  expect(dry.fixes.filter(({ name }) => name === "agents")).toMatchObject([
    { what: expect.stringContaining(`claude-code again: ${claude}`) as string },
  ]);
  expect(readFileSync(claude, "utf8")).toContain("an-older-palace");
  expect(await fix(palace, ["--no-start"])).toMatchObject({ names: expect.arrayContaining(["agents"]) as unknown });
  expect(readFileSync(claude, "utf8")).toBe(wired);
  expect(wired).toContain("// mine");
  expect(readFileSync(pi, "utf8")).toBe(other);
  expect((await fix(palace, ["--no-start"])).names).toEqual([]);
});

test("doctor --fix makes an overdue backup, but not while the backup folder is missing", async () => {
  await using palace = createTestPalace();
  const dir = join(palace.home, "backups");
  const env = { MEMPALACE_BACKUP_DIR: dir };
  const clock = makeSteppedClock(palace.home);
  // The broker's clock is five days behind. The backup is therefore new for the broker and overdue for every other process.
  clock.step(-5 * DAY_MS);
  await palace.startBroker({ ...env, ...clock.env });
  const made = (): string[] => (existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".tar")) : []);
  await expect.poll(() => made().length).toBe(1);
  expect(await fix(palace, ["--dry-run"], env)).toMatchObject({ names: ["backups"], states: { backups: "warn" } });
  expect(made()).toHaveLength(1);
  const done = await fix(palace, [], env);
  expect(done).toMatchObject({ code: 0, names: ["backups"], states: { backups: "ok" } });
  expect(made()).toHaveLength(2);
  expect((await palace.run("palace", ["verify"], { env })).code).toBe(0);
  expect((await fix(palace, [], env)).names).toEqual([]);
  rmSync(dir, { recursive: true });
  expect((await fix(palace, [], env)).names).toEqual([]);
  expect(existsSync(dir)).toBe(false);
});

test("doctor --fix names each problem that it cannot fix, and fixes all others", async () => {
  await using palace = createTestPalace();
  const { stateDir, socketPath } = palace.config.paths;
  mkdirSync(dirname(dirname(stateDir)), { recursive: true });
  writeFileSync(dirname(stateDir), "a file stands there");
  const said = await fix(palace, ["--no-start"]);
  expect(said.code).toBe(1);
  expect(said.fixes).toMatchObject([
    { name: "folder", state: "failed", error: { message: expect.stringContaining(stateDir) as string } },
    { name: "folder", state: "done" },
  ]);
  expect(existsSync(dirname(socketPath))).toBe(true);
  expect(await palace.run("palace", ["doctor", "--dry-run"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--fix") as string,
  });
});
