import { globSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import type { StatsReport } from "../../../src/protocol/spec.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { linkTo, openBrowser, openPage, type SeenPage, json } from "../../helpers/browser.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, ROOT, type TestPalace } from "../../helpers/palace.ts";

const GZIPPED_MAX = 250 * 1024;
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'";

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser.close());

async function filled(): Promise<TestPalace> {
  const palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const places = [
    ["shop", "orders", 7],
    ["shop", "stock", 3],
    ["blog", "ideas", 4],
  ] as const;
  for (const [wing, room, drawers] of places)
    for (let at = 0; at < drawers; at++)
      await client.callTool("mempalace_add_drawer", { wing, room, content: `${room} ${at}: the pump hums at night` });
  client.close();
  return palace;
}

async function number(page: SeenPage, name: string): Promise<number> {
  const text = await page.locator(`[data-number="${name}"]`).innerText();
  return Number(/[\d,]+/.exec(text)?.[0].replaceAll(",", "") ?? NaN);
}

test("the first view of the page shows the same numbers as the commands, also while others write", async () => {
  await using palace = await filled();
  const page = await openPage(browser, palace);
  const same = async (): Promise<void> => {
    const status = await json<{ drawers: number; wings: number; queue: { acknowledged: number } }>(palace, "status");
    const { entries } = await json<{ entries: unknown[] }>(palace, "history", "--limit", "500");
    await expect.poll(() => number(page, "drawers")).toBe(status.drawers);
    expect(await number(page, "wings")).toBe(status.wings);
    expect(await number(page, "rooms")).toBe(3);
    await expect.poll(() => number(page, "acknowledged")).toBe(status.queue.acknowledged);
    await expect.poll(() => number(page, "today")).toBe(entries.length);
  };
  await same();
  const { growth = { periods: [] } } = await json<StatsReport>(palace, "stats");
  await page.getByText("Growth, as a table").click();
  const rows = page.locator("[data-curve=Growth] tbody tr");
  expect(await rows.allInnerTexts()).toEqual(growth.periods.map(({ begins, total }) => `${begins}\t${total}`));
  expect(growth.periods.at(-1)?.total).toBe(14);
  await palace.run("palace", ["add", "a late note"]);
  await expect.poll(() => number(page, "growth")).toBe(15);
  await expect.poll(() => page.getByText("a late note").count()).toBe(1);
  expect((await json<{ drawers: number }>(palace, "status")).drawers).toBe(15);
  await expect.poll(() => number(page, "drawers")).toBe(15);

  const wings = await json<{ wings: Record<string, number> }>(palace, "ls");
  for (const [wing, drawers] of Object.entries(wings.wings))
    expect(await page.getByRole("link", { name: `${wing} ${drawers} drawer` }).count(), wing).toBe(1);
  await page.getByRole("link", { name: "shop 10 drawers" }).click();
  await expect.poll(() => number(page, "here")).toBe(10);
  await page.getByRole("link", { name: "stock 3 drawers" }).click();
  await expect.poll(() => number(page, "here")).toBe(3);
  await expect.poll(() => page.getByRole("list", { name: "Drawers" }).getByRole("link").count()).toBe(3);
  expect(page.complaints).toEqual([]);
});

