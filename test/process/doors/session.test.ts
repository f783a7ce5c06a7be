/** Compares the session in src/protocol/README.md with a recorded one, byte for byte. `WRITE_PAGES=1` writes the page again. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { openStream } from "../../../src/wire/client/discover.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { IDEMPOTENCY_META } from "../../../src/protocol/headers.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, ROOT } from "../../helpers/palace.ts";

const PAGE = join(ROOT, "src/protocol/README.md");
const BLOCK = /(?<=```text\n)[\s\S]*?(?=```\n)/;

const MESSAGES: readonly object[] = [
  {
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "example", version: "1" } },
  },
  {
    method: "tools/call",
    params: {
      name: "mempalace_add_drawer",
      arguments: { wing: "garden", room: "tools", content: "The saw is in the shed." },
      _meta: { [IDEMPOTENCY_META]: "0001" },
    },
  },
  { method: "source.remove", params: { wing: "garden" } },
];

/** Values that differ from run to run or from release to release, each with the text that replaces it on the page. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/(Host: 127\.0\.0\.1:)\d+/g, "$1PORT"],
  [/(Date: ).*(?=\r)/g, "$1DATE"],
  [/(palace-challenge: )\S+/g, "$1SERVER-NONCE"],
  [/(Authorization: Palace )[^.\s]+\.[^.\s]+\.[^.\s]+\.[^.\s]+/g, "$1TOKEN-ID.CLIENT-NONCE.SERVER-NONCE.CLIENT-PROOF"],
  [/(palace-instance: )\S+/g, "$1INSTANCE-ID"],
  [/(palace-proof: )\S+/g, "$1BROKER-PROOF"],
  [/("serverInfo":\{"name":"mempalace","version":)"[^"]+"/g, '$1"VERSION"'],
  [/("instructions":)"[^"]+"/g, '$1"INSTRUCTIONS"'],
];

type Told = { isClient: boolean; bytes: string };

/** Forwards bytes to `port` and records them. */
async function recorder(port: number, told: Told[]): Promise<{ port: number; ended: Promise<unknown> } & Disposable> {
  const ended = Promise.withResolvers<void>();
  const note = (isClient: boolean, bytes: string): void => {
    const last = told.at(-1);
    if (last?.isClient === isClient) last.bytes += bytes;
    else told.push({ isClient, bytes });
  };
  const server = createServer((client) => {
    const broker = connect(port, "127.0.0.1");
    client.on("data", (chunk) => void (note(true, chunk.toString()), broker.write(chunk)));
    broker.on("data", (chunk) => void (note(false, chunk.toString()), client.write(chunk)));
    client.on("end", () => void (note(true, "(ends the connection)\n"), broker.end()));
    broker.on("end", () => void (note(false, "(ends the connection)\n"), client.end(), ended.resolve()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    ended: ended.promise,
    [Symbol.dispose]: () => void server.close(),
  };
}

async function session(): Promise<Told[]> {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  const { stdout } = await palace.run("palace", ["token", "add", "example", "--json"]);
  const { token } = JSON.parse(stdout) as { token: string };
  const told: Told[] = [];
  using between = await recorder(port, told);
  const env = { HOME: join(palace.home, "elsewhere"), MEMPALACE_TOKEN: token };
  const config = loadConfig({ ...env, MEMPALACE_BROKER: `http://127.0.0.1:${between.port}` });
  const stream = await openStream(config, "example");
  if (stream === undefined) throw new Error("no broker answers");
  const answers = createInterface({ input: stream.socket })[Symbol.asyncIterator]();
  for (const [index, message] of MESSAGES.entries()) {
    stream.socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: index + 1, ...message })}\n`);
    await answers.next();
  }
  stream.socket.end();
  await between.ended;
  return told;
}

/** Returns the lines as the page shows them. HTTP lines end with CR LF, messages with LF. */
function shown({ isClient, bytes }: Told): string {
  const named = NAMES.reduce((text, [value, name]) => text.replaceAll(value, name), bytes);
  const isHttp = /^(?:GET|HTTP)/.test(bytes);
  expect(named).toMatch(isHttp ? /^(?:[^\r\n]*\r\n)+$/ : /^(?:[^\r\n]+\n)+$/);
  const lines = named.split(isHttp ? "\r\n" : "\n").slice(0, -1);
  return lines.map((line) => `${isClient ? "→" : "←"} ${line}`.trimEnd()).join("\n");
}

test("src/protocol/README.md shows the real session of a client and a broker", async () => {
  const block = `${(await session()).map(shown).join("\n")}\n`;
  if (process.env["WRITE_PAGES"] === "1")
    writeFileSync(
      PAGE,
      readFileSync(PAGE, "utf8").replace(BLOCK, () => block),
    );
  expect(BLOCK.exec(readFileSync(PAGE, "utf8"))?.[0]).toBe(block);
});
