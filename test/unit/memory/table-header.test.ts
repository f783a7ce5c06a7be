import { expect, test } from "vitest";
import { createSearchPalace } from "../../helpers/search-palace.ts";

const HEADER = "| service | host | port |\n| --- | --- | --- |";
const rows = (count: number, name: string): string =>
  Array.from({ length: count }, (_, at) => `| ${name}${at} | host${at}.example | ${7000 + at} |`).join("\n");

test("a hit that begins inside a table has the table's header row, and a hit after the table does not have it", async () => {
  await using palace = await createSearchPalace();
  const after = `${"Ports below 1024 belong to the ferry office, and nobody else may use them.\n".repeat(12)}The lamps are green.\n`;
  const content = `# Services\n\nAll services.\n\n${HEADER}\n${rows(120, "svc")}\n\n${after}\n| a | b |\n| --- | --- |\n${rows(60, "pier")}\n`;
  palace.write("source.replace", {
    ...{ wing: "w", room: "r", sourceFile: "/w/ports.md", mtime: 1, sha256: "s", addedBy: "m", content },
  });
  const headerOf = async (query: string): Promise<unknown> => {
    const { results } = await palace.search(query, { limit: 1 });
    return results[0]?.["table_header"];
  };
  for (const at of [60, 85, 110]) expect(await headerOf(`svc${at}`), `svc${at}`).toBe(HEADER);
  expect(await headerOf("svc1")).toBeUndefined();
  expect(await headerOf("green lamps")).toBeUndefined();
  expect(await headerOf("pier55")).toBe("| a | b |\n| --- | --- |");
  palace.file("a | b in a note\nand this");
  expect(await headerOf("a note and this")).toBeUndefined();
});
