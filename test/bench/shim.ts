/** Compares the start of the shim with the start of bare Node, and a call through the shim with a call through the broker's socket. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { dial } from "../../src/wire/transport/endpoint.ts";
import { upgrade } from "../../src/wire/transport/http-client.ts";
import { createTestPalace, ROOT } from "../helpers/palace.ts";
import { atMost, median, ms, type Row, time, timeBoth } from "./measure.ts";

const initialize = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {} } })}\n`;
const status = `${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "mempalace_list_wings", arguments: {} } })}\n`;

/** Returns a function that writes one line and waits for the answer's line. */
function roundTrip(input: NodeJS.WritableStream, output: NodeJS.ReadableStream): (line: string) => Promise<void> {
  let answered = (): void => {};
  output.on("data", (chunk: Buffer) => {
    if (chunk.at(-1) === 10) answered();
  });
  return (line) =>
    new Promise((resolve) => {
      answered = resolve;
      input.write(line);
    });
}

export async function bench(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker();
  const client = await palace.client();
  await client.callTool("mempalace_add_drawer", { wing: "bench", room: "shim", content: "one drawer" });

  const start = async (command: string, ...args: string[]) => {
    const child = spawn(command, args, { env: palace.env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.write(initialize);
    await once(child.stdout, "data");
    return () => {
      child.kill("SIGKILL");
      return once(child, "exit");
    };
  };
  const bare = async (): Promise<void> => {
    await once(spawn(process.execPath, ["-e", "0"], { env: palace.env, stdio: ["pipe", "pipe", "ignore"] }), "exit");
  };
  const { one, other } = await timeBoth(41, () => start(process.execPath, join(ROOT, "dist/bin/mp-shim.cjs")), bare);
  // In a clone, agents start `scripts/palace shim`: a shell script that first checks whether the sources have changed.
  const launcher = await timeBoth(41, () => start(join(ROOT, "scripts/palace"), "shim"), bare);

  const shim = spawn(process.execPath, [join(ROOT, "dist/bin/mp-shim.cjs")], {
    env: palace.env,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const socket = await dial({ kind: "unix", path: palace.config.paths.socketPath });
  await upgrade(socket, {});
  const through = roundTrip(shim.stdin, shim.stdout);
  const direct = roundTrip(socket, socket);
  socket.resume();
  await through(initialize);
  const shimTimes = await time(2000, () => through(status), 500);
  const directTimes = await time(2000, () => direct(status), 500);
  const added = median(shimTimes) - median(directTimes);
  socket.destroy();
  shim.kill();
  client.close();
  return [
    atMost("shim start to initialize reply / bare node -e 0", one / other, 1.3, `${ms(one)} / ${ms(other)}`),
    atMost(
      "scripts/palace shim, start to initialize reply / bare node -e 0",
      launcher.one / launcher.other,
      1.4,
      `${ms(launcher.one)} / ${ms(launcher.other)}`,
    ),
    atMost(
      "round trip added by the shim / direct socket call",
      added / median(directTimes),
      2,
      `${ms(added)} / ${ms(median(directTimes))}`,
    ),
    atMost("round trip added by the shim, ms", added, 0.25, ms(added)),
  ];
}
