import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { COMMANDS, WORDS } from "../../../src/cli/commands/table.ts";
import { createTestPalace, processesWith, ROOT, type TestPalace } from "../../helpers/palace.ts";

const OLD_NAME = /^palace: [a-z-]+ is now `\.\/scripts\/palace [a-z -]+`\n/;
const VERBS = [...WORDS, "mine projects", "repair status", "backup verify"];

/** Answer of upstream's tools about an empty palace. */
const EMPTY = expect.objectContaining({ error: "No palace found" }) as object;

type Answer = { code: number | null; stdout: string; stderr: string };

async function json(
  palace: TestPalace,
  args: string[],
  env = {},
): Promise<{ code: number | null; value: Record<string, unknown> }> {
  const { code, stdout, stderr }: Answer = await palace.run("palace", [...args, "--json"], { env });
  expect(stdout.split("\n"), `${args.join(" ")}: ${stderr}`).toHaveLength(2);
  return { code, value: JSON.parse(stdout) as Record<string, unknown> };
}

test("every verb has a help text, and help writes no file", async () => {
  await using palace = createTestPalace();
  const helps = await Promise.all(VERBS.map((verb) => palace.run("palace", [...verb.split(" "), "--help"])));
  for (const [at, { code, stdout, stderr }] of helps.entries())
    expect([code, stderr.replace(OLD_NAME, ""), stdout.length > 50], VERBS[at]).toEqual([0, "", true]);
  const { stdout } = await palace.run("palace", ["--help"]);
  for (const verb of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`\\b${verb}\\b`));
  for (const args of [["help"], []]) expect((await palace.run("palace", args)).stdout).toBe(stdout);
  for (const [words, inside] of [
    [["search"], 'Example: ./scripts/palace search "how do we deploy"'],
    [["repair", "status"], "palace repair"],
  ] as const)
    expect((await palace.run("palace", ["help", ...words])).stdout).toContain(inside);
  for (const flag of ["-v", "--version"])
    expect((await palace.run("palace", [flag])).stdout).toMatch(/^palace-devbox \d/);
  expect(readdirSync(palace.home)).toEqual([]);
});

test("an error is one sentence and one hint on stderr, or one JSON document on stdout", async () => {
  await using palace = createTestPalace();
  expect(await palace.run("palace", ["serach", "x"])).toEqual({
    code: 2,
    stdout: "",
    stderr: "palace: there is no verb serach\n  did you mean `./scripts/palace search`?\n",
  });
  expect(await palace.run("palace", ["search", "x", "--limt", "3"])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^palace: .*limt.*\n {2}usage: \.\/scripts\/palace search.*\n$/),
  });
  expect(await json(palace, ["search"])).toMatchObject({ code: 2, value: { error: { code: "CONFIG_USAGE" } } });
  expect(await json(palace, ["search", "x", "--mode", "best"])).toMatchObject({
    code: 2,
    value: { error: { code: "CONFIG_USAGE" } },
  });
  for (const limit of ["0", "-3", "two"])
    expect(await json(palace, ["search", "x", `--limit=${limit}`]), limit).toMatchObject({
      code: 2,
      value: { error: { code: "CONFIG_USAGE", hint: "write --limit 5" } },
    });
  for (const args of [
    ["status", "--palace"],
    ["status", "--palace", ""],
    ["--palace=", "status"],
  ])
    expect(await json(palace, args), args.join(" ")).toMatchObject({
      code: 2,
      value: { error: { code: "CONFIG_USAGE" } },
    });
  expect(await palace.run("palace", ["--palace"])).toMatchObject({ code: 2, stdout: "" });
  // `"$FOLDER"` with an unset variable is `""`, which must not mean the current folder.
  for (const args of [
    ["mine", "docs", ""],
    ["search", ""],
  ])
    expect(await json(palace, args), args.join(" ")).toMatchObject({
      code: 2,
      value: { error: { code: "CONFIG_USAGE", message: "an argument is empty" } },
    });
  expect(await json(palace, ["call", "status", "{"])).toMatchObject({ code: 2 });
  expect(await json(palace, ["status"], { MEMPALACE_DRIVER: "floppy" })).toMatchObject({
    code: 2,
    value: { error: { code: "CONFIG_BAD_VALUE" } },
  });
  expect(await json(palace, ["tools"], { MEMPALACE_BROKER: `unix:${palace.home}/nobody.sock` })).toMatchObject({
    code: 3,
    value: { error: { code: "TRANSPORT_REFUSED" } },
  });
});

