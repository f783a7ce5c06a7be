/** The spool keeps writes on disk, in order, private and limited in size. Other files in its folder do not disturb it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { deliver } from "../../../../src/wire/client/send-spooled.ts";
import { Spool, type SpooledWrite } from "../../../../src/wire/client/spool.ts";
import { SPOOL_AGE_MAX_MS } from "../../../../src/protocol/limits.ts";
import { AUTHOR_META, IDEMPOTENCY_META, WRITTEN_META } from "../../../../src/protocol/headers.ts";
import { RPC, type RpcRequest, type RpcResponse } from "../../../../src/protocol/spec.ts";

let folder: string;
let spool: Spool;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "spool-"));
  spool = new Spool(join(folder, "spool", "tag"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (index: number, more: Partial<SpooledWrite> = {}): SpooledWrite => ({
  atMs: Date.now(),
  agent: "test",
  tool: "mempalace_add_drawer",
  key: `key-${index}`,
  line: JSON.stringify({
    jsonrpc: "2.0",
    id: index,
    method: "tools/call",
    params: { name: "mempalace_add_drawer", arguments: { wing: "w", room: "r", content: `c${index}` } },
  }),
  ...more,
});
const filed = (message: RpcRequest): RpcResponse => ({
  jsonrpc: "2.0",
  id: message.id ?? null,
  result: { content: [{ type: "text", text: '{"success":true}' }] },
});
const content = (message: RpcRequest): unknown =>
  (message.params as { arguments: { content: string } }).arguments.content;

test("spooled writes are private and are delivered in order", async () => {
  for (let index = 0; index < 12; index++) spool.append(write(index));
  expect(statSync(spool.folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(spool.folder)) expect(statSync(join(spool.folder, name)).mode & 0o777).toBe(0o600);
  const asked: unknown[] = [];
  const delivery = await deliver(new Spool(spool.folder), async (message) => {
    asked.push(content(message));
    return filed(message);
  });
  expect(delivery).toBe("delivered");
  expect(asked).toEqual(Array.from({ length: 12 }, (_, index) => `c${index}`));
  expect(readdirSync(folder)).toEqual([]);
});

test("the spool deletes an old incomplete file of a killed process", () => {
  spool.append(write(1));
  for (const [name, ageS] of [
    ["old.json.1.tmp", 120],
    ["new.json.1.tmp", 1],
  ] as const) {
    writeFileSync(join(spool.folder, name), "{");
    utimesSync(join(spool.folder, name), Date.now() / 1000 - ageS, Date.now() / 1000 - ageS);
  }
  expect(spool.entries().length).toBe(1);
  expect(readdirSync(spool.folder).filter((name) => name.endsWith(".tmp"))).toEqual(["new.json.1.tmp"]);
});

test("an interrupted delivery keeps the writes from the first unanswered write on", async () => {
  for (let index = 0; index < 3; index++) spool.append(write(index));
  let left = 1;
  expect(await deliver(spool, async (message) => (left-- > 0 ? filed(message) : undefined))).toBe("interrupted");
  expect(spool.entries().map(({ key }) => key)).toEqual(["key-1", "key-2"]);
});

test("the end of a turn is not spooled as a .json file, and waits for a broker that knows `turn.end`", async () => {
  const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "turn.end", params: {} });
  spool.append(write(1, { tool: "turn.end", line }));
  spool.append(write(2));
  expect(readdirSync(spool.folder).filter((name) => name.endsWith(".json"))).toHaveLength(1);
  const unknown = (id: RpcRequest["id"]): RpcResponse => ({
    ...{ jsonrpc: "2.0", id: id ?? null },
    error: { code: RPC.METHOD_NOT_FOUND, message: "no" },
  });
  const ask = async (message: RpcRequest): Promise<RpcResponse> =>
    message.method === "turn.end" ? unknown(message.id) : filed(message);
  expect(await deliver(spool, ask)).toBe("delivered");
  expect(spool.entries()).toMatchObject([{ tool: "turn.end" }]);
  expect(spool.refused()).toEqual([]);
});

const refuse = (message: RpcRequest, code: string): RpcResponse => ({
  jsonrpc: "2.0",
  id: message.id ?? null,
  error: { code: -32000, message: `no: ${code}`, data: { code, hint: "", retryable: code === "BROKER_BUSY" } },
});

test.each(["STORE_DISK_FULL", "STORE_CORRUPT", "PALACE_LOCKED", "PROTOCOL_VERSION_MISMATCH", "BROKER_BUSY"])(
  "all writes stay in order while the palace refuses writes (%s)",
  async (code) => {
    for (let index = 0; index < 5; index++) spool.append(write(index));
    for (let time = 0; time < 40; time++)
      expect(await deliver(spool, async (message) => refuse(message, code))).toBe("stuck");
    const asked: unknown[] = [];
    const ask = async (message: RpcRequest): Promise<RpcResponse> => {
      asked.push(content(message));
      return filed(message);
    };
    expect(await deliver(spool, ask)).toBe("delivered");
    expect(asked).toEqual(["c0", "c1", "c2", "c3", "c4"]);
    expect(spool.refused()).toEqual([]);
  },
);

test("a refused write stays spooled and does not block later writes", async () => {
  for (let index = 0; index < 4; index++) spool.append(write(index));
  const asked: unknown[] = [];
  const ask = async (message: RpcRequest): Promise<RpcResponse> => {
    asked.push(content(message));
    return content(message) === "c1" ? refuse(message, "STORE_CORRUPT") : filed(message);
  };
  // The refusal may be temporary, so at first later writes wait behind it to keep the order.
  for (let time = 0; time < 3; time++) expect(await deliver(spool, ask)).toBe("stuck");
  expect(asked).not.toContain("c2");
  expect(await deliver(spool, ask)).toBe("waiting");
  expect(spool.entries().map(({ key }) => key)).toEqual(["key-1"]);
  // The broker has accepted the later writes, so only this write waits and the delivery is not stuck.
  expect(await deliver(spool, ask)).toBe("waiting");
  expect(await deliver(spool, async (message) => filed(message))).toBe("delivered");
  expect(spool.isEmpty).toBe(true);
});

test("many refused writes of one tool do not block the writes of another tool", async () => {
  const event = JSON.parse(write(0).line) as { params: object };
  for (let index = 0; index < 40; index++)
    spool.append({
      ...write(index),
      tool: "mempalace_diary_write",
      line: JSON.stringify({ ...event, params: { ...event.params, name: "mempalace_diary_write" } }),
    });
  spool.append(write(40));
  let asked = 0;
  const ask = async (message: RpcRequest): Promise<RpcResponse> => {
    asked += 1;
    return content(message) === "c40" ? filed(message) : refuse(message, "STORE_CORRUPT");
  };
  for (let time = 0; time < 3; time++) expect(await deliver(spool, ask)).toBe("stuck");
  asked = 0;
  expect(await deliver(spool, ask)).toBe("waiting");
  expect(asked).toBe(17);
  expect(spool.entries()).toHaveLength(40);
  expect(await deliver(spool, async (message) => filed(message))).toBe("delivered");
  expect(spool.isEmpty).toBe(true);
});

test("a spooled write whose answer is too long is set aside with the reason", async () => {
  spool.append(write(1));
  expect(await deliver(spool, async (message) => refuse(message, "TRANSPORT_FRAME_TOO_LARGE"))).toBe("delivered");
  expect(spool.refused()).toMatchObject([{ why: "no: TRANSPORT_FRAME_TOO_LARGE" }]);
});

test("a write that needs another token waits, and a write with wrong arguments is set aside", async () => {
  for (let index = 0; index < 4; index++) spool.append(write(index));
  const codes: Record<string, string> = { c1: "BROKER_DENIED", c2: "PROTOCOL_BAD_PARAMS" };
  const delivery = await deliver(spool, async (message) => {
    const code = codes[String(content(message))];
    return code === undefined ? filed(message) : refuse(message, code);
  });
  expect(delivery).toBe("delivered");
  expect(spool.entries().map(({ key }) => key)).toEqual(["key-1"]);
  expect(spool.refused()).toMatchObject([{ tool: "mempalace_add_drawer", why: "no: PROTOCOL_BAD_PARAMS" }]);
});

test("the user can send a refused write again after more than 29 days", async () => {
  spool.append(write(1, { atMs: Date.now() - SPOOL_AGE_MAX_MS - 1_000 }));
  expect(spool.entries()).toEqual([]);
  const name = spool.refused()[0]?.name ?? "";
  const refused = spool.readRefused(name);
  expect(refused).toMatchObject({ key: "key-1" });
  if (refused !== undefined) spool.sendAgain(name, refused);
  expect(spool.refused()).toEqual([]);
  expect(readdirSync(join(spool.folder, "refused"))).toEqual([]);
  const dates: unknown[] = [];
  const ask = async (message: RpcRequest): Promise<RpcResponse> => {
    dates.push((message.params as { _meta: Record<string, unknown> })._meta[WRITTEN_META]);
    return filed(message);
  };
  expect(await deliver(spool, ask)).toBe("delivered");
  expect(dates).toEqual([refused?.atMs]);
});

test("sending a write again resets its count of refusals", async () => {
  for (let index = 1; index <= 2; index++) spool.append(write(index));
  const answered = (code: string) => async (message: RpcRequest) =>
    content(message) === "c1" ? refuse(message, code) : filed(message);
  for (let time = 0; time < 3; time++) expect(await deliver(spool, answered("STORE_CORRUPT"))).toBe("stuck");
  expect(await deliver(spool, answered("STORE_CORRUPT"))).toBe("waiting");
  expect(await deliver(spool, answered("PROTOCOL_BAD_PARAMS"))).toBe("delivered");
  const name = spool.refused()[0]?.name ?? "";
  spool.sendAgain(name, spool.readRefused(name) ?? write(1));
  // The spool has only this write, so the client cannot know whether the broker refuses every write.
  for (let time = 0; time < 4; time++) expect(await deliver(spool, answered("STORE_CORRUPT"))).toBe("stuck");
});

test.each([
  ["a checkpoint's part", { added: [], errors: ["item 0: room is missing"], diary: null }, /item 0: room is missing/],
  ["a checkpoint's diary", { added: ["a"], errors: [], diary: { success: false, error: "no" } }, /^no$/],
  ["a tool whose answer is only an error", { error: "No such room" }, /^No such room$/],
])("%s is set aside with the reason of the refusal", async (_name, answer, why) => {
  spool.append(write(1));
  const result = { content: [{ type: "text", text: JSON.stringify(answer) }] };
  expect(await deliver(spool, async ({ id = null }) => ({ jsonrpc: "2.0", id, result }))).toBe("delivered");
  expect(spool.refused()).toMatchObject([{ why: expect.stringMatching(why) as string }]);
});

test.each(["Error: the memory bank is full", ""])("a write with an isError result is set aside (%j)", async (text) => {
  spool.append(write(1));
  const result = { content: [{ type: "text", text }], isError: true };
  expect(await deliver(spool, async ({ id = null }) => ({ jsonrpc: "2.0", id, result }))).toBe("delivered");
  expect(spool.refused()).toMatchObject([{ why: text || "the tool refused it" }]);
});

test("the spool never sends a file that is too old or is not a spooled write", async () => {
  mkdirSync(spool.folder, { recursive: true });
  const stop = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "broker.stop", params: {} });
  const put = (name: string, value: unknown): void => writeFileSync(join(spool.folder, name), JSON.stringify(value));
  writeFileSync(join(spool.folder, "a.json"), '{"schema":1,"atMs":');
  put("b.json", { schema: 2, ...write(1) });
  put("c.json", { schema: 1, ...write(2, { line: stop }) });
  put("g.json", { schema: 1, ...write(6, { line: stop.replace("broker.stop", "turn.begin") }) });
  put("d.json", { schema: 1, ...write(3, { line: "no JSON" }) });
  put("e.json", { schema: 1, ...write(4, { atMs: Date.now() - SPOOL_AGE_MAX_MS - 1_000 }) });
  put("f.json", null);
  spool.append(write(5));
  const asked: unknown[] = [];
  await deliver(spool, async (message) => {
    asked.push(content(message));
    return filed(message);
  });
  expect(asked).toEqual(["c5"]);
  expect(spool.refused().map(({ name, why }) => [name, why])).toEqual([
    ["a.json", "it is not a spooled write"],
    ["b.json", "it is not a spooled write"],
    ["c.json", "it contains no write"],
    ["d.json", "it contains no write"],
    ["e.json", "it is too old: the broker could not recognise a repeated write"],
    ["f.json", "it is not a spooled write"],
    ["g.json", "it contains no write"],
  ]);
});

test("a delivered write is sent with its own metadata, its time of writing and its author", async () => {
  const note = { [IDEMPOTENCY_META]: "key-1", "agent/own": 7 };
  const line = { ...JSON.parse(write(1).line), method: "turn.end", params: { _meta: note } } as object;
  spool.append(write(1, { tool: "turn.end", line: JSON.stringify(line), atMs: Date.now() - 5_000 }));
  const [entry] = spool.entries();
  const sent: unknown[] = [];
  await deliver(spool, async (message) => {
    sent.push((message.params as { _meta: unknown })._meta);
    return filed(message);
  });
  expect(sent).toEqual([{ ...note, [WRITTEN_META]: entry?.atMs, [AUTHOR_META]: entry?.agent }]);
});

test("a delivery does not set aside a write that another process delivers meanwhile", async () => {
  mkdirSync(spool.folder, { recursive: true });
  const [first, second] = ["a.json", "b.json"].map((name) => join(spool.folder, name));
  // Our read of the first file waits until the other process has removed the second file.
  spawnSync("mkfifo", [first!]);
  writeFileSync(second!, JSON.stringify({ schema: 1, ...write(2) }));
  const script = 'exec 3>"$1"; rm "$2"; printf %s "$3" >&3';
  const other = spawn("sh", ["-c", script, "sh", first!, second!, JSON.stringify({ schema: 1, ...write(1) })]);
  expect(spool.entries().map(({ key }) => key)).toEqual(["key-1"]);
  expect(readdirSync(spool.folder)).toEqual(["a.json"]);
  await once(other, "exit");
});

/** Makes files as after an outage of many hours, without syncing each one. */
function fill(count: number, suffix = ".json"): void {
  mkdirSync(spool.folder, { recursive: true });
  const text = JSON.stringify({ schema: 1, ...write(0) });
  for (let index = 0; index < count; index++) writeFileSync(join(spool.folder, `a.${index}${suffix}`), text);
}
const FULL: unknown = expect.objectContaining({ code: "TRANSPORT_SPOOL_FULL" });
const turn: Partial<SpooledWrite> = { tool: "turn.end", line: '{"jsonrpc":"2.0","id":1,"method":"turn.end"}' };

