import { chmodSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, openPage, type SeenPage, json } from "../../helpers/browser.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser.close());

async function started(): Promise<TestPalace> {
  const palace = createTestPalace();
  await palace.startBroker();
  return palace;
}

async function visit(page: SeenPage, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
}

async function slideTo(page: SeenPage, day: string): Promise<void> {
  const set = (input: unknown, value: number): void => {
    Object.assign(input as object, { value: String(value) });
    (input as { dispatchEvent(event: Event): void }).dispatchEvent(new Event("input", { bubbles: true }));
  };
  await page.locator("input[type=range]").evaluate(set, Date.parse(day));
}

test("the page shows the facts that the tools return, and its slider shows the facts that were valid on a day", async () => {
  await using palace = await started();
  const client = await palace.client();
  const facts = [
    { subject: "Ann", predicate: "works_at", object: "Acme", valid_from: "2024-01-01", valid_to: "2025-06-01" },
    { subject: "Ann", predicate: "works_at", object: "Beta", valid_from: "2025-06-01" },
    { subject: "Ann", predicate: "lives_in", object: "Bonn" },
    { subject: "Ann", predicate: "lives_in", object: "Rome" },
    { subject: "Beta", predicate: "has_office_in", object: "Paris" },
  ];
  for (const fact of facts) await client.callTool("mempalace_kg_add", fact);
  client.close();
  const page = await openPage(browser, palace);
  await visit(page, "#/facts");
  const { triples } = await json<{ triples: number }>(palace, "call", "kg_stats");
  await expect.poll(() => page.locator("[data-number=facts]").allInnerTexts()).toEqual([`${triples} facts`]);
  await page.getByRole("list", { name: "Facts" }).getByRole("link", { name: "Ann" }).first().click();
  await expect.poll(() => page.locator(".fact").count()).toBe(4);
  expect(await page.getByText("another value holds, too").count()).toBe(2);
  expect(await page.locator(".fact.ended").innerText()).toContain("Acme");
  // The drawing has the entities of the list and their further neighbours, and shows the state of each fact.
  const drawn = page.locator("[data-graph=Ann] a");
  await expect.poll(() => drawn.allTextContents()).toEqual(expect.arrayContaining(["ParisParis"]));
  expect((await drawn.allTextContents()).sort()).toEqual(
    ["AnnAnn", "AcmeAcme", "BetaBeta", "BonnBonn", "ParisParis", "RomeRome"].sort(),
  );
  expect(await page.locator(".edge.doubtful").count()).toBe(2);
  expect(await page.locator(".edge.ended").allTextContents()).toEqual([expect.stringContaining("Acme")]);
  await slideTo(page, "2024-12-24");
  await expect.poll(() => page.locator(".fact", { hasText: "works at" }).allInnerTexts()).toHaveLength(1);
  expect(await page.locator(".fact", { hasText: "works at" }).innerText()).toContain("Acme");
  expect(await page.locator("[data-graph=Ann] .edge").allTextContents()).toEqual([
    expect.stringContaining("Acme"),
    expect.stringContaining("Bonn"),
    expect.stringContaining("Rome"),
  ]);
  await page.getByRole("button", { name: "All times" }).click();
  await expect.poll(() => page.locator(".fact").count()).toBe(4);
  await page.locator("[data-graph=Ann] a", { hasText: "Beta" }).click();
  await page.locator("[data-graph=Beta]").waitFor();
  expect(page.complaints).toEqual([]);
});