test("start, status, restart and stop report the same state of the broker", async () => {
  await using palace = createTestPalace();
  expect(await json(palace, ["status"])).toMatchObject({ code: 3, value: { running: false, stoppedByHand: false } });
  const started = await json(palace, ["start"]);
  expect(started).toMatchObject({ code: 0, value: { started: true } });
  expect(await json(palace, ["start"])).toMatchObject({
    code: 0,
    value: { started: false, instanceId: started.value["instanceId"] },
  });
  expect(await json(palace, ["status"])).toMatchObject({
    code: 0,
    value: { running: true, drawers: 0, endpoint: started.value["endpoint"] },
  });
  const restarted = await json(palace, ["restart"]);
  expect(restarted.code).toBe(0);
  expect(restarted.value["instanceId"]).not.toBe(started.value["instanceId"]);
  expect(await json(palace, ["stop"])).toEqual({ code: 0, value: { stopped: true } });
  expect(await json(palace, ["search", "x"])).toMatchObject({
    code: 5,
    value: { error: { code: "BROKER_STOPPED", hint: expect.stringContaining("palace start") } },
  });
  expect(await json(palace, ["status"])).toMatchObject({ code: 3, value: { running: false, stoppedByHand: true } });
  expect(await json(palace, ["stop"])).toEqual({ code: 0, value: { stopped: false } });
  expect((await json(palace, ["start"])).code).toBe(0);
});

test("--palace works before and after the verb, and `stop --palace DIR` ends only the broker of DIR", async () => {
  await using palace = createTestPalace();
  const folder = join(palace.home, "other");
  const other = { wing: "w", room: "r", content: "only in the other palace" };
  expect((await json(palace, ["--palace", folder, "call", "add_drawer", JSON.stringify(other)])).value).toMatchObject({
    success: true,
  });
  expect((await json(palace, ["call", "list_wings", `--palace=${folder}`])).value).toEqual({ wings: { w: 1 } });
  expect((await json(palace, ["start"])).code).toBe(0);
  expect((await json(palace, ["call", "list_wings"])).value).toEqual(EMPTY);
  expect((await json(palace, ["stop", "--palace", folder])).value).toEqual({ stopped: true });
  expect(existsSync(join(folder, "ledger.sqlite3"))).toBe(true);
  expect((await json(palace, ["status"])).value).toMatchObject({ running: true });
});

test("call takes arguments from the command line or stdin, tools lists the callable tools, and search finds a note", async () => {
  await using palace = createTestPalace();
  const drawer = JSON.stringify({ wing: "w", room: "r", content: "The heron stands in the reeds at dawn." });
  const { stdout } = await palace.run("palace", ["call", "mempalace_add_drawer", "-", "--json"], { input: drawer });
  expect(JSON.parse(stdout)).toMatchObject({ success: true });
  const unknown = await palace.run("palace", ["call", "add_drawr"]);
  expect(unknown).toMatchObject({ code: 4, stdout: "", stderr: expect.stringContaining("palace call add_drawer") });
  expect((await json(palace, ["call", "add_drawer", "{}"])).value).toMatchObject({
    error: { code: "PROTOCOL_BAD_PARAMS", message: expect.stringContaining("Missing required parameter") },
  });
  expect(await json(palace, ["call", "get_drawer", '{"drawer_id":"none"}'])).toMatchObject({
    code: 1,
    value: { error: expect.any(String) },
  });
  expect((await json(palace, ["call", "list_wings"])).code).toBe(0);
  const one = await palace.run("palace", ["tools", "search"]);
  expect([one.code, one.stdout.split("\n").filter((line) => /^(query|limit)\t/.test(line))]).toEqual([
    0,
    [expect.stringMatching(/^query\tstring\trequired\t/), expect.stringMatching(/^limit\tinteger\t/)],
  ]);
  expect((await json(palace, ["tools", "mempalace_search"])).value).toMatchObject({
    name: "mempalace_search",
    inputSchema: { required: ["query"] },
  });
  expect(await palace.run("palace", ["tools", "serch"])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining("./scripts/palace call tools search"),
  });
  const { code, value } = await json(palace, ["tools"]);
  const names = (value as unknown as { name: string }[]).map(({ name }) => name);
  expect([code, names.includes("mempalace_add_drawer")]).toEqual([0, true]);
  const found = await json(palace, ["search", "heron", "reeds", "--wing", "w"]);
  expect(found.value["results"]).toMatchObject([
    { text: "The heron stands in the reeds at dawn.", wing: "w", room: "r" },
  ]);
  const plain = await palace.run("palace", ["search", "heron"]);
  expect(plain.stdout.split("\t").slice(0, 3)).toEqual(["1", "w", "r"]);
  expect((await palace.run("palace", ["search", "--wing", "nowhere", "heron"])).stdout).toMatch(
    /^no wing `nowhere`[,;].*\n$/,
  );
});