test("the spool refuses more writes after 10,000 writes", () => {
  fill(9_998);
  fill(1, ".turn");
  spool.append(write(1));
  expect(() => spool.append(write(2))).toThrow(FULL);
  expect(readdirSync(spool.folder)).toHaveLength(10_000);
});

test("ended turns take at most half of the spool", () => {
  fill(4_999);
  spool.append(write(1, turn));
  expect(() => spool.append(write(2, turn))).toThrow(FULL);
  spool.append(write(3));
  rmSync(spool.folder, { recursive: true });
  const large = "x".repeat(15 * 1024 * 1024);
  for (let index = 0; index < 2; index++) spool.append(write(index, { ...turn, line: large }));
  expect(() => spool.append(write(2, { ...turn, line: large }))).toThrow(FULL);
  spool.append(write(3, { line: large }));
});

test("the spool refuses a write that would exceed the spool's maximum size", () => {
  const large = "x".repeat(15 * 1024 * 1024);
  for (let index = 0; index < 4; index++) spool.append(write(index, { line: large }));
  expect(() => spool.append(write(4, { line: large }))).toThrow(FULL);
  expect(readdirSync(spool.folder).length).toBe(4);
  spool.append(write(5));
  expect(spool.entries().length).toBe(5);
});

test("a delivery ends after one try if it cannot set aside a write", async () => {
  mkdirSync(spool.folder, { recursive: true });
  writeFileSync(join(spool.folder, "refused"), "no folder");
  writeFileSync(join(spool.folder, "a.json"), JSON.stringify({ schema: 1, ...write(1, { line: "{}" }) }));
  expect(await deliver(spool, async (message) => filed(message))).toBe("stuck");
  rmSync(join(spool.folder, "a.json"));
  spool.append(write(2));
  let asked = 0;
  const no = async (message: RpcRequest): Promise<RpcResponse> => {
    asked += 1;
    return { jsonrpc: "2.0", id: message.id ?? null, error: { code: -32602, message: "no" } };
  };
  expect(await deliver(spool, no)).toBe("stuck");
  expect(asked).toBe(1);
});

