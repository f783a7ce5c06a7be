/**
 * Measures the page of `palace ui` beside 200,000 drawers and 160,000 outcomes: the broker's processor time for an open page, an agent's
 * waits while ten pages are open and one starts a backup, and the frames of a scrolled list. PAGE_HOME: folder in which the filled memory
 * remains for the next run.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import type { Browser } from "playwright-core";
import { findModel } from "../../src/memory/index/embedding/model-files.ts";
import type { Client } from "../../src/wire/client/client.ts";
import { openBrowser, openPage, type SeenPage } from "../helpers/browser.ts";
import { createTestPalace, exitOf, type TestPalace } from "../helpers/palace.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { Corpus } from "./corpus.ts";
import { CHUNKS, fillLedger, FIRST_AT_MS } from "./fill-ledger.ts";
import { atMost, median, type Row } from "./measure.ts";
import { allQuiet, atRest } from "./settled.ts";

const DRAWERS = Number(process.env["PAGE_DRAWERS"] ?? 200_000);
const OUTCOMES = Math.floor(DRAWERS * 0.8);
const SHOWN_PER_TURN = 4;
const TURNS_PER_CONVERSATION = 20;
const BETWEEN_CONVERSATIONS_MS = 4 * 3_600_000;
const PLACE = "#/place?wing=wing0";

/** Number of measurements with the page open, and also without it. Each takes ROUND_MS. */
const ROUNDS = Number(process.env["PAGE_ROUNDS"] ?? 4);
const ROUND_MS = 15_000;
/** Time until a page has loaded everything, and until a broker has finished the work for a closed page. */
const REST_MS = 3_000;
/** Time between two writes of a busy agent. */
const WRITE_MS = 100;
const COST_MAX_PERCENT = 5;

const PAGES = 10;
const VIEWS = ["#/", PLACE, "#/turns", "#/history", "#/care", "#/facts", "#/diary", "#/search?q=time", "#/", PLACE];
const WAIT_MAX_MS = 100;
const ASK_MS = 20;
const BACKUP_MAX_MS = 600_000;

const FRAME_MS = 1000 / 60;

export async function bench(): Promise<Row[]> {
  const home = process.env["PAGE_HOME"];
  if (home !== undefined) mkdirSync(home, { recursive: true });
  await using palace = createTestPalace({ built: true, ...(home !== undefined && { home }) });
  const loopFile = join(palace.home, "loop.log");
  const dir = writeTinyModel(join(palace.home, "model"));
  fill(palace.config.paths.ledgerFile, await modelIn(dir));
  const broker = await palace.startBroker({
    ...{ MEMPALACE_MODEL_DIR: dir, MEMPALACE_DRIVER: "none", MEMPALACE_IDLE_EXIT_MINUTES: "0" },
    ...{ NODE_OPTIONS: `--import=${watchLoop(loopFile)}` },
  });
  const client = await palace.client();
  await allQuiet(client);
  // Gives browsers only the time that the broker leaves, because users' browsers usually have their own core. Linux may schedule each
  // session as a group, so the group's nice value is set too.
  const polite = join(palace.home, "chromium");
  const browser = await openBrowser((chromium) => {
    writeFileSync(
      polite,
      `#!/bin/sh\n(echo 19 >/proc/self/autogroup) 2>/dev/null\nexec nice -n 19 ${chromium} "$@"\n`,
      { mode: 0o755 },
    );
    return polite;
  });
  const parts: Record<string, () => Promise<Row[]>> = {
    cost: () => cost({ palace, broker, browser, client }),
    waits: () => waits({ palace, browser, client, loopFile }),
    frames: () => frames({ palace, browser, loopFile }),
  };
  const rows: Row[] = [];
  for (const name of (process.env["PAGE_PARTS"] ?? Object.keys(parts).join()).split(","))
    rows.push(...((await parts[name]?.()) ?? []));
  await browser.close();
  client.close();
  broker.kill("SIGTERM");
  await exitOf(broker);
  return rows;
}

async function modelIn(dir: string): Promise<string> {
  const nowhere = { cacheDir: "/nonexistent", userHome: "/nonexistent" };
  const files = await findModel({ dir, url: undefined, offline: true, ...nowhere });
  if (files === undefined) throw new Error("the tiny model is not whole");
  return files.identity.id;
}

