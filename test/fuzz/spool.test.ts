/** Reads arbitrary files in the spool's folder. Only calls that can be spooled may reach the broker, and other files must stay. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { deliver } from "../../src/wire/client/send-spooled.ts";
import { Spool } from "../../src/wire/client/spool.ts";
import type { RpcResponse } from "../../src/protocol/spec.ts";
import { findTool } from "../../src/protocol/tools/table.ts";
import { type Chooser, type Entry, object } from "./chooser.ts";
import { fuzz } from "./harness.ts";

const root = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "palace-fuzz-spool-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Input = { files: { name: string; bytes: Buffer; link: boolean }[]; answers: string[] };

function call(chooser: Chooser): string {
  const tool = chooser.pick([
    "mempalace_add_drawer",
    "mempalace_delete_drawer",
    "mempalace_search",
    "broker.stop",
    "x",
  ]);
  const params: Entry[] = [
    ["name", JSON.stringify(tool)],
    ["arguments", chooser.json(2)],
    ["_meta", object([["palace/idempotencyKey", chooser.chance(0.8) ? '"key"' : chooser.json(1)]])],
  ];
  const message: Entry[] = [
    ["jsonrpc", '"2.0"'],
    ["id", chooser.chance(0.7) ? "1" : chooser.json(1)],
    ["method", JSON.stringify(chooser.pick(["tools/call", "tools/call", "turn.end", "broker.stop", "source.remove"]))],
    ["params", object(chooser.bent(params, 0.2))],
  ];
  return object(chooser.bent(message, 0.2));
}

function file(chooser: Chooser): Buffer {
  const atMs = chooser.pick([String(Date.now()), "0", "1e999", "-1", chooser.number()]);
  const entries: Entry[] = [
    ["schema", chooser.chance(0.9) ? "1" : chooser.json(1)],
    ["atMs", atMs],
    ["agent", JSON.stringify(chooser.text())],
    ["tool", '"mempalace_add_drawer"'],
    ["key", '"key"'],
    ["line", JSON.stringify(call(chooser))],
  ];
  const whole = Buffer.from(`${object(chooser.bent(entries, 0.3))}\n`);
  return chooser.chance(0.3) ? chooser.damaged(whole) : whole;
}

fuzz<Input>("spool-files", {
  count: 4_000,
  generate: (chooser) => ({
    files: Array.from({ length: chooser.between(1, 4) }, (_, index) => ({
      name: `${chooser.pick(["a", "b", "lz-1", "é", "-"])}.${index}${chooser.pick([".json", ".json", ".json", ".tmp", ""])}`,
      bytes: file(chooser),
      link: chooser.chance(0.03),
    })),
    answers: Array.from({ length: 4 }, () =>
      chooser.pick(["filed", "filed", "refused", "denied", "full", "busy", "gone", "odd", "tool-no"]),
    ),
  }),
  check: async ({ files, answers }, { number }) => {
    const folder = join(root, String(number));
    mkdirSync(folder, { recursive: true });
    for (const { name, bytes, link } of files) {
      if (link) symlinkSync(join(root, "nowhere"), join(folder, name));
      else writeFileSync(join(folder, name), bytes);
    }
    const spool = new Spool(folder);
    let asked = 0;
    const delivery = await deliver(spool, async (message) => {
      expect(["tools/call", "turn.end"]).toContain(message.method);
      if (message.method === "tools/call")
        expect(findTool((message.params as { name: unknown }).name)?.kind).toBe("write");
      const answer = answers[asked++ % answers.length] ?? "filed";
      return answer === "gone" ? undefined : response(answer);
    });
    expect(["delivered", "waiting", "interrupted", "stuck"]).toContain(delivery);
    expect(() => spool.refused()).not.toThrow();
    const left = new Spool(folder).entries();
    // A write that this client's token may not make stays in the spool for a client whose token may make it.
    if (delivery === "delivered" && !answers.includes("denied")) expect(left).toEqual([]);
    // Files that are not our JSON files stay in place.
    const others = files.filter(({ name, link }) => !name.endsWith(".json") && !link).map(({ name }) => name);
    const there = others.length === 0 ? [] : readdirSync(folder);
    for (const name of others) expect(there).toContain(name);
    rmSync(folder, { recursive: true, force: true });
  },
});

function response(answer: string): RpcResponse {
  const error = (code: string, retryable: boolean): RpcResponse => ({
    jsonrpc: "2.0",
    id: 1,
    error: { code: -32000, message: "no", data: { code, hint: "", retryable } },
  });
  if (answer === "refused") return error("PROTOCOL_BAD_PARAMS", false);
  if (answer === "denied") return error("BROKER_DENIED", false);
  if (answer === "full") return error("STORE_DISK_FULL", false);
  if (answer === "busy") return error("BROKER_BUSY", true);
  if (answer === "odd") return { jsonrpc: "2.0", id: 1, result: {} };
  const text = JSON.stringify({ success: answer !== "tool-no" });
  return { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text }] } };
}
