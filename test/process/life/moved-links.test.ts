/** Tests the links of a palace folder that was moved. MemPalace keeps them in `tunnels.json` beside the palace's folder. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";

type Link = { id: string; label?: string };

const OTHER = {
  id: "0123456789abcdef",
  source: { wing: "theirs", room: "a" },
  target: { wing: "theirs", room: "b" },
  label: "of the other folder",
  kind: "explicit",
  created_at: "2026-01-02T03:04:05+00:00",
};

test("a palace folder that is moved beside another tunnels.json keeps its links; a link that is later removed from that file is deleted", async () => {
  await using box = createTestPalace();
  const [before, after] = ["before", "after"].map((name) => {
    const folder = join(box.home, name);
    mkdirSync(folder);
    return { folder, palace: join(folder, "palace"), file: join(folder, "tunnels.json") };
  }) as [Record<"folder" | "palace" | "file", string>, Record<"folder" | "palace" | "file", string>];
  /** Runs a broker on the palace and returns the labels of its links at the end. */
  const during = async (path: string, label?: string): Promise<(string | undefined)[]> => {
    const palace = createTestPalace({ home: box.home, env: { MEMPALACE_PALACE_PATH: path } });
    await palace.startBroker();
    const shim = await palace.shim();
    const ends = { source_wing: "w", source_room: "r", target_wing: "w", target_room: "s" };
    if (label !== undefined) await shim.call("mempalace_create_tunnel", { ...ends, label });
    const links = (await shim.call("mempalace_list_tunnels", {})) as unknown as Link[] | { tunnels: Link[] };
    await shim.close();
    const stopped = await palace.run("palace", ["stop"]);
    expect(stopped, stopped.stderr).toMatchObject({ code: 0 });
    return (Array.isArray(links) ? links : links.tunnels).map((link) => link.label).sort();
  };
  const inFile = (): Link[] => JSON.parse(readFileSync(after.file, "utf8")) as Link[];

  expect(await during(before.palace, "ours")).toEqual(["ours"]);
  renameSync(before.palace, after.palace);
  writeFileSync(after.file, JSON.stringify([OTHER]));
  expect(await during(after.palace)).toEqual(["of the other folder", "ours"]);
  expect(
    inFile()
      .map(({ label }) => label)
      .sort(),
  ).toEqual(["of the other folder", "ours"]);

  writeFileSync(after.file, JSON.stringify(inFile().filter(({ label }) => label !== "ours")));
  expect(await during(after.palace)).toEqual(["of the other folder"]);
});