function fill(ledgerFile: string, model: string): void {
  if (existsSync(ledgerFile)) return;
  mkdirSync(dirname(ledgerFile), { recursive: true });
  const corpus = new Corpus(9, true);
  const to = Math.ceil(DRAWERS / CHUNKS);
  const made = fillLedger({ ledgerFile, model, text: (characters) => corpus.text(characters), from: 0, to, wings: 1 });
  fillOutcomes(ledgerFile);
  process.stderr.write(`${made} drawers and ${OUTCOMES} outcomes\n`);
}

/** Writes the rows of turns and scores directly: 160,000 outcomes one by one would take an hour. */
function fillOutcomes(ledgerFile: string): void {
  const ledger = new Database(ledgerFile);
  const at = `${FIRST_AT_MS} + talk * ${BETWEEN_CONVERSATIONS_MS}`;
  ledger.transaction(() =>
    ledger.exec(`
      CREATE TEMP TABLE told AS SELECT id, n, n / ${SHOWN_PER_TURN * TURNS_PER_CONVERSATION} AS talk, n / ${SHOWN_PER_TURN} % ${TURNS_PER_CONVERSATION} + 1 AS turn
        FROM (SELECT id, row_number() OVER (ORDER BY row) - 1 AS n FROM drawer LIMIT ${OUTCOMES});
      INSERT INTO conversation SELECT DISTINCT 'pi/' || talk, 'pi', ${TURNS_PER_CONVERSATION}, 1, 0, 1, NULL, '[]', ${at} FROM told;
      INSERT INTO shown SELECT 'pi/' || talk, id, turn FROM told;
      INSERT INTO standing SELECT id, 0.6, 1, 1, ${at}, '[]' FROM told;
      INSERT INTO scored SELECT id, 1, ${at}, CASE n % 5 WHEN 0 THEN 'failed' WHEN 1 THEN 'partial' ELSE 'worked' END,
        'agent', 1, 'pi/' || talk, NULL FROM told;`),
  )();
  ledger.close();
}

type Gap = { atMs: number; wallMs: number; cpuMs: number };

