/**
 * Tests the compose stack with real images, volumes and Chroma. The tests build on each other: each must find what the earlier ones wrote.
 */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { joinStack } from "../../src/cli/docker/one-memory.ts";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import type { StatusReport } from "../../src/protocol/spec.ts";
import { listDrawers } from "../helpers/list-drawers.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { DEVBOXES, type DockerStack, openStack } from "../helpers/docker-stack.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`compose topology left out: ${reason}`);

const SHIMS_A_CONTAINER = 4;
/** Number of drawers that each of the eight shims writes, all at the same time. */
const DRAWERS_A_SHIM = 250;
const DRAWERS_BESIDE_A_KILL = 500;
const IN_FLIGHT = 32;
const SYNC_POLLS_MAX = 600;
const SERVICES = ["chroma", "broker", "devbox"];

describe.skipIf(reason)("the compose stack", () => {
  let stack: DockerStack;
  let workspace: string;
  /** Contents of every acknowledged drawer of the wing `load`. */
  const acknowledged = new Set<string>();

  const up = (...args: string[]): Promise<string> =>
    stack.compose("up", "-d", "--wait", "--wait-timeout", "120", "--scale", `devbox=${DEVBOXES}`, ...args, "devbox");

  const expectEveryDrawer = async (): Promise<void> => {
    await using shim = await stack.shim(DEVBOXES);
    // Writes that were spooled during an outage take a moment to arrive. A list that is read meanwhile may repeat a drawer.
    let found: string[] = [];
    await until(async () => {
      found = await listDrawers(shim, "content_preview", "load");
      return acknowledged.isSubsetOf(new Set(found));
    });
    expect(found.length).toBe(acknowledged.size);
    expect(new Set(found)).toEqual(acknowledged);
  };

  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "palace-workspace-"));
    await writeProject(workspace);
    stack = await openStack(workspace, { isModelTiny: true });
    await up("--build");
  });

  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    if (workspace !== undefined) await rm(workspace, { recursive: true, force: true });
  });

  test("no service of the compose stack publishes a port, has a capability, runs as root or writes its own root folder", async () => {
    for (const service of SERVICES) {
      const { HostConfig, NetworkSettings } = await stack.inspect(service);
      expect(Object.values(NetworkSettings.Ports).filter(Boolean), service).toEqual([]);
      expect(HostConfig.PortBindings ?? {}, service).toEqual({});
      expect(HostConfig.ReadonlyRootfs, service).toBe(true);
      const { stdout } = await stack.exec(
        service,
        1,
        "sh",
        "-c",
        "id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status",
      );
      expect(stdout.replaceAll(/\s+/g, " "), service).toBe(
        "1000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1",
      );
    }
  });

  test("a devbox can neither write the palace nor reach Chroma", async () => {
    const write = await stack.exec("devbox", 1, "touch", "/palace/palace/intruder");
    expect(write).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Read-only file system") });
    const { NetworkSettings } = await stack.inspect("chroma");
    const addresses = Object.values(NetworkSettings.Networks).map(({ IPAddress }) => IPAddress);
    for (const host of ["chroma", ...addresses]) {
      const script = `fetch("http://${host}:8000/api/v2/heartbeat", { signal: AbortSignal.timeout(3000) })`;
      const reached = await stack.exec(
        "devbox",
        1,
        "node",
        "-e",
        `${script}.then(() => process.exit(0), () => process.exit(9))`,
      );
      expect(reached.exitCode, host).toBe(9);
      const broker = await stack.exec(
        "broker",
        1,
        "node",
        "-e",
        `${script}.then(() => process.exit(0), () => process.exit(9))`,
      );
      expect(broker.exitCode, host).toBe(0);
    }
  });

  test("palace doctor reports no fault in the devbox", async () => {
    const doctor = await stack.exec("devbox", 1, "palace", "doctor");
    expect(doctor.exitCode, doctor.stdout + doctor.stderr).toBe(0);
  });

  test("two containers write 2,000 drawers at the same time, and a third container finds them all", async () => {
    const writers = [1, 2].flatMap((container) =>
      Array.from({ length: SHIMS_A_CONTAINER }, (_, shim) => ({ container, shim })),
    );
    const contents = await Promise.all(
      writers.map(async ({ container, shim }) => {
        await using mcp = await stack.shim(container);
        return await writeDrawers(mcp, `c${container}s${shim}`, DRAWERS_A_SHIM);
      }),
    );
    for (const content of contents.flat()) acknowledged.add(content);
    expect(acknowledged.size).toBe(writers.length * DRAWERS_A_SHIM);
    await expectEveryDrawer();
  });

  test("mempalace-docs files a mounted project, and a search finds it", async () => {
    const filed = await stack.exec("devbox", 2, "mempalace-docs", "/workspace", "--json");
    expect(filed.exitCode, filed.stderr).toBe(0);
    const found = await stack.exec("devbox", 3, "palace", "search", "xylophone maintenance", "--json");
    expect(found.stdout).toContain("tuned every spring");
  });

  test("agents on the host share the memory without a port and start no broker", async () => {
    const engine = Object.fromEntries(["DOCKER_HOST", "DOCKER_CONFIG"].map((name) => [name, process.env[name]]));
    await using host = createTestPalace({ env: engine });
    const doctor = async (): Promise<string> => (await host.run("palace", ["doctor", "--no-start", "--json"])).stdout;
    expect(await doctor()).toContain('"one memory"');
    const joined = await joinStack(host.config, `${stack.project}-broker-1`, host.env);
    expect(joined).toEqual({ state: "joined" });
    // The environment of an agent may lack Docker's variables, but the setup has stored them.
    await using shim = await host.shim({ DOCKER_HOST: undefined, DOCKER_CONFIG: undefined });
    const written = await writeDrawers(shim, "host", 100, async () => {
      await stack.compose("up", "-d", "--wait", "--force-recreate", "--no-deps", "broker");
    });
    for (const content of written) acknowledged.add(content);
    await expectEveryDrawer();
    expect((await listDrawers(shim, "content_preview", "load")).length).toBe(acknowledged.size);
    expect(existsSync(host.config.paths.ledgerFile)).toBe(false);
    expect(await doctor()).not.toContain('"one memory"');
    const removed = await host.run("palace", ["bridge", "remove"]);
    expect(removed.code, removed.stderr).toBe(0);
    // Lets compose recreate the devboxes, too, before the next test begins, because the devboxes depend on the broker.
    await up();
    await expectEveryDrawer();
  });

  test("Docker restarts a broker that crashed", async () => {
    const { StartedAt } = (await stack.inspect("broker")).State;
    await stack.exec("broker", 1, "node", "-e", KILL_EVERYTHING);
    await until(async () => {
      const { State } = await stack.inspect("broker");
      return State.StartedAt !== StartedAt && State.Health?.Status === "healthy";
    });
    await expectEveryDrawer();
  });

  test.each(SERVICES)("no acknowledged drawer is lost when %s is killed during writes", async (service) => {
    // The shim runs in a devbox that is not killed.
    await using shim = await stack.shim(2);
    const written = await writeDrawers(shim, `killed-${service}`, DRAWERS_BESIDE_A_KILL, async () => {
      await stack.kill(service);
      await up();
    });
    for (const content of written) acknowledged.add(content);
    await expectEveryDrawer();
  });

  test("the commands of docs/how-to/backup.md restore a backup made in a devbox", async () => {
    const backup = await stack.exec("devbox", 1, "palace", "backup", "/home/developer/b.tar", "--json");
    expect(backup.exitCode, backup.stderr).toBe(0);
    expect(JSON.parse(backup.stdout)).toMatchObject({ file: "/home/developer/b.tar", encrypted: false });
    expect((await stack.exec("devbox", 1, "palace", "verify", "/home/developer/b.tar")).exitCode).toBe(0);
    const piped = await stack.exec("devbox", 1, "sh", "-c", "palace backup - | tar --list --file -");
    expect(piped.stdout, piped.stderr).toContain("ledger.sqlite3");
    await until(async () => (await stack.exec("broker", 1, "sh", "-c", "ls -d /palace/.backup-*")).exitCode !== 0);

    const refused = await stack.exec("devbox", 1, "palace", "restore", "/home/developer/b.tar", "--yes");
    expect(refused).toMatchObject({ exitCode: 7, stderr: expect.stringContaining("docs/how-to/backup.md") });
    // A drawer filed after the backup is in Chroma, and is adopted from there after the restore.
    {
      await using shim = await stack.shim(1);
      for (const content of await writeDrawers(shim, "after the backup", 1)) acknowledged.add(content);
    }
    await until(async () => (await driverOf(stack)).lag === 0);
    await stack.compose("stop", "broker");
    acknowledged.add(await writeInOutage(stack));
    const folder = `${stack.project}_devbox-data:/in:ro`;
    const restore = ["run", "--rm", "-T", "--no-deps", "--volume", folder, "broker", "palace", "restore", "/in/b.tar"];
    expect(await stack.compose(...restore, "--yes")).toContain("The old state is kept");
    await up();
    await expectEveryDrawer();
  });

  test("Chroma's collection has exactly the ledger's ids at the end", async () => {
    await using shim = await stack.shim(1);
    await until(async () => {
      const { lag, pending, state } = await driverOf(stack);
      return lag === 0 && pending === 0 && state === "synced";
    });
    const { stdout, stderr, exitCode } = await stack.exec(
      "chroma",
      1,
      "node",
      "--input-type=module",
      "-e",
      COLLECTION_IDS,
    );
    expect(exitCode, stderr).toBe(0);
    const held = JSON.parse(stdout) as string[];
    expect(held.length).toBe(new Set(held).size);
    expect(new Set(held)).toEqual(new Set(await listDrawers(shim, "drawer_id")));
  });
});

