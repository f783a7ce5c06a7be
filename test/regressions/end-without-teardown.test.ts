/** Node's teardown could hang for ever and lose output to a slow reader. `leave` skips the teardown, and exits once all output is read. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const LEAVE = new URL("../../src/base/exit-process.ts", import.meta.url).href;
/** More bytes than a pipe buffers. */
const BYTES = 300_000;

const script = (body: string): string => `import { leave } from ${JSON.stringify(LEAVE)};\n${body}`;

async function ending(body: string): Promise<{ stdout: string; code: number | null }> {
  const args = ["--input-type=module", "-e", script(body)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, "close") as Promise<[number | null]>]);
  return { stdout, code };
}

test("a process exits with its code and runs its exit handlers", async () => {
  const { stdout, code } = await ending(
    `process.on("exit", (code) => process.stdout.write("end " + code)); await leave(7);`,
  );
  expect([code, stdout]).toEqual([7, "end 7"]);
});

test("a late reader gets all of the output", async () => {
  const pipe = `"$0" --input-type=module -e "$1" | (sleep 0.3; wc -c)`;
  const body = script(`process.stdout.write("x".repeat(${BYTES})); await leave(0);`);
  const child = spawn("sh", ["-c", pipe, process.execPath, body], { stdio: ["ignore", "pipe", "inherit"] });
  expect(Number(await text(child.stdout))).toBe(BYTES);
});

test("a closed pipe does not delay the exit", async () => {
  const pipe = `"$0" --input-type=module -e "$1" | head -c 10`;
  const body = script(
    `process.stdout.on("error", () => {}); process.stdout.write("x".repeat(${BYTES})); await leave(0);`,
  );
  const child = spawn("sh", ["-c", pipe, process.execPath, body], { stdio: ["ignore", "pipe", "inherit"] });
  expect(await text(child.stdout)).toBe("xxxxxxxxxx");
});

test("a thread that never ends does not delay the exit", async () => {
  const { code } = await ending(`
    const { Worker } = await import("node:worker_threads");
    const hold = new Worker("const lock = new Int32Array(new SharedArrayBuffer(4)); Atomics.wait(lock, 0, 0);", { eval: true });
    await new Promise((resolve) => hold.once("online", resolve));
    await leave(0);`);
  expect(code).toBe(0);
});
