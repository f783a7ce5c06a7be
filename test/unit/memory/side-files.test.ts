/** Tests that changelogs, licences and generated files rank lower, unless the question is about them. */
import { expect, test } from "vitest";
import { asksForSideFiles, isSideFile } from "../../../src/memory/index/lexical/side-files.ts";
import { createSearchPalace } from "../../helpers/search-palace.ts";

test.each([
  ...[
    "/p/CHANGELOG.md",
    "CHANGELOG",
    "/p/doc/changelogs/CHANGELOG_V20.md",
    "/p/Changelog-0.3.md",
    "C:\\p\\CHANGES.rst",
  ],
  ...["/p/HISTORY.md", "/p/NEWS", "/p/docs/releases/1.8.txt", "/p/docs/whatsnew/3.9.rst", "/p/RELEASE_NOTES.md"],
  ...[
    "/p/0.27-release-notes.md",
    "/p/LICENSE",
    "/p/licence.txt",
    "/p/COPYING",
    "/p/package-lock.json",
    "/p/Cargo.lock",
  ],
  ...["/p/app.min.js", "/p/api_pb2.py", "/p/schema.generated.ts", "/p/What's new.md".replace("'", "")],
])("%s is a side file (a changelog, a licence or a generated file)", (path) => expect(isSideFile(path)).toBe(true));

test.each([
  ...["", "/p/README.md", "/p/docs/release-process.md", "/changelog/docs/guide.md", "/p/history-api.md", "git:0123"],
  ...[
    "/p/src/history.ts",
    "/p/news-letter.md",
    "/p/docs/block.md",
    "/p/docs/licensing-server.md",
    "/p/docs/changes-feed.md",
  ],
])("%j is not a side file", (path) => expect(isSideFile(path)).toBe(false));

test.each([
  ["when was the fs.cp function added?", true],
  ["which version dropped node 16", true],
  ["what is in the changelog about proxies", true],
  ["breaking changes of the client", true],
  ["under which licence may I use it", true],
  ["is url.parse deprecated", true],
  ["fixed in 5.2.1?", true],
  ["how do I add a proxy", false],
  ["when does a request time out", false],
  ["--max-old-space-size", false],
])("the question %s asks for side files: %s", (query, asks) => expect(asksForSideFiles(query)).toBe(asks));

test("the manual comes before the changelog that repeats its words, unless the question is about changes", async () => {
  await using palace = await createSearchPalace();
  const wing = {
    wing: "shop",
    room: "docs",
    mtime: 1,
    sha256: "s",
    addedBy: "m",
    cut: { size: 900, overlap: 0, sizeMin: 9 },
  };
  const file = (name: string, content: string): unknown =>
    palace.write("source.replace", { ...wing, sourceFile: `/srv/shop/${name}`, content });
  file("CHANGELOG.md", "The proxy timeout setting of the harbour client: fixed the proxy timeout of 30 seconds.");
  file("docs/proxy.md", "The proxy timeout setting of the harbour client is 30 seconds, from the settings file.");
  const names = async (query: string): Promise<unknown[]> =>
    (await palace.search(query)).results.map((hit) => hit["source_file"]);
  expect(await names("proxy timeout of the harbour client")).toEqual(["proxy.md", "CHANGELOG.md"]);
  expect(await names("when was the proxy timeout of the harbour client fixed")).toEqual(["CHANGELOG.md", "proxy.md"]);
  expect(await names("proxy timeout of the harbour client in CHANGELOG.md")).toEqual(["CHANGELOG.md", "proxy.md"]);
  const { results } = await palace.search("proxy timeout of the harbour client", { explain: true });
  expect(results.map(({ explain }) => (explain as Record<string, unknown>)["side_file_factor"])).toEqual([
    undefined,
    0.87,
  ]);
});
