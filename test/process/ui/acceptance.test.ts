/**
 * Tests the page with 20,000 drawers from the real miners and from agents' turns. Broker and browser are in a network namespace without a
 * route.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { MemoryStats, TurnPage } from "../../../src/protocol/outcome.ts";
import type { StatsReport, StatusReport } from "../../../src/protocol/spec.ts";
import { bytes, count, plural } from "../../../src/ui/words.ts";
import { Corpus } from "../../bench/corpus.ts";
import { json, openBrowser, openPage, type SeenPage, seriousFindings } from "../../helpers/browser.ts";
import { type Offline, openOffline } from "../../helpers/offline.ts";
import { agentOf, ask } from "../../helpers/outcome-agent.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

const DRAWERS = 20_000;
const PROJECTS = 4;
const DOCUMENTS = 75;
/** Characters of a document. The miner makes about 68 drawers of it. */
const DOCUMENT_SIZE = 45_000;
const TALKS = 20;
const EXCHANGES = 60;
const HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> user\u202Etxt.exe\u2066 of the pump";
/** Maximum numbers of rows: in a list of the page, in an answer, and in an answer with today's journal. */
const ROWS_MAX = 60;
const PAGE_MAX = 100;
const JOURNAL_PAGE_MAX = 500;

let offline: Offline;
let palace: TestPalace;
let browser: Browser;

beforeAll(async () => {
  offline = await openOffline();
  palace = createTestPalace({ within: offline.within });
  await palace.startBroker();
  await fill();
  browser = await openBrowser((chromium) => {
    const file = join(palace.home, "chromium");
    writeFileSync(file, `#!/bin/sh\nexec ${[...offline.within, chromium].join(" ")} "$@"\n`, { mode: 0o755 });
    return file;
  });
});

afterAll(async () => {
  await browser.close();
  await palace[Symbol.asyncDispose]();
  await offline[Symbol.asyncDispose]();
});

/** Mines projects and sessions, and lets agents work: turns with outcomes, facts, diaries, notes. */
async function fill(): Promise<void> {
  const corpus = new Corpus(36);
  for (let project = 0; project < PROJECTS; project++) {
    const folder = join(palace.home, `project-${project}`);
    mkdirSync(join(folder, "docs"), { recursive: true });
    for (let at = 0; at < DOCUMENTS; at++)
      writeFileSync(join(folder, "docs", `page-${at}.md`), `# Page ${at}\n\n${corpus.text(DOCUMENT_SIZE)}\n`);
    await mine("docs", folder);
  }
  const sessions = join(palace.home, ".claude/projects/-srv-shop");
  mkdirSync(sessions, { recursive: true });
  for (let talk = 0; talk < TALKS; talk++) writeFileSync(join(sessions, `talk-${talk}.jsonl`), talkOf(corpus, talk));
  await mine("sessions", "--from", "claude-code");
  await work();
}

async function mine(...args: string[]): Promise<void> {
  const { code, stderr } = await palace.run("palace", ["mine", ...args, "--json"]);
  expect(code, stderr).toBe(0);
}

function talkOf(corpus: Corpus, talk: number): string {
  const line = (role: string, text: string, at: number): string =>
    JSON.stringify({
      type: role,
      sessionId: `talk-${talk}`,
      cwd: "/srv/shop",
      timestamp: new Date(Date.UTC(2026, talk % 11, 1 + (at % 28), 9)).toISOString(),
      message: { role, content: text },
    });
  const exchange = (at: number): string =>
    `${line("user", `question ${at}: ${corpus.text(200)}?`, at)}\n${line("assistant", corpus.text(500), at)}\n`;
  return Array.from({ length: EXCHANGES }, (_, at) => exchange(at)).join("");
}

async function work(): Promise<void> {
  await using agent = await agentOf(palace);
  await ask(agent, "record_response", { key_takeaway: `The boiler wants two bar. ${HOSTILE}` });
  const client = await palace.client();
  for (const name of ["claude-code/1", "pi/1", "pi/2"]) {
    const user = "how much pressure does the boiler want?";
    await client.call("turn.begin", { conversation: name, prompt: user });
    await client.call("turn.end", { conversation: name, user, assistant: "Two bar.", signals: ["tests-passed"] });
  }
  for (const city of ["Bonn", "Rome"])
    await client.callTool("mempalace_kg_add", { subject: "Ann", predicate: "lives_in", object: city });
  await client.callTool("mempalace_kg_add", { subject: HOSTILE, predicate: "runs", object: "Ann" });
  await client.callTool("mempalace_diary_write", { agent_name: "pi", entry: `Today: ${HOSTILE}` });
  const big = `${HOSTILE}\n${"a long line of the log\n".repeat(44_000)}`;
  for (const content of [HOSTILE, big])
    await client.callTool("mempalace_add_drawer", { wing: "me", room: "logs", content });
  client.close();
}

