/** Tests writes on a full disk and on a read-only disk. Needs root to mount small disks (tmpfs). */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestPalace, exitOf, ROOT, type TestPalace } from "../../helpers/palace.ts";

const why =
  process.getuid?.() === 0 && process.platform === "linux" ? undefined : "mounting a small disk needs root on Linux";
if (why !== undefined) console.log(`left out: full disk (${why})`);

/** Mounts `size` of tmpfs as the palace's home. */
function smallDisk(palace: TestPalace, size: string): Disposable {
  const { home } = palace.config.paths;
  mkdirSync(home, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", home]);
  return { [Symbol.dispose]: () => void execFileSync("umount", ["-l", home]) };
}

/** Fills the disk of the palace's home except for `leftBytes`, and returns the files that fill it. */
function fillUp({ config }: TestPalace, leftBytes: number): string[] {
  const { home } = config.paths;
  const files: string[] = [];
  const { bavail, bsize } = statfsSync(home);
  let part = Buffer.alloc(Math.max(bavail * bsize - leftBytes, 0));
  for (let nth = 0; part.length > 0; nth++) {
    const file = join(home, `ballast-${leftBytes}-${nth}`);
    files.push(file);
    try {
      writeFileSync(file, part);
      part = leftBytes > 0 ? Buffer.alloc(0) : part;
    } catch {
      part = part.subarray(0, part.length >> 1);
    }
  }
  return files;
}

describe.skipIf(why !== undefined)("a full disk", () => {
  it("a write on a full disk fails with a typed error and stores nothing; reads continue, and writes work again when there is space", async () => {
    await using palace = createTestPalace();
    using _disk = smallDisk(palace, "3m");
    const broker = await palace.startBroker();
    const client = await palace.client();
    const acknowledged: string[] = [];
    let failure: unknown;
    // The ballast simulates another program's files that filled the disk.
    const ballast = join(palace.config.paths.home, "ballast");
    writeFileSync(ballast, Buffer.alloc(1024 * 1024));
    for (let index = 0; index < 2000 && failure === undefined; index++) {
      const content = `${index} ${"text that takes room on the disk ".repeat(20)}`;
      await client.callTool("mempalace_add_drawer", { wing: "full", room: "disk", content }).then(
        (result) => acknowledged.push((result as { drawer_id: string }).drawer_id),
        (error: unknown) => (failure = error),
      );
    }
    expect(failure).toMatchObject({ code: "STORE_DISK_FULL" });
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(broker.exitCode).toBeNull();
    expect(await client.callTool("mempalace_list_drawers", { wing: "full" })).toMatchObject({
      total: acknowledged.length,
    });
    expect(await client.callTool("mempalace_search", { query: "text that takes room" })).toHaveProperty("results");
    rmSync(ballast);
    expect(
      await client.callTool("mempalace_add_drawer", { wing: "full", room: "disk", content: "room again" }),
    ).toMatchObject({ success: true });
    for (const id of acknowledged)
      expect(await client.callTool("mempalace_get_drawer", { drawer_id: id })).toHaveProperty("content");
    client.close();
    broker.kill("SIGTERM");
    await new Promise((resolve) => broker.once("exit", resolve));
  });

  it("on a full disk the next broker starts after a kill: reads work, and a write is refused until there is space", async () => {
    await using palace = createTestPalace();
    using _disk = smallDisk(palace, "4m");
    const first = await palace.startBroker();
    const client = await palace.client();
    const note = (index: number): Record<string, string> => ({
      ...{ wing: "full", room: "disk", content: `${index} ${"text that takes room on the disk ".repeat(20)}` },
    });
    const acknowledged: string[] = [];
    const ballast = fillUp(palace, 1536 * 1024);
    let failure: unknown;
    for (let index = 0; index < 2000 && failure === undefined; index++)
      await client.callTool("mempalace_add_drawer", note(index)).then(
        (result) => acknowledged.push((result as { drawer_id: string }).drawer_id),
        (error: unknown) => (failure = error),
      );
    expect(failure).toMatchObject({ code: "STORE_DISK_FULL" });
    expect(acknowledged.length).toBeGreaterThan(10);
    client.close();
    first.kill("SIGKILL");
    await exitOf(first);
    const rest = fillUp(palace, 0);
    expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
    const reader = await palace.client();
    for (const id of acknowledged)
      expect(await reader.callTool("mempalace_get_drawer", { drawer_id: id })).toHaveProperty("content");
    expect(await reader.callTool("mempalace_search", { query: "text that takes room" })).toHaveProperty("results");
    const refused = reader.callTool("mempalace_add_drawer", note(3000));
    await expect(refused).rejects.toMatchObject({ code: "STORE_DISK_FULL" });
    for (const file of [...ballast, ...rest]) rmSync(file);
    expect(await reader.callTool("mempalace_add_drawer", note(3000))).toMatchObject({ success: true });
    expect(await reader.callTool("mempalace_list_drawers", { wing: "full" })).toMatchObject({
      total: acknowledged.length + 1,
    });
    reader.close();
  });

  it("on a full disk no partial event is stored: earlier events stay, and events can be appended again when there is space", async () => {
    await using palace = createTestPalace();
    using _disk = smallDisk(palace, "4m");
    await palace.startBroker();
    const client = await palace.client();
    const ballast = join(palace.config.paths.home, "ballast");
    writeFileSync(ballast, Buffer.alloc(1024 * 1024));
    const patch = { content: "+ a line\n".repeat(6_000), from_agent: "a", stream: "full" };
    const submit = (): Promise<unknown> => client.callTool("mempalace_patch_submit", patch);
    let acknowledged = 0;
    let failure: unknown;
    while (failure === undefined && acknowledged < 1_000)
      await submit().then(
        () => (acknowledged += 1),
        (error: unknown) => (failure = error),
      );
    expect(failure).toMatchObject({ code: "STORE_DISK_FULL" });
    const listed = (): Promise<unknown> => client.callTool("mempalace_event_list", { limit: 500 });
    expect(await listed()).toMatchObject({ count: acknowledged });
    rmSync(ballast);
    expect(await submit()).toMatchObject({ success: true });
    expect(await listed()).toMatchObject({ count: acknowledged + 1 });
    client.close();
  });

  it("a mine on a disk without a free byte says that the disk is full, and the broker can still be stopped", async () => {
    await using palace = createTestPalace();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", palace.home]);
    try {
      const project = join(ROOT, "docs");
      expect(await palace.run("palace", ["start"])).toMatchObject({ code: 0 });
      let free = Buffer.alloc(1024 * 1024);
      for (let at = 0; free.length > 0; at++)
        try {
          writeFileSync(join(palace.home, `ballast-${at}`), free);
        } catch {
          free = free.subarray(0, free.length >> 1);
        }
      const mined = await palace.run("palace", ["mine", "docs", project]);
      expect(mined).toMatchObject({ code: 7, stderr: expect.stringMatching(/is full\n {2}free some space/) as string });
      expect(await palace.run("palace", ["stop"])).toMatchObject({
        ...{ code: 7, stdout: "" },
        stderr: expect.stringMatching(/the broker has ended, but .* is full/) as string,
      });
      expect(await palace.run("palace", ["status", "--json"])).toMatchObject({ code: 3 });
    } finally {
      execFileSync("umount", ["-l", palace.home]);
    }
  });

  it("an error names a read-only disk and the next command, and the palace is unchanged when it can be written again", async () => {
    await using palace = createTestPalace();
    using _disk = smallDisk(palace, "8m");
    const { home } = palace.config.paths;
    const broker = await palace.startBroker();
    const client = await palace.client();
    await client.callTool("mempalace_add_drawer", { wing: "ro", room: "r", content: "before" });
    client.close();
    broker.kill("SIGTERM");
    await new Promise((resolve) => broker.once("exit", resolve));
    execFileSync("mount", ["-o", "remount,ro", home]);
    const started = await palace.run("mempalace-broker", ["--ensure"]);
    expect(started.code).toBe(7);
    expect(started.stderr).toMatch(/cannot be written/);
    expect(started.stderr).toMatch(/writable|--palace/);
    execFileSync("mount", ["-o", "remount,rw", home]);
    chmodSync(home, 0o700);
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_list_drawers", {})).toMatchObject({ total: 1 });
  });

  it("a full disk under the spool causes an error; earlier writes stay, and are delivered with later writes when there is space", async () => {
    await using palace = createTestPalace();
    await palace.run("palace", ["stop"]);
    const { stateDir } = palace.config.paths;
    // The mount hides the file that records `palace stop`, so `stop` is run again below.
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", stateDir]);
    try {
      await palace.run("palace", ["stop"]);
      const shim = await palace.shim();
      let kept = 0;
      let failure: unknown;
      for (; kept < 200 && failure === undefined; kept++) {
        const note = { wing: "full", room: "spool", content: `${kept} ${"kept text ".repeat(60)}` };
        await shim.call("mempalace_add_drawer", note).catch((error: unknown) => (failure = error));
      }
      expect(String(failure)).toMatch(/the disk of .* is full/);
      kept -= 1;
      expect(kept).toBeGreaterThan(5);
      expect(JSON.parse((await palace.run("palace", ["spool", "list", "--json"])).stdout)).toMatchObject({
        waiting: { length: kept },
        refused: [],
      });
      // The log is also on the full disk. A broker starts and works without a log.
      expect((await palace.run("palace", ["start"])).code).toBe(0);
      expect(JSON.parse((await palace.run("palace", ["spool", "replay", "--json"])).stdout)).toMatchObject({
        waiting: 0,
      });
      const late = { wing: "full", room: "spool", content: "room again" };
      expect(await shim.call("mempalace_add_drawer", late)).toHaveProperty("drawer_id");
      expect(await shim.call("mempalace_list_drawers", { wing: "full" })).toMatchObject({ total: kept + 1 });
      await shim.close();
      await palace.run("palace", ["stop"]);
    } finally {
      execFileSync("umount", ["-l", stateDir]);
    }
  });
});
