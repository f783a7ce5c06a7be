import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { IDEMPOTENCY_META } from "../../../../src/protocol/headers.ts";
import type { RpcRequest, RpcResponse } from "../../../../src/protocol/spec.ts";
import { deliver } from "../../../../src/wire/client/send-spooled.ts";
import { Spool } from "../../../../src/wire/client/spool.ts";

let folder: string;
let spool: Spool;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "spool-"));
  spool = new Spool(join(folder, "spool"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const told = (value: object): object => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const keyOf = ({ params }: RpcRequest): unknown =>
  (params as { _meta: Record<string, unknown> })._meta[IDEMPOTENCY_META];

test.each<[string, object, boolean]>([
  ["a tool's refusal", { result: told({ success: false, error: "Drawer not found: x" }) }, true],
  ["a refusal with isError", { result: { content: [{ type: "text", text: "Error: full" }], isError: true } }, true],
  ["a checkpoint that was partly done", { result: told({ added: ["a"], errors: ["item 1: no room"] }) }, false],
  ["a protocol error", { error: { code: -32602, message: "no" } }, false],
])(
  "a refused write that is sent again gets a new key only if the tool refused the whole write: after %s",
  async (_name, answer, isNew) => {
    const params = {
      name: "mempalace_update_drawer",
      arguments: { drawer_id: "x" },
      _meta: { [IDEMPOTENCY_META]: "one" },
    };
    const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    spool.append({ atMs: Date.now(), agent: "a", tool: params.name, key: "one", line });
    const keys: unknown[] = [];
    const ask = async (message: RpcRequest): Promise<RpcResponse> => {
      keys.push(keyOf(message));
      return { jsonrpc: "2.0", id: 1, ...answer } as RpcResponse;
    };
    await deliver(spool, ask);
    const [refused] = spool.refused();
    const write = spool.readRefused(refused?.name ?? "");
    if (refused !== undefined && write !== undefined) spool.sendAgain(refused.name, write);
    await deliver(spool, ask);
    expect([keys.length, keys[0], keys[1] === write?.key]).toEqual([2, "one", true]);
    expect(keys[1] !== "one").toBe(isNew);
    expect(spool.refused()).toHaveLength(1);
  },
);