/** Returns a module that records each long pause of the broker's event loop: duration, and the main thread's processor time. */
function watchLoop(file: string): string {
  const source = `import { appendFileSync } from "node:fs"; import { isMainThread } from "node:worker_threads";
    if (isMainThread && process.argv[1]?.includes("broker")) {
      const cpu = () => { const { user, system } = process.threadCpuUsage(); return (user + system) / 1000; };
      let [wall, used] = [performance.now(), cpu()];
      setInterval(() => { const [now, spent] = [performance.now(), cpu()];
        if (now - wall > 20) appendFileSync(${JSON.stringify(file)}, JSON.stringify({ atMs: Date.now(), wallMs: now - wall, cpuMs: spent - used }) + "\\n");
        [wall, used] = [performance.now(), cpu()]; }, 5).unref(); }`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

/** Returns the longest pause of the broker's event loop since `sinceMs`, in duration and in processor time. */
function longestGap(file: string, sinceMs: number): { wallMs: number; cpuMs: number } {
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  const gaps = lines.map((line) => JSON.parse(line) as Gap).filter(({ atMs }) => atMs >= sinceMs);
  return {
    wallMs: Math.max(0, ...gaps.map(({ wallMs }) => wallMs)),
    cpuMs: Math.max(0, ...gaps.map(({ cpuMs }) => cpuMs)),
  };
}

// --- the cost of an open page ---

type Parts = { palace: TestPalace; broker: ChildProcess; browser: Browser; client: Client };

/** Returns the processor time of all threads of the process, ms. */
function cpuMsOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // The kernel counts in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

type Load = { name: string; work: (endMs: number) => Promise<number> };

async function cost({ palace, broker, browser, client }: Parts): Promise<Row[]> {
  let written = 0;
  const add = (): Promise<unknown> =>
    client.callTool("mempalace_add_drawer", {
      wing: "notes",
      room: "bench",
      content: `note ${Date.now()} ${written++}`,
    });
  const loads: Load[] = [
    { name: "idle", work: (endMs) => delay(endMs - performance.now()).then(() => 1) },
    {
      name: "ten writes a second",
      work: async (endMs) => {
        for (; performance.now() < endMs; await delay(WRITE_MS)) await add();
        return 1;
      },
    },
    {
      name: "writes without a pause",
      work: async (endMs) => {
        const before = written;
        while (performance.now() < endMs) await add();
        return written - before;
      },
    },
  ];
  await atRest(() => cpuMsOf(broker));
  const rows: Row[] = [];
  for (const load of loads) {
    for (const view of load.name === "idle" ? ["#/"] : ["#/", PLACE, "#/turns"]) {
      const sides: Record<"open" | "closed", number[]> = { open: [], closed: [] };
      const rates: Record<"open" | "closed", number[]> = { open: [], closed: [] };
      for (let round = 0; round < ROUNDS; round++)
        for (const side of round % 2 === 0 ? (["open", "closed"] as const) : (["closed", "open"] as const)) {
          const page = side === "open" ? await openAt(browser, palace, view) : undefined;
          await delay(REST_MS);
          const [startedAt, before] = [performance.now(), cpuMsOf(broker)];
          const done = await load.work(startedAt + ROUND_MS);
          sides[side].push((100 * (cpuMsOf(broker) - before)) / (performance.now() - startedAt));
          rates[side].push((cpuMsOf(broker) - before) / done);
          await page?.context().close();
        }
      const [open, closed] = [median(sides.open), median(sides.closed)];
      const name = `broker, ${load.name}, with the page at ${view}`;
      const detail = `${open.toFixed(1)} - ${closed.toFixed(1)} % of a core, x ${(open / closed).toFixed(2)}`;
      if (load.name !== "writes without a pause") rows.push(atMost(name, open - closed, COST_MAX_PERCENT, detail));
      else {
        const [with_, without] = [median(rates.open), median(rates.closed)];
        const perWrite = `${with_.toFixed(2)} / ${without.toFixed(2)} ms of processor time a write`;
        rows.push(atMost(name, with_ / without, 1 + COST_MAX_PERCENT / 100, perWrite));
      }
    }
  }
  return rows;
}

async function openAt(browser: Browser, palace: TestPalace, view: string): Promise<SeenPage> {
  const page = await openPage(browser, palace);
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.locator("main h1").first().waitFor();
  return page;
}

// --- waits of an agent beside ten pages ---

type Asking = { palace: TestPalace; browser: Browser; client: Client; loopFile: string };

async function waits({ palace, browser, client, loopFile }: Asking): Promise<Row[]> {
  const calls: Record<string, (at: number) => Promise<unknown>> = {
    add: (at) =>
      client.callTool("mempalace_add_drawer", { wing: "notes", room: "bench", content: `w ${Date.now()} ${at}` }),
    status: () => client.call("palace.status", {}),
    list: () => client.callTool("mempalace_list_drawers", { room: "bench" }),
  };
  const measured = async (isOver: () => boolean): Promise<Record<string, number[]>> => {
    const times: Record<string, number[]> = {};
    for (let at = 0; !isOver(); at++)
      for (const [name, call] of Object.entries(calls)) {
        const startedAt = performance.now();
        // A call that fails counts with the time that the client waited.
        await call(at).catch(() => {});
        (times[name] ??= []).push(performance.now() - startedAt);
        await delay(ASK_MS);
      }
    return times;
  };
  const alone: number[] = [];
  const beside: number[] = [];
  const blocked: { wallMs: number; cpuMs: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const endMs = performance.now() + ROUND_MS;
    alone.push(Math.max(...Object.values(await measured(() => performance.now() > endMs)).flat()));
    const pages: SeenPage[] = [];
    for (let at = 0; at < PAGES; at++) pages.push(await openAt(browser, palace, VIEWS[at] ?? "#/"));
    await delay(REST_MS);
    const file = join(palace.home, `page-${round}.tar`);
    rmSync(file, { force: true });
    const sinceMs = Date.now();
    let isOver = false;
    const exporting = exportFrom(pages, file).finally(() => (isOver = true));
    exporting.catch(() => {});
    const times = await measured(() => isOver);
    await exporting;
    blocked.push(longestGap(loopFile, sinceMs));
    beside.push(Math.max(...Object.values(times).flat()));
    for (const [name, all] of Object.entries(times))
      process.stderr.write(
        `${name}: ${all.length} calls, median ${median(all).toFixed(1)}, max ${Math.max(...all).toFixed(1)} ms\n`,
      );
    for (const page of pages) await page.context().close();
    rmSync(file, { force: true });
  }
  const show = (values: number[]): string => values.map((value) => value.toFixed(0)).join(", ");
  return [
    atMost(
      `longest wait of an agent beside ${PAGES} pages and a backup, ms`,
      median(beside),
      WAIT_MAX_MS,
      `${show(beside)}; alone ${show(alone)}`,
    ),
    atMost(
      "longest pause of the broker's main thread meanwhile, ms of processor time",
      Math.max(...blocked.map(({ cpuMs }) => cpuMs)),
      WAIT_MAX_MS,
      `${show(blocked.map(({ cpuMs }) => cpuMs))}; in time ${show(blocked.map(({ wallMs }) => wallMs))}`,
    ),
  ];
}

/** Starts a backup in the view Care and waits for its end. The other pages are used meanwhile. */
async function exportFrom(pages: readonly SeenPage[], file: string): Promise<void> {
  const care = pages[VIEWS.indexOf("#/care")] as SeenPage;
  await care.locator("input[placeholder='/folder/palace.tar']").fill(file);
  await care.getByRole("button", { name: "Back up", exact: true }).click();
  // Waits for the file, which appears when the backup is complete. The page's list of jobs also has jobs of earlier rounds.
  const untilMs = performance.now() + BACKUP_MAX_MS;
  const isDone = (async () => {
    while (!existsSync(file) && performance.now() < untilMs) await delay(50);
  })();
  let isOver = false;
  const using = (async () => {
    for (let at = 0; !isOver; at++) {
      const box = pages[1]?.locator(".long");
      await box?.evaluate(
        (element, share) => {
          const list = element as unknown as { scrollTop: number; scrollHeight: number };
          list.scrollTop = share * list.scrollHeight;
        },
        (at * 0.37) % 1,
      );
      await delay(500);
    }
  })();
  await isDone;
  isOver = true;
  await using;
  if (!existsSync(file)) throw new Error("the page made no backup");
}

// --- frames of a long list ---

type Event = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string };
};
type Scroll = { name: string; pixels: number };