test("an entity of 10,000 facts is drawn with at most 25 entities, and its facts are loaded in pages of a hundred", async () => {
  await using palace = await started();
  const client = await palace.client();
  const add = (at: number) =>
    client.callTool("mempalace_kg_add", { subject: "Hub", predicate: "knows", object: `Person ${at}` });
  for (let from = 0; from < 10_000; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, at) => add(from + at)));
  client.close();
  const page = await openPage(browser, palace);
  const limits: number[] = [];
  page.on("request", (request) => {
    const body = request.postData() ?? "";
    if (body.includes("kg_timeline")) limits.push(Number(/"limit":(\d+)/.exec(body)?.[1]));
  });
  await visit(page, "#/facts?entity=Hub");
  await expect.poll(() => page.getByRole("button", { name: "Show more of 10,000" }).count()).toBe(1);
  await page.getByText("10 of 100 neighbours are drawn").waitFor();
  expect(await page.locator("[data-graph=Hub] a").count()).toBeLessThanOrEqual(25);
  // An entity with many values of one predicate does not count as contradictory.
  expect(await page.locator(".edge.doubtful").count()).toBe(0);
  expect(Number(await page.evaluate("document.querySelectorAll('main *').length"))).toBeLessThan(1_500);
  expect(Math.max(...limits)).toBe(100);
  expect(page.complaints).toEqual([]);
});

test("a wing shows its tunnels and hallways when somebody opens them", async () => {
  await using palace = await started();
  const client = await palace.client();
  for (const wing of ["shop", "blog"])
    await client.callTool("mempalace_add_drawer", { wing, room: "ideas", content: `an idea of ${wing}` });
  const link = {
    source_wing: "shop",
    source_room: "ideas",
    target_wing: "blog",
    target_room: "ideas",
    label: "same pump",
  };
  await client.callTool("mempalace_create_tunnel", link);
  client.close();
  const page = await openPage(browser, palace);
  await visit(page, "#/place?wing=shop");
  await page.getByText("Tunnels and hallways").click();
  const tunnels = await json<unknown[]>(palace, "call", "list_tunnels", '{"wing":"shop"}');
  await expect.poll(() => page.locator("[data-number=tunnels]").allInnerTexts()).toEqual([`${tunnels.length} tunnel`]);
  expect(await page.locator(".links li").innerText()).toBe("shop / ideas ↔ blog / ideas same pump");
  const hallways = await json<{ total: number }>(palace, "call", "list_hallways", '{"wing":"shop"}');
  expect(await page.locator("[data-number=hallways]").innerText()).toBe(`${hallways.total} hallways`);
  await page.locator(".links li").getByRole("link", { name: "blog / ideas" }).click();
  await page.getByRole("heading", { level: 1, name: "ideas 1 drawer" }).waitFor();
  expect(page.complaints).toEqual([]);
});

test("a quick scroll through a long list asks for one page at a time, and then shows the rows where the scroll ended", async () => {
  await using palace = await started();
  const client = await palace.client();
  const add = (at: number) =>
    client.callTool("mempalace_add_drawer", { wing: "long", room: "list", content: `note ${at}` });
  for (let from = 0; from < 3_000; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, at) => add(from + at)));
  client.close();
  const page = await openPage(browser, palace);
  let [asked, underWay, most] = [0, 0, 0];
  // Delays the answers, so that they arrive after the scroll.
  await page.route("**/ui/rpc", async (route) => {
    const isList = (route.request().postData() ?? "").includes('"drawer.list"');
    if (isList) [asked, underWay, most] = [asked + 1, underWay + 1, Math.max(most, underWay + 1)];
    await new Promise((resolve) => setTimeout(resolve, isList ? 300 : 0));
    if (isList) underWay -= 1;
    await route.continue();
  });
  await visit(page, "#/place?wing=long&room=list");
  const list = page.getByRole("list", { name: "Drawers" });
  await expect.poll(() => list.getByRole("link").count()).toBeGreaterThan(5);
  asked = 0;
  for (let at = 1; at <= 30; at++)
    await page.locator(".long").evaluate((box, to) => void Object.assign(box, { scrollTop: to }), at * 6_400);
  const last = list.getByRole("listitem").last();
  await expect.poll(() => last.getAttribute("aria-posinset")).toBe("3000");
  await expect.poll(() => last.getByRole("link").count()).toBe(1);
  expect(most).toBe(1);
  expect(asked).toBeLessThan(15);
  expect(page.complaints).toEqual([]);
});

