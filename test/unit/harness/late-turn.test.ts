/** What becomes of the end of a turn that no broker has taken. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Spool } from "../../../src/client/spool.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { spoolExchange, worthWaiting } from "../../../src/harness/late-turn.ts";
import { type ErrorCode, PalaceError } from "../../../src/protocol/errors.ts";
import { SAID_MAX } from "../../../src/protocol/limits.ts";
import type { RpcRequest } from "../../../src/protocol/spec.ts";

test("it waits for a broker that is away, busy or full, and not for one that refuses it", () => {
  const error = (code: ErrorCode): PalaceError => new PalaceError(code, "no", "");
  for (const code of ["TRANSPORT_REFUSED", "BROKER_STOPPED", "BROKER_BUSY", "STORE_DISK_FULL"] as const)
    expect(worthWaiting(error(code)).code).toBe(code);
  for (const code of ["BROKER_DENIED", "ENGINE_UNSUPPORTED", "PROTOCOL_BAD_PARAMS", "PALACE_NOT_FOUND"] as const)
    expect(() => worthWaiting(error(code))).toThrow("no");
  expect(() => worthWaiting(new TypeError("odd"))).toThrow("odd");
});

test("it waits masked, where it is cut as well, under its key and with its time", () => {
  const home = mkdtempSync(join(tmpdir(), "late-"));
  const secret = `ghp_${"a1B2".repeat(9)}`;
  const spooled = (mode: string): { key: string; atMs: number; params: Record<string, unknown> } => {
    const config = loadConfig({ HOME: home, MEMPALACE_REDACT: mode });
    const turn = { conversation: "pi/1", cwd: "/home/ada/fern" };
    const exchange = { user: "x".repeat(SAID_MAX - 6).concat(" ", secret), assistant: "so", signals: [] };
    spoolExchange({ config, agent: "pi", turn, exchange, key: "k", atMs: 5 + Date.now() });
    const spool = new Spool(config.paths.spoolDir);
    const [{ name, key, atMs, line } = expect.fail()] = spool.entries();
    spool.remove(name);
    return { key, atMs, params: (JSON.parse(line) as RpcRequest).params as Record<string, unknown> };
  };
  const { params, ...entry } = spooled("recall");
  expect(params).toMatchObject({ conversation: "pi/1", project: "fern", assistant: "so" });
  expect(params["user"]).toMatch(/x \[redac$/);
  expect(params).toMatchObject({ _meta: { "palace/idempotencyKey": "k" } });
  expect(entry).toMatchObject({ key: "k" });
  expect(spooled("off").params["user"]).toMatch(/x ghp_a1$/);
  rmSync(home, { recursive: true });
});