/** View of the page. `at`: its address. `numbers` returns the numbers that the view must show, by name, as the commands print them. */
type View = { at: string; numbers: () => Promise<Record<string, string>> };

type Counts = Record<string, number>;

function largest(places: Counts): [name: string, drawers: number] {
  return Object.entries(places).toSorted(([, a], [, b]) => b - a)[0] ?? ["", 0];
}

async function views(): Promise<View[]> {
  const { wings } = await json<{ wings: Counts }>(palace, "ls");
  const [wing, inWing] = largest(wings);
  const [room, inRoom] = largest((await json<{ rooms: Counts }>(palace, "ls", wing)).rooms);
  const facts = async (): Promise<string> =>
    plural((await json<{ triples: number }>(palace, "call", "kg_stats")).triples, "fact");
  return [
    { at: "#/", numbers: homeNumbers },
    { at: `#/place?wing=${wing}`, numbers: async () => ({ here: plural(inWing, "drawer") }) },
    { at: `#/place?wing=${wing}&room=${room}`, numbers: async () => ({ here: plural(inRoom, "drawer") }) },
    { at: "#/search?q=boiler+pressure", numbers: searchNumbers },
    { at: "#/turns", numbers: turnNumbers },
    { at: "#/facts", numbers: async () => ({ facts: await facts() }) },
    {
      at: "#/facts?entity=Ann",
      numbers: async () => {
        const { total } = await json<{ total: number }>(palace, "call", "kg_timeline", '{"entity":"Ann"}');
        return { facts: await facts(), shown: plural(total, "fact") };
      },
    },
    { at: "#/diary", numbers: async () => ({}) },
    { at: "#/history", numbers: async () => ({}) },
    { at: "#/care", numbers: careNumbers },
  ];
}

async function homeNumbers(): Promise<Record<string, string>> {
  const { wings } = await json<{ wings: Counts }>(palace, "ls");
  const rooms = await Promise.all(
    Object.keys(wings).map(async (wing) => (await json<{ rooms: Counts }>(palace, "ls", wing)).rooms),
  );
  const { entries } = await json<{ entries: unknown[] }>(palace, "history", "--limit", String(JOURNAL_PAGE_MAX));
  const { growth } = await json<StatsReport>(palace, "stats");
  const last = growth?.periods.at(-1);
  const status = await json<StatusReport>(palace, "status");
  return {
    drawers: count(status.drawers),
    wings: count(status.wings),
    rooms: count(rooms.flatMap((one) => Object.keys(one)).length),
    size: bytes(status.ledgerSizeBytes),
    // Leaves out the status command's own connection.
    peers: count(status.peers - 1),
    acknowledged: count(status.queue.acknowledged),
    today: plural(entries.length, "write"),
    growth: `${plural(last?.total ?? 0, "drawer")}, ${count(last?.filed ?? 0)} of them filed in the ${growth?.unit} ${last?.begins}`,
  };
}

async function searchNumbers(): Promise<Record<string, string>> {
  const { results } = await json<{ results: { weak?: boolean }[] }>(palace, "search", "boiler pressure");
  const hits = results.filter(({ weak }) => weak !== true).length;
  return { hits: `${plural(hits, "hit")}, the best first.` };
}

async function turnNumbers(): Promise<Record<string, string>> {
  const { helped = [] } = await json<MemoryStats>(palace, "outcome", "stats");
  const sum = (part: "shown" | "worked" | "partial" | "failed"): number =>
    helped.reduce((all, week) => all + week[part], 0);
  const memories = plural(sum("shown"), "memory", "memories");
  return {
    helped: `${memories} shown: ${sum("worked")} worked, ${sum("partial")} partial, ${sum("failed")} failed.`,
  };
}

async function careNumbers(): Promise<Record<string, string>> {
  const { totals } = await json<{ totals: { waiting: number; refused: number } }>(palace, "spool");
  return { spool: `${count(totals.waiting)} waiting, ${count(totals.refused)} refused` };
}

