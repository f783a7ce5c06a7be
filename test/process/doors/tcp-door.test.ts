import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { OWN_METHODS } from "../../../src/broker/dispatch/own-methods.ts";
import { connectClient } from "../../../src/wire/client/client.ts";
import { findBroker, openStream } from "../../../src/wire/client/discover.ts";
import { loadConfig } from "../../../src/config/config.ts";
import type { PalaceError } from "../../../src/base/errors.ts";
import { keysOf, parseProofHeader } from "../../../src/protocol/proof.ts";
import type { MethodName } from "../../../src/protocol/spec.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

type Behind = TestPalace & {
  port: number;
  url: string;
  /** Returns the broker's log so far. */
  said(): string;
};

/** Makes a palace with a broker that listens on a free loopback port. `prepare` runs before the broker starts. */
async function withTcp(prepare?: (palace: TestPalace) => Promise<void>): Promise<Behind> {
  const port = await freePort();
  const palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await prepare?.(palace);
  const broker = await palace.startBroker();
  let said = "";
  broker.stderr?.on("data", (text: string) => (said += text));
  return Object.assign(palace, { port, url: `http://127.0.0.1:${port}`, said: () => said });
}

async function addToken(palace: TestPalace, name: string, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await palace.run("palace", ["token", "add", name, ...options, "--json"]);
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { token: string }).token;
}

/** Connects as a container does: from another home that has only the endpoint and the token. */
function elsewhere(palace: Behind, token: string | undefined): ReturnType<typeof connectClient> {
  const env = { HOME: `${palace.home}/elsewhere`, MEMPALACE_BROKER: palace.url, MEMPALACE_TOKEN: token };
  return connectClient({ config: loadConfig(env), agent: "visitor", start: "never" });
}

const drawer = { wing: "door", room: "tcp", content: "Came in over TCP." };
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};

