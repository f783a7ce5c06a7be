/** Tests that no container opens a palace through a foreign mount (FUSE): a lock taken there is not the host's lock. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { resolveListenHost } from "../../src/broker/door/listen.ts";
import { openFilesMissing, watchOpenFiles } from "../helpers/open-files.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { sshdMissing, startSshd } from "../helpers/sshd.ts";
import { writeTinyModel } from "../helpers/tiny-model.ts";
import { type Box, buildImage, openBox } from "./grid/box.ts";
import { bridge } from "./grid/native.ts";

const missing =
  engineMissing(process.env) ??
  (existsSync("/usr/bin/bindfs") ? undefined : "there is no bindfs (apt-get install bindfs)");
if (missing !== undefined) console.warn(`foreign mount left out: ${missing}`);

const cannotBridge = sshdMissing ?? openFilesMissing;
if (missing === undefined && cannotBridge !== undefined)
  console.warn(`foreign mount, bridged left out: ${cannotBridge}`);

/** Opens a container that sees the palace's folder through bindfs. Disposing of it removes the container and the mount. */
async function openShared({ config: { paths } }: TestPalace, name: string): Promise<AsyncDisposable & { box: Box }> {
  const shared = mkdtempSync(join(tmpdir(), "palace-shared-"));
  // bindfs shows everything as owned by the container's user: only palace-devbox's check for a foreign mount keeps this user out.
  const options = ["allow_other", "--force-user=1000", "--force-group=1000", "--perms=0700"];
  execFileSync("bindfs", ["-o", ...options, paths.home, shared]);
  const unmount = (): void => {
    execFileSync("umount", ["-l", shared]);
    rmSync(shared, { recursive: true, force: true });
  };
  try {
    const box = await openBox({ name, mounts: [{ source: shared, target: "/palace" }] });
    return {
      box,
      [Symbol.asyncDispose]: async () => {
        await box[Symbol.asyncDispose]();
        unmount();
      },
    };
  } catch (error) {
    unmount();
    throw error;
  }
}

describe.skipIf(missing)("a palace behind a shared folder", () => {
  beforeAll(buildImage);

  test("a container never opens a palace behind a shared folder, but spools writes, and the host's memory stays whole", async () => {
    await using palace = createTestPalace();
    await palace.startBroker();
    const client = await palace.client();
    await client.callTool("mempalace_add_drawer", { wing: "w", room: "host", content: "of the host" });
    const { home } = palace.config.paths;
    try {
      await using shared = await openShared(palace, "foreign-mount");
      const { box } = shared;
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
    }
  });

  test.skipIf(cannotBridge)(
    "a container reaches the palace over a bridge: its spooled writes arrive, and it works beside the host's agents without opening the palace",
    async () => {
      await using palace = createTestPalace();
      const { home } = palace;
      Object.assign(palace.env, {
        MEMPALACE_PATH: join(home, ".mempalace"),
        MEMPALACE_MODEL_DIR: writeTinyModel(join(home, "model")),
        XDG_STATE_HOME: join(home, ".local/state"),
        XDG_CACHE_HOME: join(home, ".cache"),
      });
      await using sshd = await startSshd(home, resolveListenHost("docker"));
      await palace.startBroker();
      await using watch = watchOpenFiles(palace.config.paths.home);
      await using shared = await openShared(palace, "foreign-bridged");
      const note = (content: string): Record<string, string> => ({ wing: "w", room: "r", content });
      const early = await shared.box.agent();
      expect(await early.call("mempalace_add_drawer", note("before the bridge"))).toMatchObject({ spooled: true });
      await bridge(shared.box, sshd, false, async (...args) => (await palace.run("palace", args)).stdout);
      const agents = [await palace.shim(), await shared.box.agent()];
      const written = await Promise.all(
        agents.map(async (agent, place) => {
          const ids: unknown[] = [];
          for (let index = 0; index < 150; index++)
            ids.push((await agent.call("mempalace_add_drawer", note(`place ${place} writes ${index}`)))["drawer_id"]);
          return ids;
        }),
      );
      expect(new Set(written.flat().filter((id) => typeof id === "string")).size).toBe(300);
      const list = (): Promise<unknown> => agents[0]?.call("mempalace_list_drawers", { wing: "w" }) ?? Promise.reject();
      await expect.poll(list, { timeout: 60_000, interval: 500 }).toMatchObject({ total: 301 });
      for (const agent of [...agents, early]) await agent.close();
      await watch.expectOneAtATime();
    },
  );
});
