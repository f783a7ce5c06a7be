import type { Browser } from "playwright-core";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MemoryStats, TurnPage } from "../../../src/protocol/outcome.ts";
import { openBrowser, openPage, json, visit } from "../../helpers/browser.ts";
import { agentOf, ask, clientOf, palaceWithModel } from "../../helpers/outcome-agent.ts";
import type { TestPalace } from "../../helpers/palace.ts";

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser.close());

const HOSTILE = "The boiler wants <img src=x onerror=alert(1)> two bar, says user\u202Etxt.exe";
const DAY_MS = 86_400_000;

/** Makes a palace in which two agents were shown memories. The agent `pi` also reported that tests passed. */
async function worked(): Promise<TestPalace> {
  const palace = await palaceWithModel();
  await using agent = await agentOf(palace);
  await ask(agent, "record_response", { key_takeaway: HOSTILE });
  await ask(agent, "record_response", { key_takeaway: "The boiler is drained in May" });
  for (const name of ["claude-code", "pi"]) {
    const client = await clientOf(palace, name);
    const conversation = `${name}/1`;
    await client.call("turn.begin", { conversation, prompt: "how much pressure does the boiler want?" });
    const said = { conversation, user: "how much pressure does the boiler want?", assistant: "Two bar." };
    await client.call("turn.end", { ...said, ...(name === "pi" && { signals: ["tests-passed"] }) });
    client.close();
  }
  return palace;
}

test("the page's turns have the numbers that `palace outcome turns` prints, and a click corrects a score", async () => {
  await using palace = await worked();
  const listed = () => json<TurnPage>(palace, "outcome", "turns");
  const before = await listed();
  expect(before.turns.map(({ agent }) => agent).toSorted()).toEqual(["claude-code", "pi"]);
  const page = await openPage(browser, palace);
  await visit(page, "#/turns", "Turns");
  const list = page.getByRole("list", { name: "Turns" }).getByRole("link");
  await expect.poll(() => list.count()).toBe(before.total);
  const lines = await list.allInnerTexts();
  for (const [at, { agent, turn, memories }] of before.turns.entries())
    expect(lines[at]).toMatch(new RegExp(`^${agent}, turn ${turn}: ${memories.length} memor(y|ies) shown`));

  await page.getByRole("link", { name: "pi, turn 1" }).click();
  await page.getByRole("heading", { name: "Turns of pi/1", level: 1 }).waitFor();
  const [mine] = (await json<TurnPage>(palace, "outcome", "turns", "pi/1")).turns;
  expect(new Set(mine?.memories.flatMap(({ outcomes }) => outcomes.map(({ by }) => by)))).toEqual(
    new Set(["tests-passed"]),
  );
  const { id = "", score = null } = mine?.memories[0] ?? {};
  const row = page.locator(`[data-memory=${id}]`);
  await expect.poll(() => row.innerText()).toContain(`score ${score?.toFixed(2)} · worked by tests-passed`);
  await row.getByRole("button", { name: "failed" }).click();
  await page.getByText("Noted: it failed.").waitFor();
  await expect.poll(() => row.innerText()).toContain("failed by user");
  const after = (await listed()).turns.find(({ agent }) => agent === "pi")?.memories.find((one) => one.id === id);
  expect(after?.outcomes.map(({ outcome, by }) => `${outcome} ${by}`)).toEqual(["worked tests-passed", "failed user"]);
  expect(await row.innerText()).toContain(`score ${after?.score?.toFixed(2)}`);
  // HTML in a memory is shown as plain text.
  await visit(page, "#/turns?conversation=claude-code%2F1", "Turns of claude-code/1");
  await page.getByText("onerror").waitFor();
  expect(await page.locator("main").innerText()).toContain("<img src=x onerror=alert(1)>");
  expect(await page.locator("main").innerText()).toContain("user⟨U+202E⟩txt.exe");
  expect(await page.locator("main img, main script").count()).toBe(0);
  const reader = await openPage(browser, palace, { role: "reader" });
  await visit(reader, "#/turns?conversation=pi%2F1", "Turns of pi/1");
  await reader.locator(`[data-memory=${id}]`).waitFor();
  expect(await reader.getByRole("button", { name: "failed" }).count()).toBe(0);
  expect([...page.complaints, ...reader.complaints]).toEqual([]);
});

test("a removed memory is marked as removed, and another profile's turns are not listed", async () => {
  await using palace = await worked();
  const client = await clientOf(palace, "pi");
  await client.call("turn.begin", { conversation: "pi/1", prompt: "and?", profile: "work" } as never);
  client.close();
  const [{ memories } = { memories: [] }] = (await json<TurnPage>(palace, "outcome", "turns", "pi/1")).turns;
  const [gone] = memories;
  await palace.run("palace", ["outcome", "forget", gone?.id ?? ""]);
  const after = await json<TurnPage>(palace, "outcome", "turns");
  expect(after.turns.map(({ conversation }) => conversation).toSorted()).toEqual(["claude-code/1", "pi/1"]);
  const page = await openPage(browser, palace);
  await visit(page, "#/turns?conversation=pi%2F1", "Turns of pi/1");
  await page.getByText("was removed since").waitFor();
  expect(page.complaints).toEqual([]);
});

test("the page draws the share of memories that helped by week and agent, with the numbers that `palace outcome stats` prints", async () => {
  await using palace = await worked();
  const ledger = new Database(palace.config.paths.ledgerFile);
  ledger.pragma("busy_timeout = 10000");
  ledger.prepare("UPDATE conversation SET at_ms = at_ms - ? WHERE agent = 'claude-code'").run(7 * DAY_MS);
  ledger.close();
  const { helped = [] } = await json<MemoryStats>(palace, "outcome", "stats");
  const { turns } = await json<TurnPage>(palace, "outcome", "turns");
  const shownTo = (name: string) => turns.find(({ agent }) => agent === name)?.memories.length ?? 0;
  const [first, second] = [shownTo("claude-code"), shownTo("pi")];
  expect(helped).toMatchObject([
    { agent: "claude-code", shown: first, worked: 0, partial: 0, failed: 0 },
    { agent: "pi", shown: second, worked: second, partial: 0, failed: 0 },
  ]);
  for (const { week } of helped) expect(new Date(week).getUTCDay()).toBe(1);
  const page = await openPage(browser, palace);
  await visit(page, "#/turns", "Turns");
  const cells = () => page.locator("[data-curve='Share that helped'] tr").allInnerTexts();
  await expect
    .poll(async () => (await cells()).map((row) => row.split(/\s*\t\s*/)))
    .toEqual([
      ["From", "claude-code", "pi"],
      [helped[0]?.week, "0 %", "–"],
      [helped[1]?.week, "–", "100 %"],
    ]);
  expect(await page.locator("[data-number=helped]").innerText()).toBe(
    `${first + second} memories shown: ${second} worked, 0 partial, 0 failed.`,
  );
  expect(await page.locator("[data-curve] circle").count()).toBe(2);
  expect(page.complaints).toEqual([]);
});