function post(palace: Behind, headers: Record<string, string>, path = "/mcp"): Promise<Response> {
  return fetch(`${palace.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify(initialize),
  });
}

test("a client with an agent's token reads and writes, also through the shim, and the journal names the token", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "box");
  const client = await elsewhere(palace, token);
  expect(await client.callTool("mempalace_add_drawer", drawer)).toMatchObject({ success: true });
  await expect(client.call("broker.stop", {})).rejects.toMatchObject({ code: "BROKER_DENIED" });
  client.close();

  const env = { HOME: `${palace.home}/elsewhere`, MEMPALACE_BROKER: palace.url, MEMPALACE_TOKEN: token };
  const shim = await palace.shim(env);
  const found = await shim.call("mempalace_search", { query: "came in over TCP" });
  expect(JSON.stringify(found)).toContain("Came in over TCP.");
  await shim.close();
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  expect(ledger.prepare("SELECT agent, door FROM journal").all()).toEqual([{ agent: "box:visitor", door: "tcp" }]);
  ledger.close();
  expect(palace.log()).not.toContain(token);
});

test("a reader's token can read but not write", async () => {
  await using palace = await withTcp();
  const client = await elsewhere(palace, await addToken(palace, "eyes", "--role", "reader"));
  await expect(client.callTool("mempalace_add_drawer", drawer)).rejects.toMatchObject({ code: "BROKER_DENIED" });
  const taking = client.callTool("mempalace_memories_filed_away", {});
  await expect(taking).rejects.toMatchObject({ code: "BROKER_DENIED" });
  const setting = client.callTool("mempalace_hook_settings", { silent_save: false });
  await expect(setting).rejects.toMatchObject({ code: "BROKER_DENIED" });
  const event = { type: "t", stream: "s", room: "r", from_agent: "eyes" };
  const appending = client.callTool("mempalace_event_append", event);
  await expect(appending).rejects.toMatchObject({ code: "BROKER_DENIED" });
  expect(await client.callTool("mempalace_event_wait", { timeout_ms: 1 })).toMatchObject({ timed_out: true });
  for (const tool of [
    "mempalace_hook_settings",
    "mempalace_list_wings",
    "mempalace_event_list",
    "mempalace_mesh_peers",
  ])
    expect(await client.callTool(tool, {}), tool).toBeDefined();
  expect((await client.call("palace.status", {})).drawers).toBe(0);
  client.close();
});

test("a client with Authorization: Bearer is admitted, and a client without gets 401 with WWW-Authenticate: Bearer", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "standard");
  expect((await post(palace, { authorization: `Bearer ${token}` })).status).toBe(200);
  const refused = await post(palace, {});
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toContain("Bearer");
  for (const path of ["/health", "/metrics", "/ready", "/nothing"])
    expect((await fetch(`${palace.url}${path}`)).status, path).toBe(401);
});

test.each([
  ["a request from a page of another origin", { origin: "https://evil.example" }, 403],
  ["a request for another host name (DNS rebinding)", { host: "evil.example" }, 421],
])("%s is refused even with a token", async (_name, headers, status) => {
  await using palace = await withTcp();
  const token = await addToken(palace, "browser");
  expect(
    await rawStatus(palace, { host: `127.0.0.1:${palace.port}`, authorization: `Bearer ${token}`, ...headers }),
  ).toBe(status);
});

const FOR_ADMINS: readonly MethodName[] = [
  ...(["backup.list", "broker.stop", "drawer.reveal", "job.cancel", "job.start"] as const),
  ...(["spool.list", "spool.sendAgain", "token.list", "token.revoke"] as const),
  ...(["memory.audit", "memory.erasure", "memory.forget", "memory.forgetPreview"] as const),
  ...(["memory.import", "memory.importPreview", "memory.undo", "memory.undoPreview"] as const),
  ...(["outcome.export", "outcome.exportGraph", "outcome.import", "outcome.importGraph"] as const),
];
const FOR_READERS: readonly MethodName[] = [
  ...(["book.list", "closet.compressPreview", "closet.sources", "drawer.list", "drawer.places"] as const),
  ...(["drawer.search", "drawer.show", "outcome.insights", "outcome.search", "outcome.stats"] as const),
  ...(["outcome.why", "palace.stats", "palace.status", "palace.wakeUp", "source.list"] as const),
  ...(["turn.list", "turn.scored", "ui.link"] as const),
];

test("each of our own methods refuses a peer without the required role before it reads the arguments", async () => {
  await using palace = await withTcp();
  const refused: Record<string, string[]> = {};
  for (const role of ["reader", "agent"]) {
    const client = await elsewhere(palace, await addToken(palace, role, "--role", role));
    refused[role] = [];
    for (const method of Object.keys(OWN_METHODS) as MethodName[]) {
      const code = await client.call(method, {} as never).then(
        () => "answered",
        (error: PalaceError) => error.code,
      );
      if (code === "BROKER_DENIED") refused[role].push(method);
    }
    client.close();
  }
  const all = Object.keys(OWN_METHODS);
  expect(refused["agent"]?.toSorted()).toEqual(FOR_ADMINS.toSorted());
  expect(refused["reader"]?.toSorted()).toEqual(
    all.filter((one) => !FOR_READERS.includes(one as MethodName)).toSorted(),
  );
});

test("revoking a token cuts its connections; afterwards the token is refused like an invented token", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "short");
  const env = { HOME: `${palace.home}/elsewhere`, MEMPALACE_BROKER: palace.url, MEMPALACE_TOKEN: token };
  const stream = await openStream(loadConfig(env), "visitor");
  expect(stream).toBeDefined();
  const closed = once(stream?.socket.resume() as Socket, "close");
  expect((await palace.run("palace", ["token", "revoke", "short"])).code).toBe(0);
  expect(await Promise.race([closed.then(() => "cut"), delay(5_000, "still open")])).toBe("cut");
  await expect(elsewhere(palace, token)).rejects.toMatchObject({ code: "BROKER_DENIED" });
  const invented = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  await expect(elsewhere(palace, invented)).rejects.toMatchObject({ code: "BROKER_DENIED" });
  await expect(elsewhere(palace, undefined)).rejects.toMatchObject({ code: "BROKER_DENIED" });
});

test("an expired token's connections are cut, the token is refused like a revoked token, and the log names each refusal", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "guest", "--days", "1");
  const env = { HOME: `${palace.home}/elsewhere`, MEMPALACE_BROKER: palace.url, MEMPALACE_TOKEN: token };
  const stream = await openStream(loadConfig(env), "guest");
  const closed = once(stream?.socket.resume() as Socket, "close");
  // Makes the token expire now.
  const file = palace.config.paths.tokensFile;
  const kept = readFileSync(file, "utf8");
  expect(kept).toMatch(/"expiresAtMs": ?\d+/);
  writeFileSync(file, kept.replace(/("expiresAtMs": ?)\d+/, `$1${Date.now() - 1}`));
  expect(await Promise.race([closed.then(() => "cut"), delay(10_000, "still open")])).toBe("cut");
  await expect(elsewhere(palace, token)).rejects.toMatchObject({ code: "BROKER_DENIED" });
  expect((await post(palace, { authorization: `Bearer ${token}` })).status).toBe(401);

  const socket = connect({ host: "127.0.0.1", port: palace.port });
  socket.write("GET /elsewhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toContain("HTTP/1.1 400");
  socket.destroy();

  const refusals = (): string[] =>
    palace
      .said()
      .split("\n")
      .filter((line) => line.includes("refused"));
  const isTold = (status: string, path: string): boolean =>
    refusals().some((line) => line.includes(status) && line.includes(path));
  await expect.poll(() => isTold("401", "/mcp")).toBe(true);
  await expect.poll(() => isTold("400", "/elsewhere")).toBe(true);
  expect(palace.said()).not.toContain(token);
});

test("after ten wrong tokens an address gets 429, but the right token still works from that address", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "right");
  const wrong = { authorization: `Bearer pdx_AAAAAAAA_${"A".repeat(43)}` };
  const statuses: number[] = [];
  for (let round = 0; round < 12; round++) statuses.push((await post(palace, wrong)).status);
  expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
  expect((await post(palace, { authorization: `Bearer ${token}` })).status).toBe(200);
});

test("wrong proofs and wrong tokens with a valid token's id do not lock out the token's owner at the same address", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "owner");
  const forged = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  const expectOwnerIn = async (): Promise<void> => {
    expect((await post(palace, { authorization: `Bearer ${token}` })).status).toBe(200);
    const client = await elsewhere(palace, token);
    expect(await client.callTool("mempalace_status", {})).toBeDefined();
    client.close();
  };
  // Our own clients prove a token without sending it. These clients send wrong proofs with the id of the owner's token.
  const refusals: unknown[] = [];
  for (let round = 0; round < 12; round++)
    refusals.push(await elsewhere(palace, forged).catch(({ code }: PalaceError) => code));
  expect(refusals).toEqual([...Array<string>(10).fill("BROKER_DENIED"), "BROKER_BUSY", "BROKER_BUSY"]);
  await expectOwnerIn();
  for (let round = 0; round < 15; round++) await post(palace, { authorization: `Bearer ${forged}` });
  expect((await post(palace, { authorization: `Bearer ${forged}` })).status).toBe(429);
  await expectOwnerIn();
});

test("an impostor on the broker's port gets no token, no message and no proof that the real door accepts", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "victim");
  let heard = "";
  const squatter = createServer((socket: Socket) => {
    socket.on("data", (bytes) => {
      heard += bytes.toString("latin1");
      const isAsking = !heard.includes("Authorization");
      socket.write(
        isAsking
          ? `HTTP/1.1 401 x\r\nPalace-Challenge: ${"n".repeat(32)}\r\nContent-Length: 0\r\n\r\n`
          : "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mcp\r\nPalace-Proof: made-up\r\n\r\n",
      );
    });
  }).listen(0, "127.0.0.1");
  await once(squatter, "listening");
  const url = `http://127.0.0.1:${(squatter.address() as AddressInfo).port}`;
  const config = loadConfig({ HOME: `${palace.home}/x`, MEMPALACE_BROKER: url, MEMPALACE_TOKEN: token });
  await expect(connectClient({ config, agent: "visitor", start: "never" })).rejects.toMatchObject({
    code: "BROKER_DENIED",
  });
  // A client without a token sends nothing, even to a server that would admit it.
  const before = heard;
  const bare = loadConfig({ HOME: `${palace.home}/x`, MEMPALACE_BROKER: url });
  await expect(connectClient({ config: bare, agent: "visitor", start: "never" })).rejects.toMatchObject({
    code: "BROKER_DENIED",
  });
  expect(heard).toBe(before);
  squatter.close();
  const [, secret = ""] = /^pdx_[\w-]{8}_(.*)$/.exec(token) ?? [];
  const { storedKey, serverKey } = keysOf(token);
  for (const part of [token, secret, storedKey, serverKey]) expect(heard).not.toContain(part);
  expect(heard).not.toContain("jsonrpc");
  // The impostor's proof is useless at the real door: it is for another nonce and another connection.
  const authorization = /Authorization: (.*)\r\n/.exec(heard)?.[1] ?? "";
  expect(parseProofHeader(authorization)).toBeDefined();
  expect(await rawStatus(palace, { host: "127.0.0.1", authorization })).toBe(401);
});

