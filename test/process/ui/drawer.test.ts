import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DRAWER_SIZE_MAX } from "../../../src/protocol/limits.ts";
import { openBrowser, openPage, type SeenPage, seriousFindings, json, visit } from "../../helpers/browser.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser.close());

const SECRET = "ghp_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789";
const HOSTILE = [
  "<img src=x onerror=alert(1)><script>alert(2)</script>",
  "[click](javascript:alert(3)) </pre></body>",
  "user\u202Etxt.exe\u2066 ends here",
].join("\n");

async function filled(...more: string[]): Promise<TestPalace & { ids: string[] }> {
  const palace = createTestPalace();
  await palace.startBroker();
  const client = await palace.client();
  const ids: string[] = [];
  for (const content of ["We deploy the shop on Fridays.", "The spare key hangs behind the door.", ...more]) {
    const added = await client.callTool("mempalace_add_drawer", { wing: "me", room: "notes", content });
    ids.push(String((added as { drawer_id: unknown }).drawer_id));
  }
  client.close();
  return Object.assign(palace, { ids });
}

const press = (page: SeenPage, name: string): Promise<void> =>
  page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

test("the page's search shows the same hits in the same order as `palace search`, with marked words and an explanation of the score", async () => {
  await using palace = await filled("Nothing here is about ships.", "The shop is closed on Sundays.");
  const page = await openPage(browser, palace);
  await page.getByRole("link", { name: "Search" }).click();
  await page.getByLabel("What to look for").fill("when do we deploy the shop");
  await page.keyboard.press("Enter");
  await page.locator(".hits a").first().waitFor();
  type Hit = { drawer_id: string; score: number; weak?: boolean };
  const question = ["search", "when do we deploy the shop", "--limit", "20", "--scope", "all"];
  const { results } = await json<{ results: Hit[] }>(palace, ...question);
  const links = await page.locator(".hits h3 a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  const order = [...results.filter(({ weak }) => weak !== true), ...results.filter(({ weak }) => weak === true)];
  expect(links).toEqual(order.map(({ drawer_id: id }) => `#/drawer?id=${id}`));
  expect(await page.locator(".hits mark").first().innerText()).toBe("deploy");
  await page.locator(".hits summary").first().click();
  await page.locator(".why .bar i").first().waitFor();
  expect(await page.locator(".hits summary").first().innerText()).toContain(order[0]?.score.toFixed(2));
  expect(page.complaints).toEqual([]);
});

test("a hit in the page shows its file, and a hit whose note was replaced links to the newer note", async () => {
  await using palace = await filled("We deploy the shop on Tuesdays now.");
  const client = await palace.client();
  const filed = {
    wing: "docs",
    room: "r",
    content: "The harbour opens at nine.",
    source_file: "/srv/guide/harbour.md",
  };
  await client.callTool("mempalace_add_drawer", filed);
  client.close();
  const page = await openPage(browser, palace);
  await visit(page, "#/search?q=when%20does%20the%20harbour%20open", "Search");
  await expect.poll(() => page.locator(".hits small").first().innerText()).toContain("guide/harbour.md");
  await page.getByLabel("What to look for").fill("when do we deploy the shop");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "A newer statement" }).click();
  await page.getByRole("heading", { name: "We deploy the shop on Tuesdays now.", level: 1 }).waitFor();
  expect(page.complaints).toEqual([]);
});

test("an owner edits, moves, deletes and undoes by clicks, and the ledger has each change", async () => {
  await using palace = await filled();
  const [id = ""] = palace.ids;
  const page = await openPage(browser, palace);
  const shown = () => json<{ content: string; wing: string; room: string }>(palace, "show", id);
  await visit(page, `#/drawer?id=${id}`, "We deploy the shop on Fridays.");

  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Text").fill("We deploy the shop on Mondays.");
  await press(page, "Save");
  await page.getByRole("heading", { name: "We deploy the shop on Mondays.", level: 1 }).waitFor();
  expect((await shown()).content).toBe("We deploy the shop on Mondays.");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { name: "We deploy the shop on Fridays.", level: 1 }).waitFor();
  expect((await shown()).content).toBe("We deploy the shop on Fridays.");

  await page.getByRole("button", { name: "Move" }).click();
  await page.getByRole("dialog").getByLabel("Wing").fill("shop");
  await press(page, "Move");
  await page.getByText("Moved to shop / notes.").waitFor();
  expect(await shown()).toMatchObject({ wing: "shop", room: "notes" });

  await page.getByRole("button", { name: "Delete" }).click();
  await press(page, "Delete");
  await page.getByText("Deleted.").waitFor();
  const gone = await palace.run("palace", ["show", id]);
  expect(gone.code).not.toBe(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone: 1 change.").waitFor();
  expect((await shown()).wing).toBe("shop");

  const { entries } = await json<{ entries: { agent: string; door: string; method: string }[] }>(palace, "history");
  const ours = entries.filter(({ agent }) => agent === "ui:page");
  expect(ours.map(({ method, door }) => `${method} ${door}`)).toEqual(
    expect.arrayContaining(["update_drawer ui", "delete_drawer ui"]),
  );
  expect(page.complaints).toEqual([]);
});

