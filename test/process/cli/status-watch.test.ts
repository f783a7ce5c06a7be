import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { hasTerminal } from "../../helpers/terminal.ts";

/** Runs `palace status --watch` until `read` has read the lines that it wants. Then sends Ctrl-C, and returns exit code and signal. */
async function watched(
  palace: TestPalace,
  options: string[],
  read: (next: (isWanted: (line: string) => boolean) => Promise<string>) => Promise<void>,
): Promise<[number | null, NodeJS.Signals | null]> {
  const child = spawn(process.execPath, [palace.executable("palace"), "status", "--watch", ...options], {
    env: palace.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  await read(async (isWanted) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the verb ended");
      if (isWanted(value)) return value;
    }
  });
  child.kill("SIGINT");
  return exitOf(child);
}

test("status --watch prints a document for each change, also when the broker ends, until Ctrl-C", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  let last = "";
  const end = await watched(palace, ["--json"], async (nextLine) => {
    const next: typeof nextLine = (isWanted) =>
      nextLine((line) => {
        const still = line.replace(/"(?:lagMs|pendingMs)":[^,}]+/g, "");
        expect(still).not.toBe(last);
        last = still;
        return isWanted(line);
      });
    expect(JSON.parse(await next(() => true))).toMatchObject({ running: true, drawers: 0 });
    await palace.run("palace", ["add", "the key is behind the door"]);
    await next((line) => (JSON.parse(line) as { drawers?: number }).drawers === 1);
    await palace.run("palace", ["stop"]);
    const gone = await next((line) => !(JSON.parse(line) as { running: boolean }).running);
    expect(JSON.parse(gone)).toMatchObject({ why: expect.stringContaining("stopped by hand") });
    await palace.run("palace", ["start"]);
    await next((line) => (JSON.parse(line) as { drawers?: number }).drawers === 1);
  });
  expect(end).toEqual([0, null]);
});

test("without a terminal status --watch prints the rows that changed, with the time", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const end = await watched(palace, [], async (next) => {
    await next((line) => /^\d{4}-\S+Z\tqueue\t0 of /.test(line));
    await palace.run("palace", ["add", "the key is behind the door"]);
    await next((line) => /\tqueue\t.* 1 acknowledged/.test(line));
  });
  expect(end).toEqual([0, null]);
});

test.skipIf(!hasTerminal).each([
  ["60 columns and 12 rows", 60, 12],
  ["an unknown size", 0, 0],
])(
  "on a terminal of %s status --watch redraws its lines, and Ctrl-C ends it with exit code 0",
  async (_size, cols, rows) => {
    await using palace = createTestPalace();
    await palace.startBroker();
    const verb = `exec '${process.execPath}' '${palace.executable("palace")}' status --watch`;
    const child = spawn("script", ["-qec", `stty cols ${cols} rows ${rows}; ${verb}`, "/dev/null"], {
      env: { ...palace.env, TERM: "xterm" },
      stdio: "pipe",
    });
    let screen = "";
    let isEnding = false;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      screen += text;
      // Types Ctrl-C when the status has been drawn twice.
      if (isEnding || screen.split("Ctrl-C ends this.").length < 3) return;
      isEnding = true;
      child.stdin.write("\u0003");
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code, screen).toBe(0);
    const drawings = screen.split("\u001B[H").slice(1);
    expect(drawings.length).toBeGreaterThanOrEqual(2);
    expect(drawings[1]).toMatch(/^broker .*ready/);
    if (rows > 0) expect(drawings[1]?.split("\r\n").length).toBeLessThanOrEqual(rows);
    else expect(drawings[1]).toContain("strays");
  },
);