test("doctor reports no fault for a healthy palace, and an error for a vanished palace", async () => {
  await using palace = createTestPalace();
  const checksOf = async (
    args: string[] = [],
  ): Promise<{ code: number | null; states: Record<string, string>; hints: string }> => {
    const { code, value } = await json(palace, ["doctor", ...args]);
    const checks = value["checks"] as { name: string; state: string; hint: string }[];
    for (const { name, state, hint } of checks) expect(state === "ok" || hint !== "", name).toBe(true);
    return {
      code,
      states: Object.fromEntries(checks.map(({ name, state }) => [name, state])),
      hints: checks.map(({ hint }) => hint).join(),
    };
  };
  expect(await checksOf(["--no-start"])).toMatchObject({ code: 0, states: { broker: "warn" } });
  const healthy = await checksOf();
  expect(healthy.code).toBe(0);
  // The model is missing here, so doctor names the command that fetches it.
  expect(healthy.states["model"]).toBe("warn");
  expect(healthy.hints).toContain("MEMPALACE_OFFLINE=0 ./scripts/palace restart");
  // Leaves out the check `volumes`: if the test runs in a container, the check warns, because this palace is in no volume.
  const { volumes: _where, ...others } = healthy.states;
  expect(new Set(Object.values({ ...others, model: "ok" }))).toEqual(new Set(["ok"]));
  expect(Object.keys(others)).toEqual([
    "node",
    "runtime",
    "home",
    "disk",
    "stop mark",
    "spool",
    "backups",
    "broker",
    "instance",
    "protocol",
    "build",
    "uid",
    "clock",
    "topology",
    "ledger",
    "queue",
    "model",
    "cross-encoder",
    "driver",
    "closets",
    "graph",
    "palace lock",
    "strays",
    "adoption",
    "idle exit",
    "settings file",
  ]);

  await palace.run("palace", ["stop"]);
  expect(await checksOf()).toMatchObject({
    code: 1,
    states: { "stop mark": "warn", broker: "fail" },
    hints: expect.stringContaining("palace start"),
  });
  await palace.run("palace", ["start"]);
  await palace.run("palace", ["stop"]);
  renameSync(palace.config.paths.home, `${palace.config.paths.home}.away`);
  expect(await checksOf()).toMatchObject({ code: 1, states: { home: "fail" } });
});

test("start replaces a vanished palace only with --new", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["call", "add_drawer", JSON.stringify({ wing: "w", room: "r", content: "something" })]);
  await palace.run("palace", ["stop"]);
  rmSync(palace.config.paths.home, { recursive: true });
  expect(await json(palace, ["start"])).toMatchObject({
    code: 6,
    value: { error: { code: "PALACE_GONE", hint: expect.stringContaining("--new") } },
  });
  expect((await json(palace, ["start", "--new"])).code).toBe(0);
  expect((await json(palace, ["call", "list_wings"])).value).toEqual(EMPTY);
  await palace.run("palace", ["call", "add_drawer", JSON.stringify({ wing: "w", room: "r", content: "something" })]);
  await palace.run("palace", ["stop"]);
  expect((await json(palace, ["start", "--new"])).code).toBe(0);
  expect((await json(palace, ["call", "list_wings"])).value).toEqual({ wings: { w: 1 } });
});

