/** Measures the ways to reach a broker: SSH gate, TCP, many agents at once, a start without a broker, a read without a broker. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { Client as SshClient } from "ssh2";
import { openStream } from "../../src/wire/client/discover.ts";
import { loadConfig } from "../../src/config/config.ts";
import { freePort } from "../helpers/free-port.ts";
import { createTestPalace, ROOT, type TestPalace } from "../helpers/palace.ts";
import { sshdMissing, startSshd } from "../helpers/sshd.ts";
import { atLeast, atMost, ms, type Row, timeBoth } from "./measure.ts";

const ROUNDS = 400;
const AGENTS = 12;
const WRITES = 150;
const LINE = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`);

export async function bench(): Promise<Row[]> {
  const rows = [...(await tcp()), ...(await throughput()), ...(await twenty()), ...(await outage())];
  return sshdMissing === undefined ? [...(await gate()), ...rows] : rows;
}

/** Returns a function that sends a line and waits for the answer's line. */
function trip(stream: Duplex): () => Promise<void> {
  let seen: (() => void) | undefined;
  stream.on("data", (bytes: Buffer) => bytes.includes(10) && seen?.());
  stream.resume();
  return () =>
    new Promise((resolve) => {
      seen = resolve;
      stream.write(LINE);
    });
}

async function gate(): Promise<Row[]> {
  await using host = createTestPalace({ built: true });
  const lasting = {
    MEMPALACE_PATH: join(host.home, ".mempalace"),
    XDG_STATE_HOME: join(host.home, ".local/state"),
    XDG_CACHE_HOME: join(host.home, ".cache"),
  };
  Object.assign(host.env, lasting);
  await using sshd = await startSshd(host.home);
  await using box = createTestPalace({ built: true });
  const palace = [process.execPath, join(ROOT, "dist/bin/palace.js")];
  const named = Object.entries(lasting).map(([name, value]) => `${name}=${value}`);
  const remote = ["env", ...named, `HOME=${host.home}`, ...palace].join(" ");
  const access = ["--ssh-config", sshd.sshConfig, "--remote-palace", remote];
  const done = await box.run("palace", ["bridge", "setup", "testhost", ...access]);
  if (done.code !== 0) throw new Error(done.stderr);
  const bridged = await openStream(box.config, "bench");
  if (bridged === undefined) throw new Error("no way through the bridge");

  const ssh = new SshClient();
  const privateKey = readFileSync(join(host.home, "sshd/user_key"));
  ssh.connect({ host: "127.0.0.1", port: sshd.port, username: "root", privateKey });
  await once(ssh, "ready");
  ssh.setNoDelay(true);
  const echo = await new Promise<Duplex>((resolve, reject) => {
    ssh.exec("cat", (error, channel) => (error === undefined ? resolve(channel) : reject(error)));
  });
  const { one, other } = await timeBoth(ROUNDS, trip(bridged.socket), trip(echo));
  bridged.socket.destroy();
  ssh.end();
  await box.run("palace", ["bridge", "remove", ...access]);
  return [atMost("round trip through the gate / `ssh host cat`", one / other, 3, `${ms(one)} / ${ms(other)}`)];
}

async function tcp(): Promise<Row[]> {
  const port = await freePort();
  await using palace = createTestPalace({ built: true, env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  const added = await palace.run("palace", ["token", "add", "bench", "--json"]);
  const { token } = JSON.parse(added.stdout) as { token: string };
  await palace.startBroker();
  const env = { HOME: `${palace.home}/x`, MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: token };
  const stream = await openStream(loadConfig(env), "bench");
  if (stream === undefined) throw new Error("no way in over TCP");
  const echo = createServer((socket: Socket) => void socket.setNoDelay(true).pipe(socket)).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const bare = connect({ host: "127.0.0.1", port: (echo.address() as AddressInfo).port, noDelay: true });
  await once(bare, "connect");
  const { one, other } = await timeBoth(ROUNDS, trip(stream.socket), trip(bare));
  stream.socket.destroy();
  bare.destroy();
  echo.close();
  return [atMost("round trip over TCP with a token / a TCP echo", one / other, 6, `${ms(one)} / ${ms(other)}`)];
}

async function throughput(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  await palace.startBroker();
  const writes = async (agents: number): Promise<number> => {
    const shims = await Promise.all(Array.from({ length: agents }, () => palace.shim()));
    const startedAt = performance.now();
    await Promise.all(
      shims.map(async (shim, agent) => {
        for (let index = 0; index < WRITES; index++)
          await shim.call("mempalace_add_drawer", {
            wing: `of ${agents}`,
            room: `agent${agent}`,
            content: `write ${index}`,
          });
      }),
    );
    const perS = (agents * WRITES * 1_000) / (performance.now() - startedAt);
    for (const shim of shims) await shim.close();
    return perS;
  };
  await writes(1);
  const one = await writes(1);
  const many = await writes(AGENTS);
  const detail = `${Math.round(many)} / ${Math.round(one)} writes/s`;
  return [atLeast(`writes of ${AGENTS} agents at once / of one alone`, many / one, 1.5, detail)];
}

async function twenty(): Promise<Row[]> {
  await using palace = createTestPalace({ built: true });
  const startedAt = performance.now();
  const shims = await Promise.all(Array.from({ length: 20 }, () => palace.shim()));
  await Promise.all(shims.map((shim) => shim.call("mempalace_status", {})));
  const tookMs = performance.now() - startedAt;
  for (const shim of shims) await shim.close();
  return [
    { name: "twenty clients, no broker: all answered after", measured: ms(tookMs), bar: "<= 5 s", ok: tookMs <= 5_000 },
  ];
}

/** Measures ten reads while no broker can be reached. The limit applies to the slowest read. */
async function outage(): Promise<Row[]> {
  await using palace: TestPalace = createTestPalace({ built: true });
  const env = { MEMPALACE_BROKER: `unix:${palace.home}/nobody.sock` };
  const shim = await palace.shim(env);
  const times: number[] = [];
  for (let round = 0; round < 10; round++) {
    const startedAt = performance.now();
    await shim.call("mempalace_search", { query: "anything" }).catch(() => {});
    times.push(performance.now() - startedAt);
  }
  await shim.close();
  const worst = Math.max(...times);
  return [
    { name: "a read while there is no broker, slowest of 10", measured: ms(worst), bar: "<= 1 s", ok: worst <= 1_000 },
  ];
}
