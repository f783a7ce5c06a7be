/** A search answered with the path of our staged copy, so an agent edited the wrong file. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

type Hits = { results: { source_path: string; source_file: string; also_in?: { source_path: string }[] }[] };

const SHARED =
  "The heron stands in the reeds at dawn, and nobody has told it that the lake was sold to the town last year.";

test("search, filters and deletions use the path of the user's file", async () => {
  await using palace = createTestPalace();
  const [first, second] = ["one", "two"].map((name) => join(palace.home, name)) as [string, string];
  for (const [root, text] of [
    [first, `# Birds\n\n${SHARED}`],
    [second, `# Birds\n\n${SHARED}`],
    [
      second,
      "# Boats\n\nThe ferry crosses the fjord twice a day, and in winter not at all, whatever the timetable says.",
    ],
  ] as const) {
    mkdirSync(join(root, "docs"), { recursive: true });
    writeFileSync(join(root, "docs", text.startsWith("# Boats") ? "boats.md" : "README.md"), `${text}\n`);
  }
  for (const root of [first, second]) await palace.run("palace", ["mine", "docs", root, "--wing", "w"]);

  const client = await palace.client();
  const search = async (query: string, more = {}): Promise<Hits["results"]> =>
    ((await client.callTool("mempalace_search", { query, ...more })) as Hits).results;
  const birds = await search("heron reeds");
  const paths = birds.flatMap((hit) => [hit.source_path, ...(hit.also_in ?? []).map((copy) => copy.source_path)]);
  const readmes = [first, second].map((root) => join(root, "docs/README.md"));
  expect(paths.filter((path) => path.endsWith("README.md")).sort()).toEqual(readmes);
  const boats = join(second, "docs/boats.md");
  expect((await search("ferry fjord", { source_file: boats })).map((hit) => hit.source_path)).toEqual([boats]);
  expect((await search("ferry fjord", { source_file: "Boats.md" })).map((hit) => hit.source_path)).toEqual([boats]);
  const several = (await client.callTool("mempalace_search", { query: "x", source_file: "README.md" })) as {
    hint: string;
  };
  for (const readme of readmes) expect(several.hint).toContain(`\`${readme}\``);

  const shown = await palace.run("palace", ["search", "ferry", "fjord"]);
  expect(shown.stdout.split("\n")[0]).toContain("docs/boats.md");

  const deletion = { source_file: boats, dry_run: false };
  expect(await client.callTool("mempalace_delete_by_source", deletion)).toMatchObject({ success: true, deleted: 1 });
  // For a deleted file, only the staged copy's path is known.
  rmSync(first, { recursive: true });
  const left = (await search("heron reeds")).flatMap((hit) => [hit, ...(hit.also_in ?? [])]);
  expect(left.map((hit) => hit.source_path).sort()).toEqual([
    join(palace.home, ".cache/mempalace-docs/w/docs/README.md"),
    readmes[1],
  ]);
  client.close();
});