async function driverOf(stack: DockerStack): Promise<{ lag: number; state: string; pending: number }> {
  const { stdout } = await stack.exec("devbox", 1, "palace", "status", "--json");
  const { driver, search } = JSON.parse(stdout) as StatusReport;
  if (driver.kind === "none") throw new Error("no public palace is kept");
  return { lag: driver.lag, state: driver.state, pending: search.pending };
}

/** Prints all ids of the palace's collection, page by page. Runs in the chroma container. */
const COLLECTION_IDS = `
import { ChromaClient } from "chromadb";
console.warn = () => {};
const collection = await new ChromaClient({ host: "127.0.0.1", port: 8000 }).getCollection({ name: "mempalace_drawers" });
const ids = [];
for (let page; page === undefined || page.ids.length > 0; ids.push(...page.ids))
  page = await collection.get({ limit: 1000, offset: ids.length, include: [] });
console.log(JSON.stringify(ids));
`;

/** Kills every process of its user, itself last. init then ends the container. Runs in the broker container. */
const KILL_EVERYTHING = `process.kill(-1, "SIGKILL")`;

/** Files `count` drawers, several dozen at a time, and resolves to their contents. Calls `halfway` once, and waits for it too. */
async function writeDrawers(
  mcp: StdioMcp,
  name: string,
  count: number,
  halfway: () => Promise<void> = async () => {},
): Promise<string[]> {
  const contents: string[] = [];
  let beside: Promise<void> | undefined;
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      const content = `Drawer ${number} of ${name}: one of many that are written at the same time.`;
      const filed = await mcp.call("mempalace_add_drawer", { wing: "load", room: name, content });
      expect(filed).toMatchObject({ success: true });
      contents.push(content);
      if (contents.length >= count / 2) beside ??= halfway();
    }
  };
  // Waits for all workers, even if one fails, because the next test uses the same stack.
  const workers = await Promise.allSettled(Array.from({ length: IN_FLIGHT }, worker));
  await beside;
  for (const done of workers) if (done.status === "rejected") throw done.reason;
  return contents;
}

