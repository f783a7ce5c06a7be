/** The broker gives a child process time to end before it kills the child. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeChildLock } from "../../../src/broker/child/lock.ts";
import { ServerProcess } from "../../../src/broker/child/process.ts";
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
