import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace, processesWith } from "../../helpers/palace.ts";

const READING: readonly string[][] = [
  ["search", "x"],
  ["status"],
  ["doctor"],
  ["tools"],
  ["reveal", "drawer_x"],
  ["call", "list_wings"],
  ["export", "/nowhere/out"],
  ["repair"],
  ["repair-status"],
  ["migrate"],
  ["jobs"],
  ["forget", "drawer_x", "--yes"],
  ["undo", "--client", "a", "--since", "1h"],
  ["closets", "rebuild"],
  ["spool", "list"],
  ["token", "list"],
  ["logs"],
  ["stop"],
  ["restart"],
  ["why", import.meta.filename],
];

const NOTE = JSON.stringify({ wing: "w", room: "r", content: "The heron stands in the reeds." });

test("a verb that needs an existing palace creates none for a mistyped --palace, and names the command that begins a palace there", async () => {
  await using palace = createTestPalace();
  const typo = join(palace.home, "memoris");
  for (const args of READING) {
    const { code, stdout, stderr } = await palace.run("palace", [...args, "--palace", typo, "--json"]);
    expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 6, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: "PALACE_NOT_FOUND", hint: `to begin one there: ./scripts/palace --palace ${typo} start` },
    });
  }
  expect(readdirSync(palace.home)).toEqual([]);
  expect(processesWith(palace.home)).toEqual([]);
});

test("a search in a folder without a palace fails and suggests a palace with a similar name in the same parent folder", async () => {
  await using palace = createTestPalace();
  const [right, typo] = [join(palace.home, "memories"), join(palace.home, "memoris")];
  mkdirSync(typo);
  writeFileSync(join(typo, "notes.txt"), "no palace");
  expect((await palace.run("palace", ["call", "add_drawer", NOTE, "--palace", right])).code).toBe(0);
  const { code, stderr } = await palace.run("palace", ["search", "heron", "--palace", typo]);
  expect([code, stderr]).toEqual([6, expect.stringContaining(`did you mean --palace ${right}?`)]);
  expect(readdirSync(typo)).toEqual(["notes.txt"]);
  expect((await palace.run("palace", ["search", "heron", "--palace", right])).stdout).toContain("heron");
  expect((await palace.run("palace", ["stop", "--palace", right])).code).toBe(0);
});

test("a verb that writes creates a palace at --palace, and says so once on stderr", async () => {
  await using palace = createTestPalace();
  const fresh = join(palace.home, "fresh");
  const first = await palace.run("palace", ["call", "add_drawer", NOTE, "--palace", fresh]);
  expect([first.code, first.stderr]).toEqual([0, expect.stringContaining(`a new palace begins in ${fresh}`)]);
  const second = await palace.run("palace", ["call", "add_drawer", NOTE, "--palace", fresh]);
  expect([second.code, second.stderr]).toEqual([0, ""]);
  expect((await palace.run("palace", ["stop", "--palace", fresh])).code).toBe(0);
  const request = { jsonrpc: "2.0", id: 1, method: "ping" };
  const other = join(palace.home, "other");
  const shim = await palace.run("mp-shim", ["--palace", other], { input: `${JSON.stringify(request)}\n` });
  expect([JSON.parse(shim.stdout), shim.stderr]).toEqual([
    expect.objectContaining({ id: 1 }),
    expect.stringContaining(`a new palace begins in ${other}`),
  ]);
  expect((await palace.run("palace", ["stop", "--palace", other])).code).toBe(0);
});

