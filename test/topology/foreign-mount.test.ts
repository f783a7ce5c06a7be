/**
 * A palace that a container sees through a mount of its own kind (FUSE, as virtual machines share folders): a lock taken there
 * is not the host's lock, so nothing in the container opens it. Real bindfs, real container.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { buildImage, openBox } from "./grid/box.ts";

const missing =
  engineMissing(process.env) ??
  (existsSync("/usr/bin/bindfs") ? undefined : "there is no bindfs (apt-get install bindfs)");
if (missing !== undefined) console.warn(`foreign mount left out: ${missing}`);

describe.skipIf(missing)("a palace behind a shared folder", () => {
  beforeAll(buildImage);

  test("is not opened from the container, whatever is tried; writes are spooled, and the host's stay whole", async () => {
    await using palace = createTestPalace();
    const shared = mkdtempSync(join(tmpdir(), "palace-shared-"));
    await palace.startBroker();
    const client = await palace.client();
    await client.callTool("mempalace_add_drawer", { wing: "w", room: "host", content: "of the host" });
    const { home } = palace.config.paths;
    mkdirSync(shared, { recursive: true });
    // Everything is the container's user there, so that no permission keeps it out: only we do.
    execFileSync("bindfs", [
      "-o",
      "allow_other",
      "--force-user=1000",
      "--force-group=1000",
      "--perms=0700",
      home,
      shared,
    ]);
    try {
      await using box = await openBox({ name: "foreign-mount", volumes: [`${shared}:/palace`] });
      const before = readdirSync(home).toSorted();
      const agent = await box.agent();
      const kept = { wing: "w", room: "box", content: "of the container" };
      expect(await agent.call("mempalace_add_drawer", kept)).toMatchObject({ spooled: true });
      await expect(agent.call("mempalace_search", { query: "host" })).rejects.toThrow("shared folder");
      for (const command of [
        ["palace", "start"],
        ["mempalace-broker", "--foreground"],
        ["mempalace-broker", "--ensure"],
      ]) {
        const tried = await box.exec(...command);
        expect(tried.exitCode, command.join(" ")).toBe(6);
        expect(tried.stderr).toContain("palace bridge setup");
      }
      const doctor = await box.exec("palace", "doctor");
      expect(doctor.stdout).toContain("shared folder");
      await agent.close();
      expect(readdirSync(home).toSorted()).toEqual(before);
      expect(await client.callTool("mempalace_list_drawers", { wing: "w" })).toMatchObject({ total: 1 });
    } finally {
      client.close();
      execFileSync("umount", ["-l", shared]);
      rmSync(shared, { recursive: true, force: true });
    }
  });
});
