/** A search also finds a drawer by its names: the file and folders of its source, its wing and its room. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { NameIndex } from "../../../src/memory/index/lexical/names.ts";
import { createLedger, insertDrawers } from "../../helpers/ledger-fixture.ts";
import { createSearchPalace, type SearchPalace } from "../../helpers/search-palace.ts";

/** Files a document as the feeder does. */
const document = (palace: SearchPalace, sourceFile: string, content: string, more = {}): void =>
  void palace.write("source.replace", {
    ...{ wing: "w", room: "r", sourceFile, content, sha256: "0", mtime: 1 },
    ...more,
  });
const sources = async (palace: SearchPalace, query: string, more = {}): Promise<unknown[]> =>
  (await palace.search(query, more)).results.map((hit) => hit["source_path"]);

const STEPS = "Drain each node, then let the control plane go first. Wait until all of its pods are ready again.";
const MENTION =
  "What kubernetes-upgrade.md says was agreed by the whole team; kubernetes-upgrade.md is checked by Ida.";
const NOISE = ["Invoices are paid on the last Friday of the month.", "The printer in the hall is out of toner again."];

test("a question that names a file finds the file first, then the notes that mention it", async () => {
  await using palace = await createSearchPalace();
  document(palace, "/p/ops/kubernetes-upgrade.md", STEPS);
  document(palace, "/p/ops/paths.md", "Every path is absolute, and the last part of it is the name of a file.");
  palace.file(MENTION);
  for (const text of NOISE) palace.file(text);
  for (const question of ["what does kubernetes-upgrade.md say", "what does ops/Kubernetes-Upgrade.md say"])
    for (const mode of ["auto", "lexical"]) {
      const { results } = await palace.search(question, { mode, explain: true });
      expect(results.map(({ text }) => text).slice(0, 2)).toEqual([STEPS, MENTION]);
      expect(results[0]).toMatchObject({ explain: { file_score: expect.any(Number), weights: { names: 0.3 } } });
      expect(results[0]).not.toHaveProperty("weak");
      expect(results[1]).toMatchObject({ explain: { file_score: 0, names_held: 0 } });
    }
});

test("a drawer is found by parts of its file name, cut at punctuation and inner capitals, and by its folders, wing and room", async () => {
  await using palace = await createSearchPalace();
  document(palace, "/p/billing/retryBackoffPolicy.ts", STEPS);
  document(palace, "/p/other/first.ts", NOISE[0] as string);
  palace.file("Two of three are broken.", { wing: "orchard", room: "ladders" });
  palace.file(NOISE[1] as string);
  for (const words of ["backoff policy", "billing retry", "retryBackoffPolicy"])
    expect((await sources(palace, words, { mode: "lexical" }))[0]).toBe("/p/billing/retryBackoffPolicy.ts");
  expect(await palace.texts("orchard ladders", { mode: "lexical" })).toEqual(["Two of three are broken."]);
  expect(await palace.texts("orchard ladders", { mode: "lexical", wing: "w" })).toEqual([]);
});

test("matches in names do not outweigh matches in the text", async () => {
  await using palace = await createSearchPalace();
  palace.file("Nothing to see.", { wing: "orchard", room: "ladders" });
  palace.file("The ladders of the orchard were painted in May.");
  for (const text of NOISE) palace.file(text);
  expect((await palace.texts("ladders of the orchard"))[0]).toContain("painted");
  const chunks = Array.from({ length: 40 }, (_, at) =>
    `Step ${at}: turn the valve and read the gauge twice. `.repeat(8),
  );
  document(palace, "/p/boiler.md", chunks.join("\n\n"));
  palace.file("boiler.md is wrong: the gauge broke in June.");
  expect((await palace.texts("what is wrong in boiler.md"))[1]).toContain("broke in June");
});