test("the spool keeps the newest 10,000 refused writes and reports that it deleted older writes", () => {
  spool.append(write(1));
  const aside = join(spool.folder, "refused");
  mkdirSync(aside);
  const text = JSON.stringify({ schema: 1, ...write(0) });
  const nowMs = Date.now();
  const nowS = nowMs / 1000;
  for (let index = 0; index < 10_002; index++) {
    const file = join(aside, `a.${index}.json`);
    writeFileSync(file, text);
    writeFileSync(`${file}.why`, "no\n");
    // The spool deletes the oldest refusals first. Of refusals with the same time, it deletes the first by file name.
    utimesSync(`${file}.why`, nowS, nowS - (index < 3 ? 60 : 0));
  }
  expect(spool.droppedAtMs).toBeUndefined();
  expect(spool.entries()).toHaveLength(1);
  const left = readdirSync(aside).filter((name) => name.startsWith("a."));
  expect(left).toHaveLength(20_000);
  for (const name of ["a.0.json", "a.0.json.why", "a.1.json"]) expect(left).not.toContain(name);
  expect(left).toContain("a.2.json");
  expect(spool.refused()).toHaveLength(10_000);
  expect(spool.droppedAtMs).toBeGreaterThanOrEqual(nowMs);
});

test("the spool limits the total size of refused writes and deletes the oldest ones", () => {
  spool.append(write(1));
  const aside = join(spool.folder, "refused");
  mkdirSync(aside);
  const refuse = (name: string, ageS: number): void => {
    for (const file of [name, `${name}.why`]) writeFileSync(join(aside, file), "");
    truncateSync(join(aside, name), 63 * 1024 * 1024);
    utimesSync(join(aside, `${name}.why`), Date.now() / 1000, Date.now() / 1000 - ageS);
  };
  refuse("a.json", 20);
  refuse("b.turn", 30);
  spool.entries();
  expect(readdirSync(aside)).toHaveLength(4);
  refuse("c.json", 10);
  spool.entries();
  expect(readdirSync(aside).filter((name) => /^[abc]/.test(name))).toEqual([
    "a.json",
    "a.json.why",
    "c.json",
    "c.json.why",
  ]);
  expect(spool.droppedAtMs).toBeDefined();
});