test("only the owner can read the token file, and a key from the file opens no door", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "kept");
  const file = palace.config.paths.tokensFile;
  const text = readFileSync(file, "utf8");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(text).not.toContain(token.slice("pdx_".length));
  const [record] = (JSON.parse(text) as { tokens: { id: string; storedKey: string; serverKey: string }[] }).tokens;
  for (const key of [record?.storedKey, record?.serverKey]) {
    const forged = `pdx_${record?.id ?? ""}_${key ?? ""}`;
    expect((await post(palace, { authorization: `Bearer ${forged}` })).status).toBe(401);
    await expect(elsewhere(palace, forged)).rejects.toMatchObject({ code: "BROKER_DENIED" });
  }
});

test("a broker whose door other machines can reach does not start without a token, and the error gives the command that adds a token", async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://0.0.0.0:${await freePort()}` } });
  const refused = await palace.run("palace", ["start"]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("palace bridge token add");
  // A restart that could not work does not stop the running broker.
  const running = createTestPalace({ home: palace.home, env: { MEMPALACE_LISTEN: "" } });
  expect((await running.run("palace", ["start"])).code).toBe(0);
  const before = (await findBroker(running.config))?.health.instanceId;
  expect(await palace.run("palace", ["restart"])).toMatchObject({ code: 2 });
  expect((await findBroker(running.config))?.health.instanceId).toBe(before);
  await addToken(palace, "first");
  expect(await palace.run("palace", ["token", "add"])).toMatchObject({ code: 2 });
  expect((await palace.run("palace", ["restart"])).code).toBe(0);
  expect((await findBroker(running.config))?.health.instanceId).not.toBe(before);
});

