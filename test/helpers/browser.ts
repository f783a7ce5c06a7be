/** Opens the page in the system's Chromium (Debian's package `chromium`). The tests download no browser. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import type { TestPalace } from "./palace.ts";

/** Maximum wait for the page, ms. It is long because other tests use the same processors. */
const WAIT_MAX_MS = 120_000;
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/**
 * Opens Chromium. `start` may return a program that starts it in another way, for example in a network namespace, with the same arguments.
 */
export async function openBrowser(start?: (chromium: string) => string): Promise<Browser> {
  const installed = PLACES.find((path) => existsSync(path));
  const executablePath = installed === undefined ? undefined : (start?.(installed) ?? installed);
  if (executablePath === undefined) throw new Error("the tests of the page need Chromium: apt-get install chromium");
  // No host name resolves and only loopback addresses can be reached, so the page is offline.
  const args = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"];
  return chromium.launch({ executablePath, args });
}

export type SeenPage = Page & {
  /** Errors, violations of the content security policy, and requests to other hosts. */
  complaints: string[];
};

export async function linkTo(palace: TestPalace, role = "admin"): Promise<string> {
  const { code, stdout, stderr } = await palace.run("palace", ["ui", "--json", "--role", role]);
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { url: string }).url;
}

/** Opens the page with a new link of `role`. */
export async function openPage(
  browser: Browser,
  palace: TestPalace,
  { role = "admin", ...options }: BrowserContextOptions & { role?: string } = {},
): Promise<SeenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MAX_MS);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`a script asked: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) complaints.push(`asked for ${request.url()}`);
  });
  await page.goto(await linkTo(palace, role));
  await page.waitForSelector("main h1");
  return Object.assign(page, { complaints });
}

export async function json<T>(palace: TestPalace, ...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await palace.run("palace", [...args, "--json"]);
  if (code !== 0) throw new Error(stderr + stdout);
  return JSON.parse(stdout) as T;
}

export async function visit(page: SeenPage, view: string, heading: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
}

/** Returns axe's serious findings, and one more if the page is wider than its window. Needs a context with `bypassCSP`. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
  const found = (await page.evaluate("axe.run().then(({ violations }) => violations)")) as Violation[];
  const serious = found.filter(({ impact }) => impact === "serious" || impact === "critical");
  const width = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  return [
    ...serious.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`),
    ...(width > 0 ? [`the page is ${width} pixels too wide`] : []),
  ];
}

type Violation = { id: string; impact: string; nodes: { html: string }[] };
