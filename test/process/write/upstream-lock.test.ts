import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestPalace } from "../../helpers/palace.ts";
import {
  holdMempalaceLock,
  MEMPALACE_VERSIONS,
  mempalaceMissing,
  openMempalace,
  runMempalace,
  startPythonChroma,
} from "../../helpers/python-mempalace.ts";
import { status } from "../../helpers/python-rows.ts";

const note = { wing: "stray", room: "notes", content: "written by the real MemPalace" };
const NAMES_US = /is held by PID \d+ \(palace-devbox broker/;

/** Returns the text of a refusal, which is a failed result or a JSON-RPC error depending on the version. */
async function refusal(call: Promise<Record<string, unknown>>): Promise<string> {
  try {
    return JSON.stringify(await call);
  } catch (error) {
    const { code, message, data } = error as Error & { code?: unknown; data?: unknown };
    return `${String(code)} ${message} ${JSON.stringify(data)}`;
  }
}

for (const version of MEMPALACE_VERSIONS) {
  const missing = await mempalaceMissing(version);
  if (missing !== undefined) console.log(`left out: MemPalace's lock, ${version} (${missing})`);

  describe.skipIf(missing !== undefined)(`MemPalace ${version} of the same HOME`, () => {
    it("while the broker runs, MemPalace can read, and its writes are refused with our broker's name; MemPalace can write again afterwards", async () => {
      await using palace = createTestPalace();
      const palaceDir = palace.config.paths.palaceDir;
      const project = join(palace.home, "project");
      mkdirSync(project);
      writeFileSync(join(project, "mempalace.yaml"), "wing: stray\nrooms:\n  - name: general\n    description: all\n");
      writeFileSync(join(project, "notes.md"), "# Notes\n\nA document that is long enough to be mined. ".repeat(8));
      await using foreign = await openMempalace(version, { home: palace.home, palace: palaceDir });
      expect(await foreign.call("add_drawer", note)).toMatchObject({ success: true });
      await foreign[Symbol.asyncDispose]();

      const broker = await palace.startBroker();
      expect((await status(palace)).upstreamLock.state).toBe("held");
      await using second = await openMempalace(version, { home: palace.home, palace: palaceDir });
      const again = { ...note, content: "refused" };
      const refused = await refusal(second.call("add_drawer", again));
      expect(refused).toMatch(NAMES_US);
      expect(refused).toContain(`PID ${broker.pid} `);
      expect(await second.call("search", { query: "the real MemPalace" })).toMatchObject({
        results: [{ text: note.content }],
      });
      expect(await second.call("list_drawers", {})).toMatchObject({ count: 1 });
      const mine = await runMempalace(version, ["--palace", palaceDir, "mine", project], { home: palace.home });
      expect(mine).toMatchObject({ code: 1, output: expect.stringMatching(NAMES_US) as string });

      // The broker has adopted the drawer that MemPalace wrote before the broker started.
      await expect
        .poll(() => status(palace), { timeout: 30_000 })
        .toMatchObject({ drawers: 1, strays: { state: "clear" }, adoption: { state: "verified", rows: 1, taken: 1 } });

      // The kernel releases the lock however the process ends, so no stale lock file is left.
      broker.kill("SIGKILL");
      await once(broker, "exit");
      expect(await second.call("add_drawer", again)).toMatchObject({ success: true });
    });

    it("while a MemPalace that started earlier has its lock, the broker acknowledges our writes and does not write the public palace", async () => {
      await using palace = createTestPalace();
      const { palaceDir } = palace.config.paths;
      await using chroma = await startPythonChroma(version, palace.home, palaceDir);
      await using holder = await holdMempalaceLock(version, palace.home, palaceDir);
      const env = {
        MEMPALACE_CHROMA_URL: chroma.url,
        MEMPALACE_MODEL_DIR: join(palace.home, "tiny-model"),
      };
      await palace.startBroker(env);
      await using shim = await palace.shim(env);
      expect(await shim.call("mempalace_add_drawer", { ...note, content: "ours" })).toMatchObject({ success: true });
      await expect
        .poll(async () => (await status(palace)).driver)
        .toMatchObject({
          state: "waiting",
          lag: 1,
          detail: expect.stringContaining(`PID ${holder.pid}`) as string,
        });
      expect((await status(palace)).upstreamLock).toMatchObject({ state: "waiting" });
      const doctor = await palace.run("palace", ["doctor", "--json"], { env });
      const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; state: string; detail: string }[] };
      expect(checks.find(({ name }) => name === "palace lock")).toMatchObject({
        state: "warn",
        detail: expect.stringContaining(`PID ${holder.pid}`) as string,
      });
      const collections = `${chroma.url}/api/v2/tenants/default_tenant/databases/default_database/collections`;
      expect(await (await fetch(collections)).json()).toEqual([]);

      await holder[Symbol.asyncDispose]();
      await expect
        .poll(async () => (await status(palace)).driver, { timeout: 30_000 })
        .toMatchObject({ state: "synced", lag: 0 });
      expect((await status(palace)).upstreamLock.state).toBe("held");
      expect(await (await fetch(collections)).json()).toMatchObject([{ name: "mempalace_drawers" }]);
    });
  });
}
