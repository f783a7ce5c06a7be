import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../../src/config/config.ts";
import type { SpoolReport, TokenReport } from "../../../src/protocol/spec.ts";
import { connectClient } from "../../../src/wire/client/client.ts";
import { Spool } from "../../../src/wire/client/spool.ts";
import { openBrowser, openPage, type SeenPage, seriousFindings, json } from "../../helpers/browser.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser.close());

const HOSTILE = "it holds <img src=x onerror=alert(1)>, says user\u202Etxt.exe";

async function care(page: SeenPage): Promise<void> {
  await page.evaluate('location.hash = "#/care"');
  await page.getByRole("heading", { name: "Care", level: 1 }).waitFor();
}

/**
 * Puts two refused writes into the spool, as an older client does. If sent again, the first is accepted, and the second is refused again.
 */
function keepWrites(palace: TestPalace): [good: string, bad: string] {
  const spool = new Spool(palace.config.paths.spoolDir);
  const keep = (key: string, name: string, given: object): string => {
    const params = { name, arguments: given, _meta: { "palace/idempotencyKey": key } };
    const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return spool.append({ atMs: Date.now(), agent: "old", tool: name, key, line });
  };
  const content = "Kept while no broker answered.";
  const good = keep("one", "mempalace_add_drawer", { wing: "kept", room: "r", content });
  const bad = keep("two", "mempalace_delete_drawer", { drawer_id: "nowhere" });
  for (const name of [good, bad]) spool.refuse(name, HOSTILE);
  return [good, bad];
}

test("the page lists tokens with role and last use, revokes a token by a click, and lists the doors", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  const { token } = await json<{ token: string }>(palace, "bridge", "token", "add", "ci");
  await palace.run("palace", ["bridge", "token", "add", "unused", "--role", "reader"]);
  await palace.startBroker();
  const config = loadConfig({
    HOME: `${palace.home}/elsewhere`,
    MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
    MEMPALACE_TOKEN: token,
  });
  const visitor = await connectClient({ config, agent: "visitor", start: "never" });
  await expect(visitor.call("token.list", {})).rejects.toThrow("the role agent");
  const page = await openPage(browser, palace);
  await care(page);
  const row = (name: string) => page.locator(`[data-token=${name}]`);
  await expect.poll(() => row("ci").innerText()).toMatch(/ci agent\s*used 0 minutes ago/);
  expect(await row("unused").innerText()).toMatch(/unused reader\s*not used since the broker started/);
  const { tokens } = await json<{ tokens: TokenReport[] }>(palace, "bridge", "token", "list");
  expect(await page.getByRole("list", { name: "Tokens" }).getByRole("listitem").count()).toBe(tokens.length);
  expect(await page.locator(".facts").last().innerText()).toContain(`127.0.0.1:${port}`);
  await row("ci").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Revoked ci").waitFor();
  await expect.poll(() => row("ci").count()).toBe(0);
  const left = await json<{ tokens: TokenReport[] }>(palace, "bridge", "token", "list");
  expect(left.tokens.map(({ name }) => name)).toEqual(["unused"]);
  visitor.close();
  const agent = await openPage(browser, palace, { role: "agent" });
  await care(agent);
  expect(await agent.getByRole("heading", { name: "Tokens" }).count()).toBe(0);
  expect([...page.complaints, ...agent.complaints]).toEqual([]);
});

test("a client on another machine with an admin's token gets neither tokens nor spooled writes, and cannot change them", async () => {
  const port = await freePort();
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  const { token } = await json<{ token: string }>(palace, "bridge", "token", "add", "far", "--role", "admin");
  await palace.startBroker();
  const env = { MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: token };
  const config = loadConfig({ HOME: `${palace.home}/elsewhere`, ...env });
  const far = await connectClient({ config, agent: "far", start: "never" });
  for (const method of ["token.list", "spool.list"] as const)
    await expect(far.call(method, {})).rejects.toThrow("on the broker's machine");
  await expect(far.call("token.revoke", { name: "far" })).rejects.toThrow("on the broker's machine");
  await expect(far.call("spool.sendAgain", { name: "x" })).rejects.toThrow("on the broker's machine");
  far.close();
  const { tokens } = await json<{ tokens: TokenReport[] }>(palace, "bridge", "token", "list");
  expect(tokens.map(({ name }) => name)).toEqual(["far"]);
});

test("the page lists the refused writes that `palace status spool` lists, and a click sends a refused write again", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  const [good, bad] = keepWrites(palace);
  const listed = () => json<SpoolReport>(palace, "status", "spool");
  const { totals, refused } = await listed();
  expect(totals).toEqual({ waiting: 0, refused: 2 });
  const page = await openPage(browser, palace);
  await care(page);
  const row = (name: string) => page.locator(`[data-write="${name}"]`);
  await expect.poll(() => page.locator("[data-number=spool]").innerText()).toBe("0 waiting, 2 refused");
  for (const { name, tool } of refused) expect(await row(name).innerText()).toContain(tool);
  expect(await row(bad).innerText()).toContain("<img src=x onerror=alert(1)>, says user⟨U+202E⟩txt.exe");
  expect(await page.locator("main img, main script").count()).toBe(0);

  await row(good).getByRole("button", { name: "Send again" }).click();
  await page.getByText("Sent again: 1 write delivered.").waitFor();
  await expect.poll(() => row(good).count()).toBe(0);
  const { drawers } = await json<{ drawers: { content_preview: string }[] }>(palace, "ls", "--recent");
  expect(drawers.map((drawer) => drawer.content_preview)).toEqual(["Kept while no broker answered."]);
  await row(bad).getByRole("button", { name: "Send again" }).click();
  await page.getByText("1 write refused again.").waitFor();
  expect((await listed()).totals).toEqual({ waiting: 0, refused: 1 });
  expect(page.complaints).toEqual([]);
});

test("axe finds no serious accessibility fault in the view `care` with tokens, backups and spooled writes", async () => {
  await using palace = createTestPalace();
  await palace.startBroker();
  keepWrites(palace);
  await palace.run("palace", ["bridge", "token", "add", "ci"]);
  await palace.run("palace", ["backup", `${palace.home}/a-backup-with-a-long-name-that-has-to-wrap-somewhere.tar`]);
  for (const colorScheme of ["light", "dark"] as const) {
    const options = { colorScheme, viewport: { width: 360, height: 740 }, bypassCSP: true };
    const page = await openPage(browser, palace, options);
    await care(page);
    await page.locator("[data-token]").waitFor();
    await page.locator("[data-write]").first().waitFor();
    await page.getByRole("button", { name: "Verify" }).first().click();
    await page.locator("[data-number=restore]").first().waitFor();
    expect(await seriousFindings(page), "care").toEqual([]);
    await page.context().close();
  }
});