test("logs shows the end of the log, and with -f also new lines", async () => {
  await using palace = createTestPalace();
  expect(await palace.run("palace", ["logs"])).toMatchObject({
    stdout: "",
    stderr: expect.stringContaining("palace start"),
  });
  await palace.run("palace", ["start"]);
  const last = await palace.run("palace", ["logs", "-n", "1"]);
  expect(last.stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO {2}.+\n$/);
  const child = spawn(process.execPath, [join(ROOT, "src/bin/palace.ts"), "logs", "-f", "-n", "0", "--json"], {
    env: palace.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let followed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (followed += text));
  // `logs -f` does not report when it is ready. The test writes to the log until the command shows a line.
  for (let tries = 0; followed === "" && tries < 60; tries += 1) {
    await palace.run("palace", ["call", "no_such_tool"]);
    await sleep(300);
  }
  child.kill();
  await once(child, "close");
  expect(JSON.parse(followed.split("\n")[0] ?? "")).toMatchObject({
    event: expect.any(String),
    level: expect.any(String),
  });
});

test("palace up checks that two shims share the palace, and leaves no test data in the palace", async () => {
  await using palace = createTestPalace();
  const { code, stdout } = await palace.run("palace", ["up"]);
  expect([code, stdout.split("\n").length <= 13]).toEqual([0, true]);
  expect(stdout).toMatch(
    /^Search finds memories by words and meaning, without the model: .*palace doctor` says what to do\.$/m,
  );
  expect(stdout).toContain("./scripts/palace install all");
  expect((await json(palace, ["up"])).value).toMatchObject({
    ...{ kind: "native", readers: 1, search: { modelState: "missing" } },
  });
  expect((await json(palace, ["call", "list_wings"])).value).toEqual({ wings: {} });
});

test("the demo finds its notes, lets two agents find each other's notes, and leaves neither process nor file", async () => {
  await using palace = createTestPalace();
  const temporary = join(palace.home, "tmp");
  mkdirSync(temporary);
  const { code, value } = await json(palace, ["demo"], { TMPDIR: temporary });
  expect(code).toBe(0);
  expect(value).toMatchObject({ filed: { files: expect.any(Number) }, agents: { found: true } });
  // The three searches find the right passages. Each hit has its file, its line number and whole lines.
  const searches = value["searches"] as { hits: { source: string; text: string }[] }[];
  expect(searches.map(({ hits: [best] }) => [best?.source, best?.text])).toEqual([
    [
      expect.stringMatching(/^docs\/decisions\.md:\d+/),
      expect.stringContaining("We chose Postgres because its exclusion constraints"),
    ],
    [
      expect.stringMatching(/^docs\/deploy\.md:\d+/),
      expect.stringContaining("`make rollback` puts the previous image back"),
    ],
    [expect.stringMatching(/^docs\/incidents\.md:\d+/), expect.stringContaining("A retry sent the confirmation again")],
  ]);
  expect(readdirSync(temporary)).toEqual([]);
  expect(readdirSync(palace.home)).toEqual(["tmp"]);
  expect(processesWith(palace.home)).toEqual([]);
});

test("an interrupted demo leaves neither process nor file", async () => {
  await using palace = createTestPalace();
  const temporary = join(palace.home, "tmp");
  mkdirSync(temporary);
  const child = spawn(process.execPath, [join(ROOT, "src/bin/palace.ts"), "demo"], {
    env: { ...palace.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  child.stdout.once("data", () => child.kill("SIGINT"));
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
  expect(processesWith(palace.home)).toEqual([]);
});

test("palace shim runs the shim, and palace mine docs runs mempalace-docs", async () => {
  await using palace = createTestPalace();
  const request = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  };
  const { stdout } = await palace.run("palace", ["shim"], { input: `${JSON.stringify(request)}\n` });
  expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { serverInfo: { name: "mempalace" } } });
  const root = join(palace.home, "project");
  mkdirSync(root);
  writeFileSync(join(root, "README.md"), "A readme that is long enough to become one drawer of the palace.\n");
  expect((await json(palace, ["mine", "docs", root])).value).toMatchObject({ wing: "project", filed: 1 });
  expect((await json(palace, ["why", join(root, "README.md")])).value).toMatchObject({ taken: true, palace: "filed" });
  expect(await palace.run("palace", ["mine", "wine", root])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("mine PATH | projects DIR"),
  });
});
