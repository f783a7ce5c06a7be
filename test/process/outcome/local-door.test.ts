import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { quietPort } from "../../helpers/free-port.ts";
import { doorOf, get, listenersAt, opened, post, send, told, withDoors } from "../../helpers/outcome-http.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const LOCAL = { MEMPALACE_OUTCOME_LOCAL: "on" };
const NOBODY = 65_534;
const run = promisify(execFile);

test("with the owner's permission the owner's programs need no token, but web pages and other users still do", async () => {
  await using palace = await withDoors(false, LOCAL);
  const at = palace.port;
  expect(await told({ at }, "/api/stats")).toMatchObject({ initialized: true });
  expect(await told({ at }, "/api/memory-bank/add", { content: "The oven is cleaned on Fridays." })).toMatchObject({
    success: true,
  });
  const statusOf = async (path: string, headers: Record<string, string>): Promise<number> =>
    (await get({ at, headers }, path)).status;
  expect(await statusOf("/api/stats", { authorization: "Bearer pdx_wrong" })).toBe(401);
  expect(await statusOf("/api/stats", { origin: "https://evil.example" })).toBe(403);
  expect(await statusOf("/api/stats", { host: "evil.example" })).toBe(421);
  expect(await statusOf("/api/stats", { "sec-fetch-site": "cross-site" })).toBe(401);
  // Without a token only Roampal's API is served, because our own programs use the socket.
  expect((await post({ at }, "/mcp", {})).status).toBe(401);
  expect(await statusOf("/metrics", {})).toBe(401);
  if (process.getuid?.() === 0) {
    const script = `import urllib.request; urllib.request.urlopen("http://127.0.0.1:${at}/api/stats")`;
    const refused = run("python3", ["-c", script], { uid: NOBODY, cwd: "/", env: {} });
    await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining("HTTP Error 401") });
  }
});

test("without the owner's permission Roampal's hooks get empty answers with the reason, and never an error", async () => {
  await using palace = await withDoors(false);
  const hook = { query: "How is the oven cleaned?", conversation_id: "c1" };
  for (let times = 0; times < 15; times++) {
    const { status, body } = await post({ at: palace.port }, "/api/hooks/get-context", hook);
    expect({ status, injection: body["formatted_injection"] }).toEqual({ status: 200, injection: "" });
    expect(body["detail"]).toContain("palace outcome door --local");
  }
  const turn = { conversation_id: "c1", user_message: "a", assistant_response: "b", lifecycle_only: true };
  expect(await told({ at: palace.port }, "/api/hooks/stop", turn)).toMatchObject({
    stored: false,
    should_block: false,
  });
  expect((await get({ at: palace.port }, "/api/stats")).status).toBe(429);
  expect(await told(palace.door, "/api/stats")).toMatchObject({ collections: { working: { count: 0 } } });
  const page = { at: palace.port, headers: { origin: "https://evil.example" } };
  expect((await post(page, "/api/hooks/get-context", hook)).status).toBe(429);
});

test("a client that sends the body after the head gets the whole refusal before the connection closes", async () => {
  await using palace = await withDoors(false);
  // Sends head and body separately, as Python's urllib does.
  const path = "/api/hooks/get-context";
  const body = Buffer.alloc(1024 * 1024, 0x20);
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  for (let times = 0; times < 20; times++) {
    const client = connect(palace.port, "127.0.0.1");
    let text = "";
    client.on("data", (part: Buffer) => (text += part.toString()));
    client.write(head);
    setImmediate(() => client.write(body));
    await once(client, "close");
    expect(text).toMatch(/^HTTP\/1.1 200 [^]*palace outcome door --local/);
  }
});

test("a program that kills the process at the port does not end the broker, which opens the port again", async () => {
  await using palace = await withDoors(false, LOCAL);
  const { instance_id: before, pid: broker } = await told({ at: palace.port }, "/api/health");
  const [holder = 0, ...others] = listenersAt(palace.port);
  expect(others).toEqual([]);
  expect(holder).not.toBe(broker);
  process.kill(holder, "SIGKILL");
  await vi.waitFor(() => expect(listenersAt(palace.port)).not.toEqual([holder]), { timeout: 20_000, interval: 20 });
  await vi.waitFor(
    async () => expect(await told({ at: palace.port }, "/api/health")).toMatchObject({ instance_id: before }),
    { timeout: 20_000, interval: 50 },
  );
  // The process at the port ends even if the broker is killed.
  process.kill(Number(broker), "SIGKILL");
  await vi.waitFor(() => expect(listenersAt(palace.port)).toEqual([]), { timeout: 20_000, interval: 20 });
});

test("the process that listens at Roampal's port passes bytes on unchanged", async () => {
  await using palace = await withDoors(false, LOCAL);
  const content = "ö€𝄞 \u0001".repeat(8_000);
  const { doc_id: id } = await told({ at: palace.port }, "/api/memory-bank/add", { content });
  const { results } = await told({ at: palace.port }, "/api/search", { id });
  expect((results as { content: string }[])[0]?.content).toBe(content);
  const answers = await Promise.all(Array.from({ length: 40 }, () => get({ at: palace.port }, "/api/stats")));
  expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200));
});

test("a client whose request is too large gets the answer 413 instead of a reset connection", async () => {
  await using palace = await withDoors(false, LOCAL);
  const large = Buffer.alloc(24 * 1024 * 1024, 0x20);
  // Tries many times, because a fault could lose the answer only sometimes.
  for (let round = 0; round < 10; round++) {
    const both = [1, 2].map(() => send({ at: palace.port }, "/api/memory-bank/add", large));
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([413, 413]);
  }
});

test("`palace outcome door` opens the port for the owner's programs until --off closes it", async () => {
  await using palace = createTestPalace();
  const port = await quietPort();
  await palace.startBroker();
  const door = (...args: string[]): ReturnType<TestPalace["run"]> => palace.run("palace", ["outcome", "door", ...args]);
  expect(await door()).toMatchObject({ code: 0, stdout: expect.stringContaining("palace outcome door --local") });
  expect(await palace.run("palace", ["config", "set", "outcome-port", `${port}`])).toMatchObject({ code: 0 });
  expect(await door("--local")).toMatchObject({ code: 0, stdout: expect.stringContaining(`:${port} is open`) });
  // The next broker opens the port, too.
  expect(await palace.run("palace", ["restart"])).toMatchObject({ code: 0 });
  await opened(palace, port);
  expect(await told({ at: port }, "/api/stats")).toMatchObject({ initialized: true });
  expect(JSON.parse((await door("--json")).stdout)).toEqual({ door: { port, isLocal: true, state: "open" } });
  expect((await palace.run("palace", ["doctor"])).stdout).toContain("your own programs need no token");
  expect(await door("--local", "--off")).toMatchObject({ code: 2 });
  expect(await palace.run("palace", ["outcome", "stats", "--local"])).toMatchObject({ code: 2 });
  expect(await door("--off")).toMatchObject({ code: 0, stdout: expect.stringContaining("there is no token yet") });
  expect(await doorOf(palace)).toMatchObject({ isLocal: false, state: "shut" });
  const against = await palace.run("palace", ["outcome", "door", "--local"], {
    env: { MEMPALACE_OUTCOME_LOCAL: "off" },
  });
  expect(against).toMatchObject({ code: 2, stderr: expect.stringContaining("unset MEMPALACE_OUTCOME_LOCAL") });
});
