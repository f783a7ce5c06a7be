/** Without a broker, a line that is not JSON got no answer, and spooled writes stayed in the spool after `palace start`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { Spool } from "../../../src/wire/client/spool.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("the shim without a broker answers a line of garbage and spools a write, which `start` delivers", async () => {
  await using palace = createTestPalace();
  await palace.run("palace", ["stop"]);
  const shim = spawn(process.execPath, [palace.executable("mp-shim")], { env: palace.env });
  let text = "";
  shim.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
  const drawer = { wing: "w", room: "r", content: "kept" };
  const write = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "mempalace_add_drawer", arguments: drawer },
  };
  shim.stdin.write(`garbage\n${JSON.stringify(write)}\n`);
  await expect.poll(() => text.split("\n").length, { timeout: 15_000 }).toBe(3);
  const [refusal, kept] = text.split("\n").map((line) => JSON.parse(line || "{}") as Record<string, unknown>);
  expect(refusal).toMatchObject({ id: null, error: { code: -32700, data: { code: "PROTOCOL_BAD_FRAME" } } });
  expect(JSON.stringify(kept)).toContain("spooled");
  shim.kill("SIGKILL");
  await once(shim, "exit");
  const spool = new Spool(palace.config.paths.spoolDir);
  expect(spool.entries()).toHaveLength(1);
  expect((await palace.run("palace", ["start"])).code).toBe(0);
  expect(spool.entries()).toEqual([]);
  const search = await palace.run("palace", ["search", "kept"]);
  expect(search.stdout).toContain("kept");
}, 60_000);