async function go(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.locator("main h1").first().waitFor();
}

async function shown(page: Page): Promise<Record<string, string>> {
  const read = (elements: unknown[]): [string, string][] =>
    (elements as { dataset: { number: string }; innerText: string }[]).map((one) => [
      one.dataset.number,
      one.innerText.trim(),
    ]);
  return Object.fromEntries(await page.locator("[data-number]").evaluateAll(read));
}

type Asked = { method: string; limit: number };

/** Collects the method and limit of each request that the page sends to the broker. */
function watch(page: SeenPage): Asked[] {
  const asked: Asked[] = [];
  page.on("request", (request) => {
    const body = request.postData() ?? "";
    const method = /"method":"([^"]+)"/.exec(body)?.[1] ?? "";
    for (const [, limit] of body.matchAll(/"limit":(\d+)/g)) asked.push({ method, limit: Number(limit) });
  });
  return asked;
}

test("every view shows the same numbers as the commands, without a route to any network", async () => {
  expect(offline.routes() ?? "").toBe("");
  const { drawers } = await json<StatusReport>(palace, "status");
  expect(drawers).toBeGreaterThanOrEqual(DRAWERS);
  const page = await openPage(browser, palace);
  const asked = watch(page);
  const { turns } = await json<TurnPage>(palace, "outcome", "turns");
  expect(turns.length).toBeGreaterThan(0);
  for (const { at, numbers } of await views()) {
    await go(page, at);
    const differences = async (): Promise<unknown> => {
      const [said, seen] = [await numbers(), await shown(page)];
      return isDeepStrictEqual(seen, said) ? [] : { seen, said };
    };
    await expect.poll(differences, { message: at }).toEqual([]);
    // HTML in notes, facts, diaries and memories stays text.
    expect(await page.locator("main img, main script").count(), at).toBe(0);
    expect(await page.locator("main li").count(), at).toBeLessThan(4 * ROWS_MAX);
  }
  expect(asked.length).toBeGreaterThan(10);
  const tooLarge = asked.filter(
    ({ method, limit }) => limit > (method === "memory.audit" ? JOURNAL_PAGE_MAX : PAGE_MAX),
  );
  expect(tooLarge).toEqual([]);
  expect(page.complaints).toEqual([]);
});

test("the list of the largest wing shows its last row, and the page has fewer than 60 rows of the list", async () => {
  const { wings } = await json<{ wings: Record<string, number> }>(palace, "ls");
  const [wing = "", drawers = 0] = Object.entries(wings).toSorted(([, a], [, b]) => b - a)[0] ?? [];
  const page = await openPage(browser, palace);
  const asked = watch(page);
  await go(page, `#/place?wing=${wing}`);
  const list = page.getByRole("list", { name: "Drawers" });
  await expect.poll(() => list.getByRole("link").count()).toBeGreaterThan(5);
  await page.locator(".long").evaluate((box) => void Object.assign(box, { scrollTop: 1e9 }));
  const last = list.getByRole("listitem").last();
  await expect.poll(() => last.getAttribute("aria-posinset")).toBe(String(drawers));
  await expect.poll(() => last.getByRole("link").count()).toBe(1);
  expect(await last.getAttribute("aria-setsize")).toBe(String(drawers));
  expect(await list.getByRole("listitem").count()).toBeLessThan(ROWS_MAX);
  expect(Math.max(...asked.map(({ limit }) => limit))).toBe(PAGE_MAX);
  expect(page.complaints).toEqual([]);
});

test("axe finds no serious accessibility fault in any view, and no view is wider than 360 pixels, in light and dark", async () => {
  const all = await views();
  for (const colorScheme of ["light", "dark"] as const) {
    const options = { colorScheme, viewport: { width: 360, height: 740 }, bypassCSP: true };
    const page = await openPage(browser, palace, options);
    for (const at of [...all.map((view) => view.at), "#/turns?conversation=pi%2F1"]) {
      await go(page, at);
      // Waits until the view no longer changes, that is, until it is loaded.
      let last = "";
      await expect
        .poll(async () => last === (last = await page.locator("main").innerHTML()), { interval: 300 })
        .toBe(true);
      expect(await seriousFindings(page), at).toEqual([]);
    }
    await page.context().close();
  }
});
