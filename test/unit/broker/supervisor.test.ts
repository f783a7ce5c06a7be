import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Supervisor } from "../../../src/broker/child/supervisor.ts";
import { ToolBook } from "../../../src/broker/child/tools.ts";
import { SILENT_LOG } from "../../../src/base/log.ts";

const SERVER = join(import.meta.dirname, "../../fixtures/small-mcp-server.ts");
const PATIENCE = { timeout: 30_000 };

let folder: string;
let supervisor: Supervisor;
let tools: ToolBook;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "supervisor-"));
  tools = new ToolBook();
  const argv = [process.execPath, SERVER, join(folder, "calls")] as const;
  const ready = Promise.withResolvers<void>();
  supervisor = new Supervisor({
    config: {
      kind: "command",
      text: "",
      argv: [...argv],
      env: process.env,
      palaceDir: folder,
      requestTimeoutMs: 60_000,
    },
    ...{ home: folder, tools, log: SILENT_LOG },
    onReady: () => ready.resolve(),
    onFailed: (error) => ready.reject(error),
    onNotification: () => {},
  });
  supervisor.wake();
  await ready.promise;
});
afterEach(async () => {
  await supervisor.close();
  rmSync(folder, { recursive: true, force: true });
});

test("after the start of a child, the supervisor knows the child's tools", () => {
  expect(supervisor.introduction?.tools.map(({ name }) => name)).toContain("add");
  expect(tools.has("add")).toBe(true);
});

test("a new child replaces a child that ended by itself", async () => {
  process.kill(supervisor.pid ?? 0, "SIGKILL");
  await vi.waitFor(() => expect(supervisor.report()).toMatchObject({ state: "ready", generation: 2 }), PATIENCE);
});
