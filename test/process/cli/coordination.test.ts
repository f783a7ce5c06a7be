import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { mempalaceMissing, runMempalace } from "../../helpers/python-mempalace.ts";

const VERSION = "3.11.0";
const missing = await mempalaceMissing(VERSION);
if (missing !== undefined) console.log(`left out: the command line of ${VERSION} (${missing})`);

const WHERE = ["--stream", "project/p", "--room", "delegation"];
const FROM = ["--type", "task.request", ...WHERE, "--from-agent", "a"];

async function json(palace: TestPalace, args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await palace.run("palace", [...args, "--json"]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown>;
}

it.skipIf(missing !== undefined)(
  "our `mempalace` and MemPalace 3.11 print the same log and end with the same exit codes",
  { timeout: 300_000 },
  async () => {
    await using palace = createTestPalace();
    await palace.startBroker();
    const { palaceDir } = palace.config.paths;
    const body = join(palace.home, "body.txt");
    writeFileSync(body, `crlf\r\n${"long ".repeat(30)}\n`);
    const first = await json(palace, ["logstream", "append", ...FROM, "--to-agent", "b", "--body-file", body]);
    expect(first["body"]).toBe(readFileSync(body, "utf8"));
    const id = String(first["id"]);
    await json(palace, ["logstream", "ack", id, "--from-agent", "b", "--status", "claimed"]);
    const put = await json(palace, ["artifact", "put", "--kind", "patch", "--created-by", "b", "--file", body]);
    const artifact = String(put["id"]);
    const append = ["logstream", "append", ...FROM, "--artifact-id", artifact, "--topic", "t", "--correlation-id", "c"];
    await json(palace, append);

    const filters = ["--from-agent", "b", "--to-agent", "a", "--type", "event.ack"];
    const asked = [
      ["logstream", "list"],
      ["logstream", "list", "--order", "desc", "--limit", "2"],
      ["logstream", "list", ...filters],
      ["logstream", "list", "--since-event-id", id, "--json"],
      ["logstream", "list", "--stream", "none"],
      ["logstream", "list", "--status", "none"],
      ["logstream", "list", "--before-event-id", "evt_none", "--json"],
      ["logstream", "wait", ...filters, "--timeout-ms", "0"],
      ["logstream", "wait", "--stream", "none", "--timeout-ms", "1"],
      ["logstream", "ack", "evt_none", "--from-agent", "b"],
      ["artifact", "get", artifact],
      ["artifact", "get", artifact, "--json"],
      ["artifact", "get", "art_none"],
      ["artifact", "put", "--kind", "x", "--created-by", "b", "--content", "c"],
      ["artifact", "put", "--kind", "note", "--created-by", "b", "--content", "c", "--metadata", "[]"],
      ["task", "launch", "task_none", "--runner", "codex", "--workspace", palace.home],
    ];
    for (const args of asked) {
      const ours = await palace.run("mempalace", args);
      const theirs = await runMempalace(VERSION, ["--palace", palaceDir, ...args], { home: palace.home });
      expect([args, ours.code, told(ours.stdout + ours.stderr)]).toEqual([args, theirs.code, told(theirs.output)]);
    }
  },
);

/** Parses the output if it is JSON. Otherwise removes the events' bodies and the lines that begin with `mempalace: `. */
function told(output: string): unknown {
  const text = output.trim();
  return text.startsWith("{")
    ? JSON.parse(text)
    : text.replaceAll(/ :: [^\n]*/g, " ::").replace(/^mempalace: .*\n/gm, "");
}

test("an artifact is returned unchanged to stdout and to a file", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const content = "\u{feff}--- a\r\n+++ é\u0001";
  const args = ["artifact", "put", "--kind", "patch", "--created-by", "a"];
  const put = await palace.run("palace", [...args, "--json"], { input: content });
  const { id, warnings } = JSON.parse(put.stdout) as { id: string; warnings: string[] };
  expect(warnings).toHaveLength(2);
  expect((await palace.run("palace", ["artifact", "get", id])).stdout).toBe(content);
  const file = join(palace.home, "out.patch");
  expect(await json(palace, ["artifact", "get", id, "--out", file])).not.toHaveProperty("content");
  expect(readFileSync(file, "utf8")).toBe(content);
});