test("the page's diary has entries of all agents", async () => {
  await using palace = await started();
  const client = await palace.client();
  for (const agent of ["Claude", "pi"])
    await client.callTool("mempalace_diary_write", { agent_name: agent, entry: `${agent} fixed the queue.` });
  client.close();
  const page = await openPage(browser, palace);
  await visit(page, "#/diary");
  const entries = page.getByRole("list", { name: "Diary entries" }).getByRole("link");
  await expect.poll(() => entries.count()).toBe(2);
  expect(await entries.first().innerText()).toContain("pi fixed the queue.");
  expect(page.complaints).toEqual([]);
});

test("a click starts a backup; the page lists it with its age, verifies it, and compares it with the memory as the command does", async () => {
  await using palace = await started();
  await palace.run("palace", ["add", "a note"]);
  const page = await openPage(browser, palace);
  await visit(page, "#/care");
  const file = join(palace.home, "backup.tar");
  await page.getByLabel("File on the broker's machine").fill(file);
  await page.getByRole("button", { name: "Back up" }).click();
  await page.locator("[data-job=done]", { hasText: "backup" }).waitFor();
  expect(statSync(file).size).toBeGreaterThan(1_000);
  expect((await palace.run("palace", ["backup", "verify", file])).code).toBe(0);

  // The backup has one drawer; the memory has two by now.
  await palace.run("palace", ["add", "a later note"]);
  const row = page.locator(`[data-backup="${file}"]`);
  await expect.poll(() => row.innerText()).toContain("0 minutes ago");
  await row.getByRole("button", { name: "Verify" }).click();
  await row.locator("[data-number=restore]").waitFor();
  type Preview = { counts: Counts; before: Counts };
  type Counts = { drawers: number; facts: number };
  const dry = await json<Preview>(palace, "backup", "restore", file, "--dry-run", "--json");
  expect([dry.counts.drawers, dry.before.drawers]).toEqual([1, 2]);
  const rows = ({ drawers, facts }: Counts) => `${drawers} drawer row${drawers === 1 ? "" : "s"} and ${facts} facts`;
  const said = await row.locator("[data-number=restore]").innerText();
  expect(said).toContain(`A restore would bring ${rows(dry.counts)}; the memory had ${rows(dry.before)}`);
  const { jobs } = await json<{ jobs: { kind: string; state: string }[] }>(palace, "jobs", "--json");
  expect(jobs.map(({ kind, state }) => `${kind} ${state}`)).toEqual(["backup done", "verify done"]);

  // After the file was replaced, the page does not show the numbers of the old file.
  expect((await palace.run("palace", ["backup", file, "--force"])).code).toBe(0);
  await expect.poll(() => row.locator("[data-number=restore]").count()).toBe(0);
  expect(page.complaints).toEqual([]);
});

test("a click cancels a running job", async () => {
  await using palace = createTestPalace();
  // An export needs vectors, and a Chroma that never answers keeps it running.
  await palace.startBroker({ MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
  await palace.run("palace", ["add", "a note"]);
  const client = await palace.client();
  const isEmbedded = async (): Promise<boolean> => {
    const { search } = await client.call("palace.status", {});
    return search.modelState === "ready" && search.pending === 0;
  };
  await expect.poll(isEmbedded, { timeout: 30_000 }).toBe(true);
  client.close();
  const chroma = join(palace.home, "chroma");
  writeFileSync(chroma, "#!/bin/sh\nexec sleep 600\n");
  chmodSync(chroma, 0o755);
  const exporting = palace.run("palace", ["export", join(palace.home, "out"), "--chroma", chroma]);
  const running = async (): Promise<number> => {
    const { jobs } = await json<{ jobs: { state: string }[] }>(palace, "status", "jobs", "--json");
    return jobs.filter(({ state }) => state === "running").length;
  };
  await expect.poll(running, { timeout: 30_000 }).toBe(1);
  const page = await openPage(browser, palace);
  await visit(page, "#/care");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("[data-job=cancelled]", { hasText: "export" }).waitFor();
  expect((await exporting).code).not.toBe(0);
  expect(await running()).toBe(0);
  expect(page.complaints).toEqual([]);
});