test("each later broker opens the TCP door again, until a start with MEMPALACE_LISTEN=off", async () => {
  await using palace = await withTcp();
  const token = await addToken(palace, "stays");
  const without = { MEMPALACE_LISTEN: "" };
  expect((await palace.run("palace", ["restart"], { env: without })).code).toBe(0);
  const client = await elsewhere(palace, token);
  expect((await client.call("palace.status", {})).doors.map(({ kind }) => kind)).toEqual(["unix", "tcp"]);
  client.close();
  const refused = await palace.run("palace", ["token", "add", "lost"], { env: { MEMPALACE_BROKER: palace.url } });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("on the broker's machine")]);

  expect((await palace.run("palace", ["restart"], { env: { MEMPALACE_LISTEN: "off" } })).code).toBe(0);
  expect((await palace.run("palace", ["restart"], { env: without })).code).toBe(0);
  await expect(fetch(`${palace.url}/health`)).rejects.toThrow();
});

/** Posts with the given headers, including Host, which fetch would set itself. */
async function rawStatus(palace: Behind, headers: Record<string, string>): Promise<number> {
  const { request } = await import("node:http");
  const call = request({ host: "127.0.0.1", port: palace.port, path: "/mcp", method: "POST", headers });
  call.end("{}");
  const [response] = (await once(call, "response")) as [{ statusCode: number; resume(): void }];
  response.resume();
  return response.statusCode;
}
