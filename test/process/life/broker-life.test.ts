import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { findBroker } from "../../../src/wire/client/discover.ts";
import { ensureBroker } from "../../../src/wire/client/start.ts";
import { stopBroker } from "../../../src/wire/client/stop.ts";
import type { BrokerFile } from "../../../src/protocol/spec.ts";
import { createTestPalace, exitOf, processesWith } from "../../helpers/palace.ts";

const note = { wing: "life", room: "notes", content: "a note that must survive" };

describe("the broker's life", () => {
  it("the broker starts on demand for the first of many clients and is one process", async () => {
    await using palace = createTestPalace();
    const shims = await Promise.all(Array.from({ length: 8 }, () => palace.shim()));
    const results = await Promise.all(
      shims.map((shim, n) => shim.call("mempalace_add_drawer", { ...note, content: `from ${n}` })),
    );
    expect(results.every((result) => result["success"] === true)).toBe(true);
    // A broker that lost the race for the lock may still be ending.
    const brokers = (): number[] =>
      processesWith(palace.home).filter((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("mempalace-broker"),
      );
    await expect.poll(brokers).toHaveLength(1);
    for (const shim of shims) expect(await shim.close()).toBe(0);
  });

  it("a second broker ends at once and names the first", async () => {
    await using palace = createTestPalace();
    const first = await palace.startBroker();
    const second = await palace.run("mempalace-broker", ["--foreground"]);
    expect(second.code).toBe(0);
    expect(second.stderr).toContain("another broker holds this palace");
    expect(second.stderr).toContain(String(first.pid));
    expect(first.exitCode).toBeNull();
  });

  it("mempalace-broker --ensure prints one JSON line with the endpoint, and names the same broker at the next call", async () => {
    await using palace = createTestPalace();
    const first = await palace.run("mempalace-broker", ["--ensure"]);
    const again = await palace.run("mempalace-broker", ["--ensure"]);
    expect(JSON.parse(first.stdout)).toMatchObject({
      endpoint: `unix:${palace.config.paths.socketPath}`,
      started: true,
    });
    expect(JSON.parse(again.stdout)).toMatchObject({ instanceId: JSON.parse(first.stdout).instanceId, started: false });
  });

  it("a broker that was stopped by hand stays stopped until somebody starts it again", async () => {
    await using palace = createTestPalace();
    await palace.startBroker();
    expect(await stopBroker(palace.config)).toEqual({ stopped: true, staysOff: true });
    expect(await findBroker(palace.config)).toBeUndefined();
    await expect(ensureBroker(palace.config)).rejects.toMatchObject({
      code: "BROKER_STOPPED",
      hint: "run `palace start`",
    });
    const ensured = await palace.run("mempalace-broker", ["--ensure"]);
    expect(ensured.code).toBe(0);
    expect(await findBroker(palace.config)).toBeDefined();
  });

  it("the broker answers accepted calls before SIGTERM ends it, and the next broker gets the other calls", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    await using shim = await palace.shim();
    await shim.call("mempalace_add_drawer", note);
    const writes = Promise.all(
      Array.from({ length: 200 }, (_, n) => shim.call("mempalace_add_drawer", { ...note, content: `drained ${n}` })),
    );
    await delay(5);
    broker.kill("SIGTERM");
    const [code] = await once(broker, "exit");
    expect(code).toBe(0);
    // Writes that the ending broker did not accept go to the next broker, which the shim starts.
    expect((await writes).every((result) => result["success"] === true)).toBe(true);
    const { total } = (await shim.call("mempalace_list_drawers", { wing: "life" })) as { total: number };
    expect(total).toBe(201);
  });

  it("the broker ends by itself when no client is connected, and the next client starts it again", async () => {
    await using palace = createTestPalace({ env: { MEMPALACE_IDLE_EXIT_MINUTES: "0.02" } });
    await palace.run("mempalace-broker", ["--ensure"]);
    await expect.poll(() => findBroker(palace.config), { timeout: 15_000 }).toBeUndefined();
    await expect.poll(() => existsSync(palace.config.paths.brokerFile)).toBe(false);
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_add_drawer", note)).toMatchObject({ success: true });
  });

  it("the broker answers initialize before the palace is open", async () => {
    await using palace = createTestPalace();
    const first = await palace.startBroker();
    await palace.run("palace", ["call", "add_drawer", JSON.stringify(note)]);
    first.kill("SIGTERM");
    await once(first, "exit");
    // Locks the ledger, so that a broker that opens the ledger has to wait.
    const holder = new Database(palace.config.paths.ledgerFile);
    holder.pragma("locking_mode = EXCLUSIVE");
    holder.exec("BEGIN EXCLUSIVE");
    try {
      // The shim starts the broker only now, because SQLite waits for the lock for a limited time.
      await using shim = await palace.shim();
      const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "early", version: "1" } };
      expect(await shim.request("initialize", hello)).toMatchObject({ serverInfo: { name: "mempalace" } });
      expect((await findBroker(palace.config))?.health.status).toBe("opening");
      holder.close();
      expect(await shim.call("mempalace_list_drawers", {})).toMatchObject({ total: 1 });
    } finally {
      holder.close();
    }
  });

  it("the broker starts despite a dead broker's leftovers: socket, broker.json of another boot with a running process's pid, lock file, and files of a starting broker and of a service with times in the future", async () => {
    await using palace = createTestPalace();
    const { socketPath, brokerFile, lockFile, home, stateDir, tag, wantedFile } = palace.config.paths;
    mkdirSync(dirname(socketPath), { recursive: true });
    mkdirSync(home, { recursive: true });
    const dead = createServer();
    await new Promise<void>((resolve) => dead.listen(socketPath, resolve));
    const stale: BrokerFile = {
      schema: 1,
      instanceId: "of-another-boot",
      version: "0.0.1",
      protocol: { min: 1, max: 1 },
      pid: process.pid,
      bootId: "other",
      startedAtMs: 0,
      doors: [{ kind: "unix", path: socketPath }],
    };
    writeFileSync(brokerFile, JSON.stringify(stale));
    writeFileSync(lockFile, `broker ${process.pid}\n`);
    // Files that mark a starting broker and a service, with times in the future, as if the clock had been set back by an hour.
    mkdirSync(stateDir, { recursive: true });
    for (const mark of [join(stateDir, `${tag}.starting`), wantedFile]) {
      writeFileSync(mark, "");
      utimesSync(mark, Date.now() / 1000 + 3_600, Date.now() / 1000 + 3_600);
    }
    // The server at the old socket accepts connections without a handshake, so it does not count as a broker.
    await using shim = await palace.shim();
    expect(await shim.call("mempalace_add_drawer", note)).toMatchObject({ success: true });
    dead.close();
  });

  it("the broker refuses writes and ends when the palace vanishes, and does not create an empty palace in its place", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    const shim = await palace.shim();
    await shim.call("mempalace_add_drawer", note);
    const { home } = palace.config.paths;
    renameSync(home, `${home}.moved`);
    await expect(shim.call("mempalace_add_drawer", { ...note, content: "into the void" })).rejects.toThrow(
      /vanished|gone/,
    );
    await exitOf(broker);
    await expect(ensureBroker(palace.config)).rejects.toMatchObject({ code: "PALACE_GONE" });
    expect(existsSync(home)).toBe(false);
    await shim.close();
    renameSync(`${home}.moved`, home);
    await using back = await palace.shim();
    expect(await back.call("mempalace_list_drawers", {})).toMatchObject({ total: 1 });
  });

  it("no broker creates a new palace in place of a vanished one, and the error names `palace start --new`", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    broker.kill("SIGTERM");
    await once(broker, "exit");
    rmSync(palace.config.paths.home, { recursive: true });
    expect(await palace.run("mempalace-broker", ["--ensure"])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("palace start --new") as string,
    });
    expect(existsSync(palace.config.paths.home)).toBe(false);
  });

  it("the broker leaves a damaged ledger unchanged and says what to do", async () => {
    await using palace = createTestPalace();
    const broker = await palace.startBroker();
    const shim = await palace.shim();
    await shim.call("mempalace_add_drawer", note);
    await shim.close();
    broker.kill("SIGTERM");
    await once(broker, "exit");
    const garbage = Buffer.alloc(8192, "not a database ");
    writeFileSync(palace.config.paths.ledgerFile, garbage);
    await using other = await palace.shim();
    await expect(other.call("mempalace_status", {})).rejects.toThrow(/damaged/);
    await expect(other.call("mempalace_add_drawer", note)).rejects.toThrow(/damaged/);
    expect(readFileSync(palace.config.paths.ledgerFile).equals(garbage)).toBe(true);
  });
});