/** Pixels per frame: a mouse wheel, a fling, and the scroll bar dragged from end to end. */
const SCROLLS: readonly Scroll[] = [
  { name: "wheel", pixels: 40 },
  { name: "fling", pixels: 800 },
  { name: "bar", pixels: 20_000 },
];
const FRAMES = 600;

async function frames({ palace, browser, loopFile }: Pick<Asking, "palace" | "browser" | "loopFile">): Promise<Row[]> {
  const page = await openAt(browser, palace, PLACE);
  const limits: number[] = [];
  page.on("request", (request) => {
    for (const [, limit] of (request.postData() ?? "").matchAll(/"limit":(\d+)/g)) limits.push(Number(limit));
  });
  await page.locator(".long li a").first().waitFor();
  const rows: Row[] = [];
  for (const { name, pixels } of SCROLLS) {
    const sinceMs = Date.now();
    const asked = limits.length;
    await browser.startTracing(page, {
      categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"],
    });
    const deltas = (await page.evaluate(scroller(pixels))) as number[];
    const events = (JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: Event[] }).traceEvents;
    await page.locator(".long li a").first().waitFor();
    const work = mainThreadMs(events) / FRAMES;
    const over = (most: number): string =>
      ((100 * deltas.filter((one) => one > most).length) / deltas.length).toFixed(1);
    const { cpuMs } = longestGap(loopFile, sinceMs);
    const detail = `${work.toFixed(2)} ms a frame; frames over 17.7 ms ${over(FRAME_MS + 1)} %, over 33.4 ms ${over(2 * FRAME_MS)} %; ${limits.length - asked} pages asked, broker's longest pause ${cpuMs.toFixed(0)} ms`;
    rows.push(atMost(`script and layout of a frame, ${name}, / a sixtieth of a second`, work / FRAME_MS, 1, detail));
  }
  rows.push(atMost("rows that the page asks for at once", Math.max(...limits), 100, `${limits.length} requests`));
  await page.context().close();
  return rows;
}

/** Returns a script that scrolls the list to its end and back, and returns the time between frames. */
function scroller(pixels: number): string {
  return `new Promise((resolve) => {
    const box = document.querySelector(".long");
    const deltas = []; let last = performance.now(); let step = ${pixels};
    const frame = (now) => {
      deltas.push(now - last); last = now;
      if (deltas.length > ${FRAMES}) return resolve(deltas.slice(1));
      const before = box.scrollTop; box.scrollTop += step;
      if (box.scrollTop === before) step = -step;
      requestAnimationFrame(frame);
    };
    box.scrollTop = 0; requestAnimationFrame(frame);
  })`;
}

/** Returns the processor time of the page's main thread, ms: script, style, layout, paint. */
function mainThreadMs(events: readonly Event[]): number {
  const main = events.find(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const tasks = events.filter(
    ({ name, ph, pid, tid }) => name === "RunTask" && ph === "X" && pid === main?.pid && tid === main.tid,
  );
  return tasks.reduce((sum, { tdur, dur = 0 }) => sum + (tdur ?? dur), 0) / 1000;
}