test("a view shows new drawers while others write and answers are slow", async () => {
  await using palace = await filled();
  const page = await openPage(browser, palace);
  // Delays each answer by 3 s, which is longer than the interval at which the view loads again.
  await page.route("**/ui/rpc", async (route) => {
    await delay(3_000);
    await route.continue();
  });
  const client = await palace.client();
  let isShown = false;
  const writing = (async () => {
    for (let at = 0; !isShown; at++) {
      await client.callTool("mempalace_add_drawer", {
        wing: "blog",
        room: "ideas",
        content: `written meanwhile ${at}`,
      });
      await delay(200);
    }
  })();
  await expect
    .poll(() => page.getByText("written meanwhile").count(), { timeout: 30_000 })
    .toBeGreaterThan(0)
    .finally(() => (isShown = true));
  await writing;
  client.close();
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("a link opens the page once, and nobody reads the memory without a link", async () => {
  await using palace = await filled();
  const url = await linkTo(palace);
  const { origin, hash } = new URL(url);
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin}${path}`, { ...init, headers: { "content-type": "application/json", ...init.headers } });
  const body = JSON.stringify({ token: hash.slice(1) });
  const first = await ask("/ui/session", { method: "POST", body });
  expect(await first.json()).toMatchObject({ role: "admin" });
  expect((await ask("/ui/session", { method: "POST", body })).status).toBe(401);
  const rpc = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "palace.status", params: {} });
  expect((await ask("/ui/rpc", { method: "POST", body: rpc })).status).toBe(401);
  expect((await ask("/ui/events")).status).toBe(401);
  for (const path of ["/mcp", "/health", "/metrics", "/api/health"]) expect((await ask(path)).status, path).toBe(404);

  const page = await ask("/ui/");
  expect(page.headers.get("content-security-policy")).toContain(POLICY);
  expect(page.headers.get("access-control-allow-origin")).toBeNull();
  expect(page.headers.get("x-content-type-options")).toBe("nosniff");
  const foreign = { origin: "http://evil.example" };
  expect((await ask("/ui/session", { method: "POST", body, headers: foreign })).status).toBe(403);
});

test("a request with another host name (DNS rebinding) is refused", async () => {
  await using palace = await filled();
  const { port } = new URL(await linkTo(palace));
  const { request } = await import("node:http");
  const status = await new Promise((resolve) =>
    request({ port, host: "127.0.0.1", path: "/ui/", headers: { host: "evil.example" } }, ({ statusCode }) =>
      resolve(statusCode),
    ).end(),
  );
  expect(status).toBe(421);
});

test("a page with the role reader can read, and its other calls are refused", async () => {
  await using palace = await filled();
  const { origin, hash } = new URL(await linkTo(palace, "reader"));
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ token: hash.slice(1) });
  const session = (await (await fetch(`${origin}/ui/session`, { method: "POST", headers, body })).json()) as object;
  const { bearer = "" } = session as { bearer?: string };
  const call = async (method: string, params: object): Promise<unknown> => {
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const own = { ...headers, authorization: `Bearer ${bearer}` };
    return (await fetch(`${origin}/ui/rpc`, { method: "POST", headers: own, body: message })).json();
  };
  expect(await call("palace.status", {})).toMatchObject({ result: { drawers: 14 } });
  for (const method of ["memory.audit", "memory.undo", "broker.stop", "job.start"])
    expect(await call(method, {}), method).toMatchObject({ error: { data: { code: "BROKER_DENIED" } } });
  const note = { name: "mempalace_add_drawer", arguments: { wing: "w", room: "r", content: "no" } };
  expect(await call("tools/call", note)).toMatchObject({ error: { data: { code: "BROKER_DENIED" } } });
});

test("an admin's token opens a page with at most the role agent, until the token is revoked", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  await palace.startBroker();
  const { token } = await json<{ token: string }>(palace, "token", "add", "chief", "--role", "admin");
  const env = {
    HOME: `${palace.home}/elsewhere`,
    MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
    MEMPALACE_TOKEN: token,
  };
  const client = await connectClient({ config: loadConfig(env), agent: "visitor", start: "never" });
  expect(await client.call("ui.link", {})).toMatchObject({ role: "agent" });
  expect(await client.call("ui.link", { role: "reader" })).toMatchObject({ role: "reader" });
  client.close();
  const shown = await palace.run("palace", ["ui"], { env });
  expect(shown.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ui\/#/);
  expect(shown.stderr).toContain("ssh -N -L");

  // The page ends when its token is revoked.
  const { origin, hash } = new URL(shown.stdout.trim());
  const ask = (path: string, body: object, bearer = ""): Promise<Response> => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${bearer}` };
    return fetch(`${origin}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const signedIn = (await (await ask("/ui/session", { token: hash.slice(1) })).json()) as { bearer: string };
  const status = { jsonrpc: "2.0", id: 1, method: "palace.status", params: {} };
  expect((await ask("/ui/rpc", status, signedIn.bearer)).status).toBe(200);
  await palace.run("palace", ["token", "revoke", "chief"]);
  expect((await ask("/ui/rpc", status, signedIn.bearer)).status).toBe(401);
});

test("eight tabs of one browser all show the memory and its changes", async () => {
  await using palace = await filled();
  const first = await openPage(browser, palace);
  const tabs = [first];
  while (tabs.length < 8) {
    const tab = Object.assign(await first.context().newPage(), { complaints: [] });
    await tab.goto(await linkTo(palace));
    await tab.locator("main h1").waitFor();
    tabs.push(tab);
  }
  for (const tab of tabs) await expect.poll(() => number(tab, "drawers")).toBe(14);
  // When the first tab is closed, another tab receives the changes for all tabs.
  await first.close();
  await palace.run("palace", ["add", "a note for all tabs"]);
  for (const tab of tabs.slice(1)) await expect.poll(() => number(tab, "drawers")).toBe(15);
});

test("a new link in the address of an open page opens the page", async () => {
  await using palace = await filled();
  const url = await linkTo(palace);
  const page = await browser.newPage();
  await page.goto(`${url.slice(0, url.indexOf("#"))}#${"x".repeat(43)}`);
  await page.getByRole("heading", { name: "This page needs a link" }).waitFor();
  await page.evaluate(`location.href = ${JSON.stringify(url)}`);
  await page.locator('[data-number="drawers"]').waitFor();
  await page.close();
});

test("unfinished sign-ins of others do not keep the owner from the page", async () => {
  await using palace = await filled();
  const { hostname, port } = new URL(await linkTo(palace));
  const held = Array.from({ length: 300 }, () => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    socket.write(`POST /ui/session HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n`);
    socket.write("Content-Length: 100\r\n\r\n");
    return socket;
  });
  await expect.poll(async () => (await fetch(`http://${hostname}:${port}/ui/`)).status).toBe(200);
  for (const socket of held) socket.destroy();
});

test("the page refuses a sign-in of more than 4,096 bytes", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const { url } = await client.call("ui.link", {});
  client.close();
  const { origin, hash } = new URL(url);
  const token = hash.slice(1);
  const signIn = async (body: string | ReadableStream): Promise<[number, unknown]> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${origin}/ui/session`, { method: "POST", headers, body, duplex: "half" } as never);
    return [response.status, await response.json()];
  };
  for (const length of [4_097, 8 * 1024 * 1024]) {
    const body = JSON.stringify({ token, more: "x".repeat(length) });
    const refused = [413, { error: "a message may have 4096 bytes" }];
    expect(await signIn(body)).toEqual(refused);
    // A body without an announced length is cut at the limit, too.
    expect(await signIn(ReadableStream.from([Buffer.from(body)]))).toEqual(refused);
  }
  expect(await signIn(JSON.stringify({ token }))).toMatchObject([200, { role: "admin" }]);
});

test("the page's files have at most 250 kB, zipped", () => {
  const files = globSync("dist/ui/**/*.{html,js,css,svg}", { cwd: ROOT });
  expect(files.length).toBeGreaterThan(2);
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(ROOT, file))).length, 0);
  expect(size).toBeLessThanOrEqual(GZIPPED_MAX);
});
