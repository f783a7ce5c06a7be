/** `sync` looked up all files of drawers and read all ignore rules in one step, so other calls waited for minutes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { connectClient } from "../../../src/wire/client/client.ts";
import { heldBy, heldMaxMs } from "../../helpers/held-loop.ts";
import { createTestPalace } from "../../helpers/palace.ts";

const REPEATS = 10;

test(
  "impossible file names and megabytes of ignore rules neither delay other calls nor end a sync",
  { timeout: 300_000 },
  async () => {
    await using palace = createTestPalace();
    const broker = (await palace.startBroker()).pid as number;
    const [client, prober] = [
      await palace.client(),
      await connectClient({ config: palace.config, agent: "prober", start: "never" }),
    ];
    try {
      const project = join(palace.home, "project");
      const folder = join(project, "sub".concat("/sub".repeat(9)));
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "here.md"), "");
      writeFileSync(join(project, "brackets.md"), "");
      writeFileSync(join(project, ".gitignore"), `${"[".repeat(20_000)}\n*[${"ab".repeat(10_000)}]z\n`);
      for (let at = folder; at !== project; at = join(at, ".."))
        writeFileSync(join(at, ".gitignore"), "a\n".repeat(100_000));
      const deep = Array.from({ length: 10 }, (_, at) => `/gone-${at}${"/a".repeat(2_000)}/b.md`);
      const impossible = [
        "/".repeat(100_000),
        `/${"x".repeat(300)}/a.md`,
        `/${"a/a/../".repeat(20_000)}b.md`,
        "/a\0b/c.md",
      ];
      const sources = [...deep, ...impossible, join(folder, "here.md"), join(project, "brackets.md")];
      for (const [at, source_file] of sources.entries())
        await client.callTool("mempalace_add_drawer", { wing: "w", room: "r", content: `note ${at}`, source_file });

      expect(await client.callTool("mempalace_sync", {})).toMatchObject({ scanned: sources.length, kept: 2 });
      const all = { project_dir: project };
      expect(await client.callTool("mempalace_sync", all)).toMatchObject({ kept: 1, gitignored: 0 });
      let [held, read] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
      for (let times = 0; times < REPEATS && !(held - read <= heldMaxMs(read)); times++) {
        const syncs = (): Promise<unknown> =>
          client.callTool("mempalace_sync", {}).then(() => client.callTool("mempalace_sync", all));
        held = Math.min(held, await heldBy(broker, prober, syncs));
        const words = { text: "some words ".repeat(100_000) };
        read = Math.min(read, await heldBy(broker, prober, () => client.callTool("mempalace_nothing", words)));
      }
      expect(held - read, `held for ${held} ms, by no tool ${read} ms`).toBeLessThanOrEqual(heldMaxMs(read));
    } finally {
      for (const open of [client, prober]) open.close();
    }
  },
);