/**
 * Runs commands in the last devbox while the broker is stopped. The commands report that no broker runs, and a write is spooled.
 * Returns the content of that write.
 */
async function writeInOutage(stack: DockerStack): Promise<string> {
  const palace = (...args: string[]): ReturnType<DockerStack["exec"]> =>
    stack.exec("devbox", DEVBOXES, "palace", ...args);
  for (const args of [["search", "anything"], ["call", "status", "{}"], ["doctor"]]) {
    const { exitCode, stdout, stderr } = await palace(...args);
    expect(stdout + stderr, args.join(" ")).toMatch(/no broker/);
    expect(exitCode, args.join(" ")).not.toBe(0);
  }
  const drawer = { wing: "load", room: "outage", content: "Written in a devbox while its broker was stopped." };
  const written = await palace("call", "add_drawer", JSON.stringify(drawer), "--json");
  expect(JSON.parse(written.stdout), written.stderr).toMatchObject({ success: true, spooled: true });
  return drawer.content;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let poll = 0; poll < SYNC_POLLS_MAX; poll++) {
    if (await isTrue()) return;
    await delay(1000);
  }
  throw new Error(`not true after ${SYNC_POLLS_MAX} looks`);
}

async function writeProject(folder: string): Promise<void> {
  await mkdir(join(folder, "docs"));
  await writeFile(join(folder, "README.md"), "# Orchestra\n\nThe notes of a small orchestra's workshop.\n".repeat(3));
  await writeFile(
    join(folder, "docs", "xylophone.md"),
    "# Xylophone maintenance\n\nThe bars are oiled once a year and the whole instrument is tuned every spring.\n".repeat(
      3,
    ),
  );
  // The container's user has another uid and must be able to read the folder.
  await chmod(folder, 0o755);
}
