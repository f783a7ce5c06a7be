/** `palace forget` did not name sources that the next mining would file again, such as office documents. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { docx, pdf, wordParagraph } from "../../helpers/office-files.ts";
import { createOpencodeDatabase, user } from "../../helpers/opencode-database.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const TIMEOUT_MS = 60_000;
const SECRET = "zq7xk9unforgettable4w2v";
const TEXT = `The wombat keeps the code ${SECRET} in the second drawer of the desk.`;

/** Runs `forget`, and returns the files that it reports because they still have the text. Paths are relative to the home. */
async function left(palace: TestPalace, ...selector: string[]): Promise<string[]> {
  const done = await palace.run("palace", ["forget", ...selector, "--yes", "--json"]);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  const found = (JSON.parse(done.stdout) as { left: { path: string; what: string }[] }).left;
  return found.map(({ path, what }) => `${what} ${path.slice(palace.home.length + 1)}`).sort();
}

test("forget lists the user's documents, also office files, that have the text", { timeout: TIMEOUT_MS }, async () => {
  await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
  for (const folder of ["docs", "other/docs", "office"]) mkdirSync(join(palace.home, folder), { recursive: true });
  writeFileSync(join(palace.home, "docs/runbook.md"), `# Runbook\n\n${TEXT}\n`);
  writeFileSync(join(palace.home, "other/docs/runbook.md"), `# Another\n\nThe other one. ${TEXT}\n`);
  writeFileSync(join(palace.home, "office/report.docx"), docx(wordParagraph(TEXT)));
  writeFileSync(join(palace.home, "office/manual.pdf"), pdf([[TEXT]]));
  await palace.startBroker();
  const mine = async (...args: string[]): Promise<void> =>
    expect(await palace.run("palace", ["mine", ...args])).toMatchObject({ code: 0 });
  await mine("docs", join(palace.home, "docs"));
  await mine("docs", join(palace.home, "other/docs"));
  await mine("formats", join(palace.home, "office"));
  expect(await left(palace, "--source", join(palace.home, "docs/runbook.md"))).toContain("source docs/runbook.md");
  await mine("docs", join(palace.home, "docs"));
  expect(await left(palace, "--source", join(palace.home, "office/report.docx"))).toContain(
    "source office/report.docx",
  );
  await mine("formats", join(palace.home, "office"));
  expect(await left(palace, "--match", SECRET)).toEqual([
    "source docs/runbook.md",
    "source office/manual.pdf",
    "source office/report.docx",
    "source other/docs/runbook.md",
  ]);
});

test(
  "forget names opencode's database, and names the copy that a repair kept as a backup",
  { timeout: TIMEOUT_MS },
  async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_DRIVER: "none" } });
    const database = createOpencodeDatabase(join(palace.home, ".local/share/opencode/opencode.db"));
    database.addSession({ id: "ses_one" });
    database.addMessage("ses_one", ...user(TEXT));
    await palace.startBroker();
    const mined = await palace.run("palace", ["mine", "sessions", "--min-messages", "0"]);
    expect(mined, mined.stderr).toMatchObject({ code: 0 });
    const kept = join(palace.config.paths.palaceDir, "before-repair-2026-11-23T080000");
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, "chroma.sqlite3"), TEXT);
    expect(await left(palace, "--match", SECRET)).toEqual([
      "backup .mempalace/palace/before-repair-2026-11-23T080000/chroma.sqlite3",
      "source .local/share/opencode/opencode.db",
    ]);
    database.close();
  },
);
