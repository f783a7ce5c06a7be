import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SILENT_LOG } from "../../../src/base/log.ts";
import { createFilesDriver } from "../../../src/mempalace/driver/files.ts";
import { createTestPalace, type TestPalace } from "../../helpers/palace.ts";

const ROWS = 120;

async function makePalace(palaceDir: string): Promise<void> {
  const driver = createFilesDriver({ palaceDir, log: SILENT_LOG });
  await driver.open();
  const rows = Array.from({ length: ROWS }, (_, n) => ({
    id: `drawer_${n}`,
    text: `number ${n}`,
    metadata: { wing: "old", room: "r" },
    vector: Float32Array.from({ length: 384 }, (_, at) => Math.sin(at * (n + 1))),
  }));
  await driver.upsert(rows);
  await driver.remove(["drawer_0"]);
  await driver.close();
}

async function adopt(
  palace: TestPalace,
  ...args: string[]
): Promise<{ code: number | null; said: Record<string, never> }> {
  const { code, stdout, stderr } = await palace.run("palace", ["adopt", ...args, "--json"]);
  expect(stderr).toBe("");
  return { code, said: JSON.parse(stdout) as Record<string, never> };
}

it("adopt previews a palace, adopts it in its folder and says how agents reach it", async () => {
  await using palace = createTestPalace();
  const home = join(palace.home, "two years");
  const palaceDir = join(home, "palace");
  expect(await adopt(palace, home)).toMatchObject({ code: 2, said: { error: { code: "CONFIG_USAGE" } } });
  await makePalace(palaceDir);
  const before = readdirSync(palaceDir);
  // The argument may be the palace's home instead of the palace folder.
  expect(await adopt(palace, home, "--dry-run")).toMatchObject({
    code: 0,
    said: { palace: palaceDir, dryRun: true, drawers: ROWS - 1, queued: 0, vectors: ROWS - 1, width: 384, torn: null },
  });
  expect(readdirSync(palaceDir)).toEqual(before);

  try {
    expect(await adopt(palace, palaceDir)).toMatchObject({
      code: 0,
      said: { palace: palaceDir, drawers: ROWS - 1, adoption: { state: "verified", rows: ROWS - 1 } },
    });
    // A second adoption changes nothing. Its text output says what to do next.
    const { code, stdout } = await palace.run("palace", ["adopt", palaceDir]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/all 119 rows of the public palace are in this memory/);
    // The path is in quotes, because the folder's name contains a space.
    expect(stdout).toContain(`shim --palace '${palaceDir}'`);
    const found = await palace.run("palace", ["search", "number 77", "--palace", palaceDir, "--json"]);
    expect(found.stdout).toContain("number 77");
    const doctor = await palace.run("palace", ["doctor", "--palace", palaceDir, "--json"]);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; state: string; detail: string }[] };
    expect(checks.find(({ name }) => name === "adoption")).toMatchObject({
      state: "ok",
      detail: expect.stringMatching(/^all 119 rows/) as string,
    });
  } finally {
    await palace.run("palace", ["stop", "--palace", palaceDir]);
  }
});
