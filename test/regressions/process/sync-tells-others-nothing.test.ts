/** An agent of another machine names any file of the broker's as its source: `sync` must not tell it whether that exists. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/client/client.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { freePort } from "../../helpers/free-port.ts";
import { createTestPalace } from "../../helpers/palace.ts";

test("over TCP a file that is there and one that is not are told alike, but for those in a folder that was opened", async () => {
  const port = await freePort();
  const opened = "opened";
  await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://127.0.0.1:${port}` } });
  for (const folder of [opened, "closed"]) {
    mkdirSync(join(palace.home, folder));
    for (const name of [".gitignore", "here.md"]) writeFileSync(join(palace.home, folder, name), "");
  }
  await palace.startBroker({ MEMPALACE_MINE_ROOTS: join(palace.home, opened) });
  const { stdout } = await palace.run("palace", ["token", "add", "box", "--json"]);
  const { token } = JSON.parse(stdout) as { token: string };
  const env = {
    HOME: `${palace.home}/elsewhere`,
    MEMPALACE_BROKER: `http://127.0.0.1:${port}`,
    MEMPALACE_TOKEN: token,
  };
  const client = await connectClient({ config: loadConfig(env), agent: "visitor", start: "never" });
  try {
    const sources = [opened, "closed"].flatMap((folder) =>
      ["here.md", "gone.md"].map((name) => join(palace.home, folder, name)),
    );
    for (const [at, source_file] of [...sources, "/etc/passwd", "/etc/not-there"].entries())
      await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: `note ${at}`, source_file });
    const all = (await client.callTool("mempalace_sync", {})) as Record<string, unknown>;
    expect(all).toMatchObject({ scanned: 6, kept: 1, missing: 1, unresolved: 4 });
    const closed = (await client.callTool("mempalace_sync", { project_dir: join(palace.home, "closed") })) as Record<
      string,
      unknown
    >;
    expect(closed).toMatchObject({ kept: 0, missing: 0, gitignored: 0 });
  } finally {
    client.close();
  }
});