test("a drawer is found by its names from its first write on, by its new names after a move, and never after forgetting", async () => {
  await using palace = await createSearchPalace();
  for (const text of NOISE) palace.file(text);
  const asked = (words: string): Promise<string[]> => palace.texts(words, { mode: "lexical" });
  expect(await asked("zanzibar")).toEqual([]);
  const id = palace.file(STEPS, { source_file: "/p/zanzibar.md", room: "ferries" });
  expect(await asked("zanzibar")).toEqual([STEPS]);
  expect(await asked("ferries")).toEqual([STEPS]);
  palace.write("update_drawer", { drawer_id: id, room: "harbours" });
  expect(await asked("ferries")).toEqual([]);
  expect(await asked("harbours")).toEqual([STEPS]);
  palace.write("memory.forget", {}, { source: "/p/zanzibar.md" });
  for (const gone of ["zanzibar", "zanzibar.md", "harbours"]) expect(await asked(gone)).toEqual([]);
});

test("a chunk of a document is also ranked by the headings above it, until the headings are forgotten", async () => {
  await using palace = await createSearchPalace();
  for (const text of NOISE) palace.file(text);
  const office = "The office opens at eight and closes when the last boat has left. ".repeat(14);
  const part = "Bring a coat, because the upper deck is windy in all months of the year. ".repeat(10);
  document(palace, "/p/north.md", `# Pemba ferry\n\n${office}\n\n${part}`);
  document(palace, "/p/south.md", `# Zanzibar ferry\n\n${office}\n\n${part}`);
  const first = async (words: string): Promise<unknown> => (await sources(palace, words, { mode: "lexical" }))[0];
  palace.settle();
  expect(await first("windy on the Pemba deck")).toBe("/p/north.md");
  expect(await first("windy on the Zanzibar deck")).toBe("/p/south.md");
  palace.write("memory.forget", {}, { match: "Zanzibar" });
  palace.settle();
  expect(await first("windy on the Zanzibar deck")).toBe("/p/north.md");
});

test("a file is found by its name in NFC and in NFD", async () => {
  await using palace = await createSearchPalace();
  for (const text of NOISE) palace.file(text);
  palace.file(STEPS, { source_file: `/p/${"größe.md".normalize("NFD")}` });
  for (const form of ["NFC", "NFD"])
    expect((await palace.texts(`what does ${"größe.md".normalize(form)} say`))[0]).toBe(STEPS);
  expect(await palace.texts("groesse", { mode: "lexical" })).toEqual([STEPS]);
});

test("an open index has exactly the ledger's names, and no name of a removed source", () => {
  const folder = mkdtempSync(join(tmpdir(), "names-"));
  const ledger = createLedger(join(folder, "ledger.sqlite3"));
  const reader = new Database(join(folder, "ledger.sqlite3"), { readonly: true });
  try {
    const names = new NameIndex(reader);
    const files = (): string[] => [...names.filesOf(["a.md", "old/a.md", "b.md"]).keys()];
    insertDrawers(ledger, [{ text: "one", sourceFile: "/new/a.md" }]);
    expect(files()).toEqual(["/new/a.md"]);
    insertDrawers(
      ledger,
      ["/old/a.md", "/b.md"].map((sourceFile) => ({ text: "more", sourceFile })),
    );
    expect(files()).toEqual(["/new/a.md", "/old/a.md", "/b.md"]);
    const decomposed = "/Größe.md".normalize("NFD");
    insertDrawers(ledger, [{ text: "most", sourceFile: decomposed }]);
    expect([...names.filesOf(["größe.md"]).keys()]).toEqual([decomposed]);
    ledger.exec("DELETE FROM drawer; DELETE FROM source WHERE source_file <> '/b.md'; DELETE FROM source_dirty");
    expect(files()).toEqual(["/b.md"]);
    expect(names.rows({ stems: [["a"]], files: new Map() }, [1], 1, () => true)).toEqual([]);
  } finally {
    reader.close();
    ledger.close();
    rmSync(folder, { recursive: true });
  }
});
