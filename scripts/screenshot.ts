/** Writes docs/page.png, the README's picture of `palace ui`. Run `node scripts/screenshot.ts` after the page has changed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openBrowser, openPage } from "../test/helpers/browser.ts";
import { createTestPalace, type TestPalace } from "../test/helpers/palace.ts";
import { ROOT, runAsMain, type RunOptions } from "./main.ts";

export const FILE = "docs/page.png";
/** Maximum size of the picture, bytes. Every reader of the README loads it. */
export const SIZE_MAX = 150_000;
const VIEWPORT = { width: 1200, height: 820 };

const NOTES: readonly (readonly [client: string, wing: string, room: string, text: string])[] = [
  ["claude-code", "webshop", "decisions", "We keep prices in cents as integers. Floats lost a cent in invoice 4711."],
  [
    "claude-code",
    "webshop",
    "decisions",
    "Checkout calls the payment service once per order and keeps the key of the call.",
  ],
  ["claude-code", "webshop", "tests", "The flaky cart test waited for an animation. It waits for the total now."],
  ["opencode", "webshop", "deploy", "A release needs the migration first, then the workers, then the web server."],
  ["opencode", "webshop", "deploy", "Staging has a tenth of the data. Slow queries show only in production."],
  ["pi", "home-lab", "network", "The printer has the address 192.168.1.40 and forgets it after a power cut."],
  ["pi", "home-lab", "backups", "The backup disk is changed on the first Sunday of the month."],
  ["pi", "home-lab", "backups", "A restore of the photos took three hours and was complete."],
  ["claude-code", "thesis", "sources", "The survey of 2019 counts households, the one of 2022 counts people."],
  ["claude-code", "thesis", "writing", "Chapter 3 begins with the example of the two bakeries."],
  ["opencode", "thesis", "writing", "The supervisor wants shorter captions and no footnotes."],
  ["palace", "me", "preferences", "I prefer small commits with the reason in the message."],
  ["palace", "me", "preferences", "Answer in English, and show the command before you run it."],
];

export async function run({ print }: Pick<RunOptions, "print">): Promise<number> {
  const picture = await takePicture();
  if (picture.length > SIZE_MAX) throw new Error(`${FILE} has ${picture.length} bytes, more than ${SIZE_MAX}`);
  writeFileSync(join(ROOT, FILE), picture);
  print(`wrote ${FILE} (${Math.round(picture.length / 1000)} kB)`);
  return 0;
}

export async function takePicture(): Promise<Buffer> {
  await using palace = createTestPalace();
  await fill(palace);
  const browser = await openBrowser();
  try {
    const page = await openPage(browser, palace, { viewport: VIEWPORT, colorScheme: "light", locale: "en-GB" });
    await page.locator(".live i.on").waitFor({ state: "attached" });
    await page.getByText("show the command").first().waitFor();
    return await page.screenshot({ animations: "disabled" });
  } finally {
    await browser.close();
  }
}

async function fill(palace: TestPalace): Promise<void> {
  const project = join(palace.home, "webshop");
  mkdirSync(join(project, "docs"), { recursive: true });
  for (const name of ["payments", "catalogue", "search", "returns"])
    writeFileSync(join(project, "docs", `${name}.md`), `# ${name}\n\nHow ${name} works in the web shop.\n`.repeat(4));
  await mustRun(palace, ["mine", "docs", project]);
  for (const [client, wing, room, content] of NOTES)
    await mustRun(palace, ["call", "add_drawer", JSON.stringify({ wing, room, content, added_by: client })], client);
}

async function mustRun(palace: TestPalace, args: string[], client = "palace"): Promise<void> {
  const { code, stderr } = await palace.run("palace", args, { env: { MEMPALACE_AGENT_NAME: client } });
  if (code !== 0) throw new Error(stderr);
}

if (import.meta.main) await runAsMain(run);
