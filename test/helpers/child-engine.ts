/** Makes a palace whose engine is a child process, the small MCP server of test/fixtures. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStream } from "../../src/wire/client/discover.ts";
import type { Env } from "../../src/config/env.ts";
import type { EngineReport } from "../../src/protocol/spec.ts";
import { createTestPalace, ROOT, type TestPalace } from "./palace.ts";

const SERVER = join(ROOT, "test/fixtures/small-mcp-server.ts");
const GUARD_MS = 60_000;

export type CommandReport = Extract<EngineReport, { kind: "command" }>;
export type Message = Record<string, unknown> & { id?: unknown; method?: string; params?: Record<string, unknown> };

export type SmallPalace = TestPalace & {
  /** Returns a line for each start of the server and for each call that it began. */
  calls(): string[];
  report(): Promise<CommandReport>;
};

/** Makes the palace without starting its broker. `mode`: second argument of the server. */
export function createSmallPalace({ mode = "", env = {} }: { mode?: string; env?: Env } = {}): SmallPalace {
  const palace = createTestPalace();
  const file = join(palace.home, "calls");
  const engine = `command:${JSON.stringify([process.execPath, SERVER, file, mode])}`;
  Object.assign(palace.env, { MEMPALACE_ENGINE: engine, ...env });
  return Object.assign(palace, {
    calls: () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []),
    report: () => reportOf(palace),
  });
}

/** Waits until the child has started, and returns its report. */
export async function reportOf(palace: TestPalace): Promise<CommandReport> {
  const client = await palace.client();
  try {
    for (;;) {
      const report = (await client.call("palace.status", {})).engine as CommandReport;
      if (report.state !== "starting") return report;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    client.close();
  }
}

/** Opens a stream to the broker for raw messages, whose ids the test chooses. */
export async function openRaw(palace: TestPalace): Promise<{
  send(message: object): void;
  /** Waits for the next message for which `fits` returns true. */
  next(fits: (message: Message) => boolean): Promise<Message>;
  received: Message[];
  close(): void;
}> {
  const stream = await openStream(palace.config, "raw");
  if (stream === undefined) throw new Error("no broker answers");
  const received: Message[] = [];
  let rest = stream.rest.toString("utf8");
  let woken = Promise.withResolvers<void>();
  stream.socket.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    received.push(...lines.map((line) => JSON.parse(line) as Message));
    woken.resolve();
    woken = Promise.withResolvers();
  });
  stream.socket.on("error", () => {});
  stream.socket.resume();
  return {
    received,
    send: (message) => void stream.socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
    async next(fits) {
      for (const until = Date.now() + GUARD_MS; Date.now() < until;) {
        const found = received.find(fits);
        if (found !== undefined) return found;
        await Promise.race([woken.promise, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      }
      throw new Error(`nothing fits in ${JSON.stringify(received)}`);
    },
    close: () => stream.socket.destroy(),
  };
}

export const callOf = (name: string, args: object = {}, meta?: object): { method: string; params: object } => ({
  method: "tools/call",
  params: { name, arguments: args, ...(meta !== undefined && { _meta: meta }) },
});

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie process has no command line.
    return readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false;
  }
}
