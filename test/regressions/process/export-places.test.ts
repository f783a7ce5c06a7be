/** An export followed a symbolic link into the memory's home, hung on a folder in /proc, and refused a slash at the path's end. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { exportPalace, type ExportInput } from "../../../src/mempalace/rebuild/export.ts";
import { Steps } from "../../../src/base/job-progress.ts";
import { createLedger, insertDrawers } from "../../helpers/ledger-fixture.ts";
import { ROOT } from "../../helpers/palace.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "export-places-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function input(dir: string): ExportInput {
  const ledgerFile = join(folder, "ledger.sqlite3");
  if (!existsSync(ledgerFile)) {
    const ledger = createLedger(ledgerFile);
    insertDrawers(ledger, [{ text: "one", vector: Float32Array.of(0.6, 0.8) }]);
    ledger.close();
  }
  mkdirSync(join(folder, "home/palace"), { recursive: true });
  const own = { ledgerFile, palaceDir: join(folder, "home/palace"), home: join(folder, "home"), tag: "tag" };
  return { ...own, collection: "mempalace_drawers", dir, chroma: null, lastRow: 1, partial: false };
}

test.each(["link/new", "link/palace", "link/../home/new", "home/..x/../new", "link"])(
  "export refuses %s as a link or as a folder of the memory",
  async (place) => {
    const given = input(`${folder}/${place}`);
    symlinkSync(join(folder, "home"), join(folder, "link"));
    await expect(exportPalace(given, new Steps())).rejects.toMatchObject({ code: "CONFIG_USAGE" });
    expect(readdirSync(join(folder, "home"))).toEqual(["palace"]);
  },
);

test("export refuses a dangling link and calls it a link", async () => {
  symlinkSync("/nowhere/at/all", join(folder, "dangling"));
  await expect(exportPalace(input(join(folder, "dangling")), new Steps())).rejects.toMatchObject({
    message: expect.stringMatching(/is a symbolic link$/) as string,
  });
});

test("export accepts a path with a slash at its end", async () => {
  expect(await exportPalace(input(`${folder}/out/new/`), new Steps())).toMatchObject({ drawers: 1 });
  expect(readdirSync(join(folder, "out"))).toEqual(["new"]);
});

test.skipIf(!existsSync("/proc/self"))(
  "export refuses a place where it cannot make a folder, and leaves no thread running",
  () => {
    const [exporter, steps] = ["mempalace/rebuild/export", "base/job-progress"].map((name) =>
      pathToFileURL(join(ROOT, `src/${name}.ts`)).toString(),
    );
    const program = `
    const [{ exportPalace }, { Steps }] = await Promise.all([import("${exporter}"), import("${steps}")]);
    await exportPalace(${JSON.stringify(input("/proc/new"))}, new Steps()).catch((error) => console.log(error.code));`;
    const { stdout, signal } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      timeout: 30_000,
    });
    expect({ stdout, signal }).toEqual({ stdout: "CONFIG_USAGE\n", signal: null });
  },
);
