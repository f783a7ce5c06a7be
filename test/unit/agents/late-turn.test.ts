import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Spool } from "../../../src/wire/client/spool.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { spoolExchange, worthWaiting } from "../../../src/agents/late-turn.ts";
import { type ErrorCode, PalaceError } from "../../../src/base/errors.ts";
import type { RpcRequest } from "../../../src/protocol/spec.ts";

test("the hook spools a turn if the broker is away, busy or full, and fails if the broker refuses the turn", () => {
  const error = (code: ErrorCode): PalaceError => new PalaceError(code, "no", "");
  for (const code of ["TRANSPORT_REFUSED", "BROKER_STOPPED", "BROKER_BUSY", "STORE_DISK_FULL"] as const)
    expect(worthWaiting(error(code)).code).toBe(code);
  for (const code of ["BROKER_DENIED", "ENGINE_UNSUPPORTED", "PROTOCOL_BAD_PARAMS", "PALACE_NOT_FOUND"] as const)
    expect(() => worthWaiting(error(code))).toThrow("no");
  expect(() => worthWaiting(new TypeError("odd"))).toThrow("odd");
});

test("the hook spools a turn verbatim with its key and its time", () => {
  const home = mkdtempSync(join(tmpdir(), "late-"));
  const config = loadConfig({ HOME: home });
  const turn = { conversation: "pi/1", cwd: "/home/ada/fern" };
  const [user, atMs] = [`a token: ghp_${"a1B2".repeat(9)}`, Date.now() - 5];
  spoolExchange({ config, agent: "pi", turn, exchange: { user, assistant: "so", signals: [] }, key: "k", atMs });
  const [{ line, ...entry } = expect.fail()] = new Spool(config.paths.spoolDir).entries();
  expect(entry).toMatchObject({ key: "k", atMs, tool: "turn.end", agent: "pi" });
  expect((JSON.parse(line) as RpcRequest).params).toMatchObject({
    ...{ conversation: "pi/1", project: "fern", user, assistant: "so" },
    _meta: { "palace/idempotencyKey": "k" },
  });
  rmSync(home, { recursive: true });
});
