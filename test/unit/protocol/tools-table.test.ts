/** Checks with the real dispatcher and the real client that each tool behaves as its row in the table of tools says. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { answerInstead } from "../../../src/wire/client/answer-offline.ts";
import { OFFLINE_RULES } from "../../../src/broker/tools/offline.ts";
import { Spool } from "../../../src/wire/client/spool.ts";
import type { MethodsDependencies, OpenPalace } from "../../../src/broker/dispatch/call.ts";
import { createDispatch } from "../../../src/broker/dispatch/methods.ts";
import { Metrics } from "../../../src/broker/dispatch/metrics.ts";
import type { Peer } from "../../../src/broker/peer.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { PalaceError } from "../../../src/base/errors.ts";
import { IDEMPOTENCY_META } from "../../../src/protocol/headers.ts";
import { type Role, type RpcResponse } from "../../../src/protocol/spec.ts";
import type { PropertySchema } from "../../../src/protocol/tools/row.ts";
import { type Tool, type ToolName, TOOLS, type ToolsWith } from "../../../src/protocol/tools/table.ts";
import { createTestPalace } from "../../helpers/palace.ts";

/** Error of each call that gets as far as opening the palace. */
const SHUT = new PalaceError("STORE_UNAVAILABLE", "the palace is shut", "");
const ROWS = TOOLS.map((tool): [string, Tool] => [tool.name, tool]);

/** Tools that the broker can answer, because their kind and keeper have a table of functions. Any other tool causes a type error below. */
type Answered =
  | ToolsWith<{ kind: "write"; keeper: "palace" | "log" }>
  | ToolsWith<{ kind: "read"; keeper: "palace" | "log" | "broker" }>;
const everyToolIsAnswered: Exclude<ToolName, Answered> extends never ? true : false = true;

function sampleOf({ type, enum: values, items }: PropertySchema): unknown {
  if (type === "string") return values?.[0] ?? "2024-01-01";
  if (type === "array") return items === undefined ? [] : [sampleOf(items)];
  if (type === "object") return {};
  return type === "boolean" ? false : 1;
}

/** Arguments that the schema accepts. */
function argumentsOf({ required, requiredEither = [], properties }: Tool): Record<string, unknown> {
  const keys = [...required, ...requiredEither];
  return Object.fromEntries(keys.map((key) => [key, sampleOf(properties[key] ?? expect.fail(key))]));
}

function request({ fullName }: Tool, given: object): object {
  const params = { name: fullName, arguments: given, _meta: { [IDEMPOTENCY_META]: "key" } };
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params };
}

function dispatchTo(ready: () => Promise<OpenPalace>): (peer: Peer, message: object) => Promise<RpcResponse> {
  const dependencies = {
    ready,
    typedError: (error: unknown) => error,
    openedRoots: [],
    redact: "off",
    metrics: new Metrics(),
    log: SILENT_LOG,
  };
  const dispatch = createDispatch(dependencies as unknown as MethodsDependencies);
  return async (peer, message) => (await dispatch(peer, message, 1, undefined)) as RpcResponse;
}

const peer = (role: Role): Peer => ({ id: 1, agent: "a", door: "tcp", role, uid: -1, pid: 1, tools: "full" });

const codeOf = (response: RpcResponse): unknown =>
  "error" in response ? (response.error.data as { code?: unknown } | undefined)?.code : "answered";

test("every tool has a kind and a keeper for which the broker has a table of functions", () => {
  expect(everyToolIsAnswered).toBe(true);
  expect(TOOLS.length).toBeGreaterThan(40);
});

test.each(ROWS)("only the roles in the table can call %s", async (_name, tool) => {
  const ask = dispatchTo(() => Promise.reject(SHUT));
  const given = argumentsOf(tool);
  const [some] = Object.keys(tool.properties);
  const changing = some === undefined ? given : { ...given, [some]: sampleOf(tool.properties[some] ?? expect.fail()) };
  expect(codeOf(await ask(peer("agent"), request(tool, changing)))).toBe("STORE_UNAVAILABLE");
  expect(codeOf(await ask(peer("reader"), request(tool, given)))).toBe(
    tool.role === "agent" ? "BROKER_DENIED" : "STORE_UNAVAILABLE",
  );
  expect(codeOf(await ask(peer("reader"), request(tool, changing)))).toBe(
    tool.role === "reader" ? "STORE_UNAVAILABLE" : "BROKER_DENIED",
  );
});

test.each(ROWS)("%s waits for the sender's earlier writes only if it first reads stored data", async (_name, tool) => {
  const opening = Promise.withResolvers<OpenPalace>();
  let asked = 0;
  const ask = dispatchTo(() => ((asked += 1), opening.promise));
  const sender = peer("agent");
  const write = TOOLS.find(({ name }) => name === "add_drawer") as Tool;
  const first = ask(sender, request(write, argumentsOf(write)));
  const second = ask(sender, request(tool, argumentsOf(tool)));
  await turn();
  expect(asked).toBe(tool.kind === "write" && !tool.isPrepared ? 2 : 1);
  opening.reject(SHUT);
  expect([codeOf(await first), codeOf(await second), asked]).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE", 2]);
});

test.each(ROWS)("without a broker %s is spooled if it is a write that can wait", async (_name, tool) => {
  await using palace = createTestPalace();
  const { config }: { config: Config } = palace;
  const spool = new Spool(config.paths.spoolDir);
  const kept = (given: object): boolean => {
    const line = JSON.stringify(request(tool, { ...argumentsOf(tool), ...given }));
    const response = JSON.parse(
      answerInstead(line, { agent: "a", config, rules: OFFLINE_RULES, spool, away: SHUT }),
    ) as RpcResponse;
    // An answer means that the write was spooled, or refused only because of its arguments.
    return codeOf(response) === "answered";
  };
  expect(kept({})).toBe(tool.spool === "always");
  if (Object.hasOwn(tool.properties, "dry_run")) expect(kept({ dry_run: false })).toBe(tool.spool !== "never");
  expect(spool.entries().every((entry) => entry.tool === tool.fullName)).toBe(true);
  if (tool.kind === "read") expect(tool.spool).toBe("never");
});
