import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../../../src/config/config.ts";
import { freePort } from "../../helpers/free-port.ts";
import { addToken, doorOf, get, opened, post, told, withDoors } from "../../helpers/outcome-http.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("the port of Roampal's API serves requests with a token and this machine's name as Host, but no request from a foreign web page", async () => {
  await using palace = await withDoors(false);
  const { at, headers = {} } = palace.door;
  const path = "/api/health";
  const refused = async (given: Record<string, string>): Promise<number> => {
    const answer = await get({ at, headers: given }, path);
    expect(answer.body["detail"], answer.text).toBeTypeOf("string");
    return answer.status;
  };
  expect(await refused({})).toBe(401);
  expect(await refused({ authorization: "Bearer pdx_wrong" })).toBe(401);
  expect(await refused({ ...headers, origin: "https://evil.example" })).toBe(403);
  expect(await refused({ ...headers, host: "evil.example" })).toBe(421);
  expect(await refused({ ...headers, host: "192.168.1.2" })).toBe(421);
  expect(await refused({ ...headers, host: "host.docker.internal" })).toBe(421);
  expect((await get({ at, headers: { ...headers, origin: `http://127.0.0.1:${at}` } }, path)).status).toBe(200);
  const reader = { at, headers: { authorization: `Bearer ${await addToken(palace, "eyes", "--role", "reader")}` } };
  expect(await told(reader, "/api/search", { query: "x" })).toMatchObject({ count: 0 });
  for (const [write, body] of [
    ["/api/record-response", { key_takeaway: "x" }],
    ["/api/record-outcome", { outcome: "worked" }],
    ["/api/hooks/get-context", { query: "x" }],
    ["/api/hooks/stop", { user_message: "x", assistant_response: "y" }],
    ["/api/memory-bank/add", { content: "x" }],
    ["/api/memory-bank/update", { old_content: "x", new_content: "y" }],
    ["/api/memory-bank/archive", { content: "x" }],
    ["/api/ingest", { content: "x" }],
    ["/api/remove-book", { title: "x" }],
    ["/api/memory/update-content", { doc_id: "x", collection: "working", new_content: "y" }],
  ] as const)
    expect((await post(reader, write, body)).status, write).toBe(403);
  // The status does not list this door, and the door closes when the broker ends.
  const client = await palace.client();
  expect((await client.call("palace.status", {})).doors).toMatchObject([{ kind: "unix" }]);
  await client.call("broker.stop", {});
  client.close();
  await vi.waitFor(() => expect(get(palace.door, path)).rejects.toMatchObject({ code: "ECONNREFUSED" }), 15_000);
});

test.each([
  [
    "an HTTP server that is not a palace broker",
    () => createServer((_asked, response) => response.writeHead(418).end("tea")),
  ],
  ["a Roampal server", () => createServer((_asked, response) => response.end('{"memory_initialized":true}'))],
  [
    "a process that does not answer",
    () => createTcpServer((socket) => socket.on("error", () => {}).end("220 hello\r\n")),
  ],
])(
  "the log names %s on Roampal's port, the broker leaves that program alone, and opens the port once the port is free",
  async (name, start) => {
    const port = await freePort();
    const foreign = start().listen(port, "127.0.0.1");
    onTestFinished(() => void foreign.close());
    await once(foreign, "listening");
    await using palace = createTestPalace({ env: { MEMPALACE_OUTCOME_PORT: `${port}` } });
    await addToken(palace, "program");
    expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
    await vi.waitFor(
      async () => expect(await doorOf(palace)).toMatchObject({ why: expect.stringContaining(name) }),
      10_000,
    );
    const status = await palace.run("palace", ["status"]);
    expect(status.stdout).toMatch(
      new RegExp(`outcome door\\thttp://127.0.0.1:${port} is shut: port ${port} is taken: ${name}.*ss -ltnp`),
    );
    const { stdout } = await palace.run("palace", ["doctor"]);
    expect(stdout).toContain(`port ${port} is taken: ${name}`);
    expect(palace.log()).toContain(name);
    // The broker keeps serving, and so does the other program.
    expect(await told({ at: palace.config.paths.socketPath }, "/api/stats")).toMatchObject({ initialized: true });
    expect(foreign.listening).toBe(true);
    foreign.close();
    await opened(palace, port);
  },
);

test("the door at Roampal's port opens only when a token exists", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_OUTCOME_PORT: `${port}` } });
  await palace.startBroker();
  expect(await doorOf(palace)).toMatchObject({
    state: "shut",
    why: expect.stringContaining("no token"),
    hint: expect.stringContaining("palace bridge token add"),
  });
  await expect(get({ at: port }, "/api/health")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  const token = await addToken(palace, "late");
  await opened(palace, port);
  await told({ at: port, headers: { authorization: `Bearer ${token}` } }, "/api/health");
});

test("a second palace on the same port reports the first palace's broker, and both keep serving", async () => {
  await using first = await withDoors(false);
  await using second = createTestPalace({ env: { MEMPALACE_OUTCOME_PORT: `${first.port}` } });
  await addToken(second, "program");
  await second.startBroker();
  const isNamed = expect.objectContaining({ why: expect.stringContaining("a palace broker of another memory") });
  await vi.waitFor(async () => expect(await doorOf(second)).toEqual(isNamed), 20_000);
  expect(await told(first.door, "/api/health")).toMatchObject({ data_path: first.config.paths.home });
});

test("MEMPALACE_OUTCOME_PORT accepts a port, `on` and `off`, and refuses other values", () => {
  const portOf = (value?: string): number | "off" | undefined =>
    loadConfig({ HOME: "/nowhere", MEMPALACE_OUTCOME_PORT: value }).outcomePort;
  expect([undefined, "", "off", "on", "27182", "8080"].map(portOf)).toEqual([
    ...[undefined, undefined, "off", 27_182, 27_182, 8080],
  ]);
  for (const value of ["0", "65536", "-1", "yes", "0x10", "1e3"])
    expect(() => portOf(value), value).toThrow(/MEMPALACE_OUTCOME_PORT/);
});