test("an event is spooled without a broker and delivered once", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  await palace.run("palace", ["stop"]);
  const append = ["logstream", "append", ...FROM, "--body", "kept"];
  expect((await palace.run("palace", append)).stdout).toContain("is filed as soon as there is one");
  // An event with a bad value is refused at once, without a broker.
  const wrong = await palace.run("palace", ["logstream", "append", ...FROM, "--status", "none"]);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("status='none' is not one of")]);
  await palace.run("palace", ["start"]);
  await expect
    .poll(async () => (await json(palace, ["logstream", "list"]))["events"], { timeout: 30_000 })
    .toMatchObject([{ body: "kept", seq: 1 }]);
  expect((await palace.run("palace", ["spool", "list"])).stdout).not.toContain("event_append");
});

test("`events watch` shows new events, resumes where it stopped and omits the watcher's own events", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const append = (from: string, body: string): Promise<unknown> =>
    json(palace, [
      "logstream",
      "append",
      "--type",
      "news",
      ...WHERE,
      "--from-agent",
      from,
      "--to-agent",
      "*",
      "--body",
      body,
    ]);
  const watch = async (...more: string[]): Promise<[number | null, string[]]> => {
    const args = ["logstream", "watch", "--agent", "me:x", "--idle-exit-ms", "400", "--json", ...more];
    const { code, stdout } = await palace.run("palace", args);
    const { events } = JSON.parse(stdout) as { events: { body: string }[] };
    return [code, events.map(({ body }) => body)];
  };
  await append("other", "before");
  expect(await watch()).toEqual([2, []]);
  const state = join(palace.home, ".mempalace/watch/me_x.json");
  expect(existsSync(state)).toBe(true);
  await append("me:x", "my own");
  await append("other", "missed while away");
  expect(await watch()).toEqual([0, ["missed while away"]]);
  expect(await watch()).toEqual([2, []]);
  writeFileSync(state, "damaged");
  expect(await watch("--type", "news", "--type", "other")).toEqual([0, ["before", "missed while away"]]);
  const wrong = await palace.run("palace", ["logstream", "watch", "--type", "News", "--type", "x", "--state-file", ""]);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("is not a valid event type")]);
});

test("`task launch` starts only the agent to which the task is addressed, and only in a clean checkout of the task's branch", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const [folder, bin] = [join(palace.home, "checkout"), join(palace.home, "bin")];
  for (const one of [folder, bin]) mkdirSync(one);
  const git = (...args: string[]): string =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@t", ...args], {
      encoding: "utf8",
    }).trim();
  git("init", "-q", "-b", "main");
  git("commit", "-q", "--allow-empty", "-m", "first");
  // Script in place of the agent: it prints its folder and its arguments.
  writeFileSync(join(bin, "claude"), '#!/bin/sh\npwd\necho "$1 $2"\nexit 3\n');
  chmodSync(join(bin, "claude"), 0o755);
  const create = [
    "task",
    "create",
    "--project",
    "P",
    "--from-agent",
    "a",
    "--to-agent",
    "b-claude",
    "--branch",
    "main",
  ];
  const about = ["--base-commit", git("rev-parse", "HEAD"), "--goal", "Fix it", "--done", "it is fixed"];
  const { task, handoff } = await json(palace, [...create, ...about]);
  const id = (task as { correlation_id: string }).correlation_id;
  const launch = (runner: string): ReturnType<TestPalace["run"]> =>
    palace.run("palace", ["task", "launch", id, "--runner", runner, "--workspace", folder], {
      env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` },
    });
  const started = await launch("claude");
  expect([started.code, started.stdout]).toEqual([3, `${folder}\n--print ${String(handoff)}\n`]);
  expect((await launch("codex")).stderr).toContain("does not match addressed identity");
  writeFileSync(join(folder, "work.txt"), "mine");
  expect(await launch("claude")).toMatchObject({ code: 1, stdout: "" });
  git("checkout", "-q", "-b", "other");
  expect((await launch("claude")).stderr).toContain("task requires 'main'");
});
