/** Tests engine `command` with a real child process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeChildLock } from "../../../src/broker/child/lock.ts";
import { ServerProcess } from "../../../src/broker/child/process.ts";
import { Session } from "../../../src/broker/child/session.ts";
import type { PalaceError } from "../../../src/base/errors.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

let folder: string;

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "child-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("the broker does not kill a child that ends when its stdin closes", async () => {
  const ready = Promise.withResolvers<void>();
  let end = "";
  const argv = ["sh", "-c", "echo '{}'; cat > /dev/null; exit 3"] as const;
  const child = new ServerProcess({
    config: { kind: "command", text: "", argv, env: process.env, palaceDir: folder, requestTimeoutMs: 1_000 },
    lock: await takeChildLock(join(folder, "lock"), folder, SILENT_LOG),
    generation: 1,
    log: SILENT_LOG,
    onMessage: () => ready.resolve(),
    onOversize: () => {},
    onGone: (why) => void (end = why),
  });
  await ready.promise;
  await child.end(60_000);
  expect([child.isGone, end]).toEqual([true, "ended with exit code 3"]);
});

test("a client that leaves cancels its call, but not the broker's own tools/list request", async () => {
  // This child answers pings, but never a call. It reports each cancellation with a notification that names the cancelled request.
  const script = `require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    const said = (value) => console.log(JSON.stringify({ jsonrpc: "2.0", ...value }));
    if (method === "ping") said({ id, result: {} });
    if (method === "notifications/cancelled") said({ method: "cancelled", params });
    if (method === "tools/call") said({ method: "begun" });
  })`;
  const argv = [process.execPath, "-e", script] as const;
  const begun = Promise.withResolvers<void>();
  const cancelled: unknown[] = [];
  const session = new Session({
    config: { kind: "command", text: "", argv, env: process.env, palaceDir: folder, requestTimeoutMs: 60_000 },
    lock: await takeChildLock(join(folder, "lock"), folder, SILENT_LOG),
    generation: 1,
    log: SILENT_LOG,
    onNotification: ({ method, params }) => {
      if (method === "begun") begun.resolve();
      else cancelled.push(params?.["reason"]);
    },
    onGone: () => {},
  });
  const listed = session.listTools().catch((error: PalaceError) => error.code);
  const called = session.request("tools/call", {}, { timeoutMs: 60_000 }).catch((error: PalaceError) => error.code);
  await begun.promise;
  session.cancel();
  expect(await called).toBe("BROKER_CANCELLED");
  expect(cancelled).toEqual(["the client left"]);
  await session.process.end(60_000);
  expect(await listed).toBe("ENGINE_CALL_LOST");
});