test("mempalace reports a missing palace in upstream's words, with and without --palace, and does not create it", async () => {
  await using palace = createTestPalace();
  const codes: readonly [string[], number, string][] = [
    [["status"], 0, "No palace found at"],
    [["search", "x"], 1, "No palace found at"],
    [["sync"], 0, "No palace found at"],
    [["repair", "--yes"], 0, "No palace found at"],
    [["repair-status"], 0, "No palace found"],
    [["migrate", "--yes"], 0, "No palace found at"],
    [["wake-up"], 0, "No palace found."],
  ];
  for (const named of [[], ["--palace", join(palace.home, "nowhere")]])
    for (const [args, code, words] of codes) {
      const answer = await palace.run("mempalace", [...args, ...named]);
      expect([args, answer.code, answer.stdout, answer.stderr]).toEqual([
        args,
        code,
        expect.stringContaining(words),
        "",
      ]);
    }
  const json = await palace.run("mempalace", ["search", "x", "--json"]);
  expect([json.code, JSON.parse(json.stdout)]).toMatchObject([1, { error: "No palace found" }]);
  expect(readdirSync(palace.home)).toEqual([]);
});

test("the command in a hint has the same --palace as the command that was typed", async () => {
  await using palace = createTestPalace();
  const folder = join(palace.home, "two words");
  const run = (...args: string[]): ReturnType<typeof palace.run> => palace.run("palace", [...args, "--palace", folder]);
  await run("call", "add_drawer", NOTE);
  expect(await run("call", "add_drawr")).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(`\`./scripts/palace --palace '${folder}' call add_drawer\``),
  });
  const stopped = await run("stop");
  expect(stopped.stdout).toContain(`\`./scripts/palace --palace '${folder}' start\``);
  expect((await run("search", "x")).stderr).toContain(`./scripts/palace --palace '${folder}' start`);
  expect((await run("status")).stderr).toContain(`./scripts/palace --palace '${folder}' start`);
  expect(existsSync(join(folder, "ledger.sqlite3"))).toBe(true);
});

test("status says what is wrong with each form of MEMPALACE_BROKER, and what to type", async () => {
  await using palace = createTestPalace();
  const socket = join(palace.home, "no.sock");
  const forms: readonly [endpoint: string, code: number, said: RegExp, hint: RegExp][] = [
    [`unix:${socket}`, 3, /^No broker answers at unix:.*no\.sock \(MEMPALACE_BROKER\)\.\n$/, /unset MEMPALACE_BROKER/],
    [
      "http://127.0.0.1:1",
      3,
      /^No broker answers at http:\/\/127\.0\.0\.1:1 \(MEMPALACE_BROKER\)\.\n$/,
      /unset MEMPALACE_BR/,
    ],
    [
      "ssh://me@nowhere.test",
      3,
      /the bridge to me@nowhere\.test, and none is set up here/,
      /palace bridge setup me@nowhere\.test/,
    ],
    ["ssh://", 2, /^$/, /names no host\n {2}write ssh:\/\/user@host/],
    [socket, 2, /^$/, /is not an endpoint\n {2}write unix:/],
    ["nonsense", 2, /^$/, /is not an endpoint\n {2}write unix:/],
    ["http://127.0.0.1", 2, /^$/, /is not an endpoint\n {2}write unix:/],
  ];
  for (const [endpoint, code, said, hint] of forms) {
    const plain = await palace.run("palace", ["status"], { env: { MEMPALACE_BROKER: endpoint } });
    expect([endpoint, plain.code]).toEqual([endpoint, code]);
    expect(plain.stdout).toMatch(said);
    expect(plain.stderr).toMatch(hint);
    expect(plain.stdout + plain.stderr).not.toContain(palace.config.paths.home);
    const { stdout } = await palace.run("palace", ["status", "--json"], { env: { MEMPALACE_BROKER: endpoint } });
    expect(JSON.parse(stdout)).toMatchObject(
      code === 3 ? { running: false, endpoint } : { error: { code: "CONFIG_BAD_VALUE" } },
    );
  }
  expect((await palace.run("palace", ["stop"], { env: { MEMPALACE_BROKER: "http://127.0.0.1:1" } })).stdout).toBe(
    "No broker answers at http://127.0.0.1:1 (MEMPALACE_BROKER).\n",
  );
});
