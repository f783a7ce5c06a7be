/** An agent on another machine can name any file of the broker's machine as its source. `sync` must not reveal whether the file exists. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Client, connectClient } from "../../../src/wire/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

/** Doors through which other machines reach the broker. */
const DOORS = ["TCP", "a bridge's gate"];

test.each(DOORS)(
  "over %s sync reports existing and missing files alike, except in a folder that the owner allowed",
  async (door) => {
    const port = await freePort();
    await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
    const place = (...names: string[]): string => join(palace.home, ...names);
    for (const folder of ["opened", "bare", "closed"]) {
      mkdirSync(place(folder));
      writeFileSync(place(folder, "here.md"), "");
    }
    writeFileSync(place("opened", ".gitignore"), "");
    // These ignore rules must not change an answer, because that would reveal that a file exists.
    for (const folder of ["closed", "."]) writeFileSync(place(folder, ".gitignore"), "*.md\n");
    symlinkSync(place("closed"), place("opened", "way-out"));
    await palace.startBroker({ MEMPALACE_MINE_ROOTS: `${place("opened")}:${place("bare")}` });
    const client = await connectFrom(door, palace, port);
    try {
      const sources = [["opened"], ["bare"], ["closed"], ["opened", "way-out"]].flatMap((folders) =>
        ["here.md", "gone.md"].map((name) => place(...folders, name)),
      );
      // After a link, ".." leads to another folder than the path's spelling suggests, whose files must not be revealed either.
      for (const name of ["here.md", "there.md"]) writeFileSync(place(name), "");
      for (const name of ["here.md", "there.md", "gone.md"]) sources.push(`${place("opened", "way-out")}/../${name}`);
      for (const [at, source_file] of [...sources, "/etc/passwd", "/etc/not-there"].entries())
        await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: `note ${at}`, source_file });
      const all = await client.callTool("mempalace_sync", {});
      // The folder `bare` has no .gitignore, and `sync` must not look for one above it. So the two files in `bare` are in no project.
      expect(all).toMatchObject({ scanned: 13, kept: 1, missing: 1, unresolved: 9, out_of_scope: 2, gitignored: 0 });
      for (const folder of [place("closed"), place("opened", "way-out"), place(".")]) {
        const scoped = await client.callTool("mempalace_sync", { project_dir: folder });
        expect(scoped).toMatchObject({ kept: 0, missing: 0, gitignored: 0 });
      }
    } finally {
      client.close();
    }
  },
);

async function connectFrom(door: string, palace: TestPalace, port: number): Promise<Client> {
  const { stdout } = await palace.run("palace", ["token", "add", "box", "--json"]);
  const { token } = JSON.parse(stdout) as { token: string };
  const way =
    door === "TCP"
      ? { MEMPALACE_BROKER: `http://127.0.0.1:${port}`, MEMPALACE_TOKEN: token }
      : { MEMPALACE_BROKER: `unix:${palace.config.paths.gatePath}` };
  const config = loadConfig({ HOME: `${palace.home}/elsewhere`, ...way });
  return connectClient({ config, agent: "visitor", start: "never" });
}