test("Undo uses the broker's clock, and a dialog does not act on another drawer after Back", async () => {
  await using palace = await filled();
  const [shop = "", key = ""] = palace.ids;
  const page = await openPage(browser, palace);
  await page.clock.setSystemTime(Date.now() - 3_600_000);
  await visit(page, `#/drawer?id=${shop}`, "We deploy the shop on Fridays.");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Text").fill("We deploy the shop on Mondays.");
  await press(page, "Save");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone: 1 change.").waitFor();

  await visit(page, `#/drawer?id=${key}`, "The spare key hangs behind the door.");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("dialog").getByLabel("Text").fill("A text for the key.");
  await page.goBack();
  await page.getByRole("heading", { name: "We deploy the shop on Fridays.", level: 1 }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(page.complaints).toEqual([]);
});

test("older writes in the page's history stay visible while another client writes", async () => {
  await using palace = await filled(...Array.from({ length: 60 }, (_, at) => `note ${at}`));
  const page = await openPage(browser, palace);
  await visit(page, "#/history", "History");
  await page.getByRole("button", { name: "Show older writes" }).click();
  await expect.poll(() => page.locator(".history li").count()).toBe(62);
  await palace.run("palace", ["add", "a later note"]);
  await page.waitForTimeout(4_000);
  expect(await page.locator(".history li").count()).toBe(62);
});

test("erasing a note permanently says which other places contain the text, and erases only this drawer", async () => {
  await using palace = await filled("Copied: The spare key hangs behind the door. Keep it there.");
  const [, id = "", copy = ""] = palace.ids;
  const page = await openPage(browser, palace);
  await visit(page, `#/drawer?id=${id}`, "The spare key hangs behind the door.");
  await page.getByRole("button", { name: "Erase permanently" }).click();
  await page.getByText("The text is also in 1 other drawer").waitFor();
  // The page cannot reach spooled writes and staged copies, so it gives the command that does.
  const [, command = ""] =
    /type (palace forget \S+) on that machine/.exec(await page.getByRole("dialog").innerText()) ?? [];
  expect(command).toBe(`palace forget ${id}`);
  await press(page, "Erase permanently");
  await page.getByText("Erased 1 drawer permanently.").waitFor();
  expect((await palace.run("palace", ["show", id])).code).not.toBe(0);
  expect((await json<{ content: string }>(palace, "show", copy)).content).toContain("Keep it there.");
  expect(page.complaints).toEqual([]);
});

test("the page's history undoes one write of another client, after a preview", async () => {
  await using palace = await filled();
  const page = await openPage(browser, palace);
  await visit(page, "#/history", "History");
  const { entries } = await json<{ entries: object[] }>(palace, "history");
  await expect.poll(() => page.locator(".history li").count()).toBe(entries.length);
  await page.locator(".history li", { hasText: "spare key" }).getByRole("button", { name: "Undo" }).click();
  await page.getByText("1 addition to remove").waitFor();
  await press(page, "Undo");
  await page.getByText("Undone: 1 change.").waitFor();
  const after = await json<{ entries: { method: string; arguments: object }[] }>(palace, "history");
  expect(after.entries[0]).toMatchObject({ method: "memory.undo", arguments: { seq: expect.any(Number) as number } });
  expect((await palace.run("palace", ["show", palace.ids[1] ?? ""])).code).not.toBe(0);
  expect((await palace.run("palace", ["show", palace.ids[0] ?? ""])).code).toBe(0);
  expect(page.complaints).toEqual([]);
});

test("a hostile note is shown as plain text, a secret is masked, and an edit keeps the secret", async () => {
  await using palace = await filled(HOSTILE, `the token of the bot is ${SECRET}`);
  const [, , hostile = "", secret = ""] = palace.ids;
  const page = await openPage(browser, palace);
  await visit(page, `#/drawer?id=${hostile}`, "<img src=x");
  const text = await page.locator(".text pre").innerText();
  expect(text).toContain("<img src=x onerror=alert(1)><script>alert(2)</script>");
  expect(text).toContain("user⟨U+202E⟩txt.exe⟨U+2066⟩");
  expect(await page.locator("main img, main script").count()).toBe(0);
  await visit(page, "#/search?q=click%20onerror", "Search");
  await page.locator(".hits mark").first().waitFor();

  await visit(page, `#/drawer?id=${secret}`, "the token of the bot");
  expect(await page.content()).not.toContain(SECRET);
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.getByRole("dialog").getByLabel("Text");
  await expect.poll(() => field.inputValue()).toContain(SECRET);
  await field.fill(`the token of our bot is ${SECRET}`);
  await press(page, "Save");
  await page.getByText("Changed.").waitFor();
  const whole = await json<{ content: string }>(palace, "show", secret, "--unmask");
  expect(whole.content).toBe(`the token of our bot is ${SECRET}`);
  expect(page.complaints).toEqual([]);
});

test("the longest note is first shown in part, and whole after a click", async () => {
  await using palace = await filled();
  const client = await palace.client();
  const content = "a long line of the log\n".repeat(DRAWER_SIZE_MAX / 23);
  const added = await client.callTool("mempalace_add_drawer", { wing: "me", room: "logs", content });
  client.close();
  const { drawer_id: id } = added as { drawer_id: string };
  const page = await openPage(browser, palace);
  await visit(page, `#/drawer?id=${id}`, "a long line of the log");
  const size = () => page.locator(".text pre").evaluate((pre) => pre.textContent?.length ?? 0);
  expect(await size()).toBe(20_000);
  await page.getByRole("button", { name: /Show all/ }).click();
  await expect.poll(size).toBeGreaterThan(DRAWER_SIZE_MAX - 100);
  expect(page.complaints).toEqual([]);
});

test("a page with the role agent can add notes but not change any, and a page with the role reader can only read", async () => {
  await using palace = await filled();
  const [id = ""] = palace.ids;
  const page = await openPage(browser, palace, { role: "agent" });
  await visit(page, `#/drawer?id=${id}`, "We deploy the shop on Fridays.");
  expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
  await page.getByRole("button", { name: "Add a note" }).click();
  await page.getByRole("dialog").getByLabel("Wing").fill("me");
  await page.getByRole("dialog").getByLabel("Text").fill("added by a click");
  await press(page, "Add");
  await page.getByText("Added.").waitFor();
  const { drawers } = await json<{ drawers: { content_preview: string }[] }>(palace, "ls", "--recent");
  expect(drawers[0]?.content_preview).toBe("added by a click");
  const reader = await openPage(browser, palace, { role: "reader" });
  expect(await reader.getByRole("button", { name: "Add a note" }).count()).toBe(0);
  expect(await reader.getByRole("link", { name: "History" }).count()).toBe(0);
  expect([...page.complaints, ...reader.complaints]).toEqual([]);
});

test("the owner's score of a memory replaces an agent's score by a click, and another click undoes it", async () => {
  await using palace = await filled();
  const client = await palace.client();
  await client.callTool("record_response" as never, { key_takeaway: "The boiler wants two bar" } as never);
  const { memories } = await client.call("outcome.search", { query: "The boiler wants two bar", limit: 1 });
  const id = memories[0]?.id ?? expect.fail("nothing was kept");
  await client.callTool("score_memories" as never, { outcome: "unknown", memory_scores: { [id]: "failed" } } as never);
  client.close();
  type Why = { drawer: string; score: number; uses: number; outcomes: { outcome: string; by: string }[] };
  const why = () => json<Why>(palace, "outcome", "why", id);
  const before = await why();
  const page = await openPage(browser, palace);
  await visit(page, `#/drawer?id=${before.drawer}`, "The boiler wants two bar");
  const score = page.locator("[data-number=score]");
  await expect.poll(() => score.innerText()).toBe(`score ${before.score.toFixed(2)} after 1 use`);
  await page.getByRole("button", { name: "worked" }).click();
  await page.getByText("Noted: it worked.").waitFor();
  const after = await why();
  expect(after).toMatchObject({ score: 0.7, uses: 1 });
  expect(after.outcomes.at(-1)).toMatchObject({ outcome: "worked", by: "user" });
  await expect.poll(() => score.innerText()).toBe("score 0.70 after 1 use");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone: 1 change.").waitFor();
  expect((await why()).score).toBe(before.score);
  expect(page.complaints).toEqual([]);
});

test("axe finds no serious accessibility fault in search, a drawer, its dialogs and the history", async () => {
  await using palace = await filled();
  const [id = ""] = palace.ids;
  for (const colorScheme of ["light", "dark"] as const) {
    const options = { colorScheme, viewport: { width: 360, height: 740 }, bypassCSP: true };
    const page = await openPage(browser, palace, options);
    await visit(page, "#/search?q=deploy", "Search");
    await page.locator(".hits summary").first().click();
    expect(await seriousFindings(page), "search").toEqual([]);
    await visit(page, "#/history", "History");
    await page.locator(".history li").first().waitFor();
    expect(await seriousFindings(page), "history").toEqual([]);
    await visit(page, `#/drawer?id=${id}`, "We deploy the shop on Fridays.");
    expect(await seriousFindings(page), "drawer").toEqual([]);
    for (const name of ["Edit", "Move", "Delete", "Erase permanently"]) {
      await page.getByRole("button", { name }).click();
      expect(await seriousFindings(page), name).toEqual([]);
      await page.keyboard.press("Escape");
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    }
    await page.context().close();
  }
});
