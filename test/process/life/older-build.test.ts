import { spawn } from "node:child_process";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { findBroker, readBrokerFile } from "../../../src/wire/client/discover.ts";
import { SCHEMA_VERSION } from "../../../src/memory/ledger/schema/schema.ts";
import { installOlderBuild, OLDER_SCHEMA } from "../../helpers/older-build.ts";
import { openFilesMissing, watchOpenFiles } from "../../helpers/open-files.ts";
import { createTestPalace, exitOf, type TestPalace } from "../../helpers/palace.ts";
import { assertWhole, fileDrawer } from "../../helpers/storm.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";

if (openFilesMissing !== undefined) console.log(`left out: an older build (${openFilesMissing})`);

const AT_LEAST = 25;
const WRITES_MAX_MS = 120_000;

/** Lets agents write one drawer after another until `end` is called. */
function writing(palace: TestPalace, shims: readonly StdioMcp[], name: string) {
  const ids = new Set<string>();
  let goesOn = true;
  const done = Promise.all(
    shims.map(async (shim, agent) => {
      for (let index = 0; goesOn; index++)
        ids.add(
          await fileDrawer(palace, shim, { wing: "skew", room: name, content: `${name} ${agent} writes ${index}` }),
        );
    }),
  );
  return {
    ids,
    more: () => {
      const target = ids.size + AT_LEAST;
      return expect.poll(() => ids.size, { timeout: WRITES_MAX_MS, interval: 5 }).toBeGreaterThan(target);
    },
    end: async () => {
      goesOn = false;
      await done;
      for (const shim of shims) await shim.close();
    },
  };
}

function schemaOf(palace: TestPalace): unknown {
  const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
  try {
    return ledger.pragma("user_version", { simple: true });
  } finally {
    ledger.close();
  }
}

const withModel = (palace: TestPalace): void => {
  Object.assign(palace.env, { MEMPALACE_MODEL_DIR: writeTinyModel(`${palace.home}/model`) });
};

describe.skipIf(openFilesMissing)("the upgrade from an older build", () => {
  test("agents' sessions continue through an upgrade: the new broker takes over their palace, and each write exists once", async () => {
    await using palace = createTestPalace();
    withModel(palace);
    const older = installOlderBuild(palace);
    await using watch = watchOpenFiles(palace.config.paths.home);
    // The first agent starts the older broker.
    const old = writing(palace, [await older.shim(), await older.shim()], "old agents");
    await old.more();
    expect(schemaOf(palace)).toBe(OLDER_SCHEMA);
    const service = await palace.startBroker();
    await expect
      .poll(() => readBrokerFile(palace.config.paths.brokerFile)?.pid, { timeout: WRITES_MAX_MS, interval: 5 })
      .toBe(service.pid);
    // The new shim and the old shims now use the new broker.
    const fresh = writing(palace, [await palace.shim()], "new agent");
    await old.more();
    await fresh.more();
    expect(schemaOf(palace)).toBe(SCHEMA_VERSION);
    await Promise.all([old.end(), fresh.end()]);
    await expect.poll(async () => (await watch.seen()).held.palace, { interval: 50 }).toBeGreaterThan(0);
    await watch.expectOneAtATime();
    service.kill("SIGTERM");
    expect(await exitOf(service)).toEqual([0, null]);
    await assertWhole(palace, new Set([...old.ids, ...fresh.ids]));
  });

  test("a new shim works with an older broker, and upgrades the palace after that broker has ended; an older broker then leaves the palace alone", async () => {
    await using palace = createTestPalace();
    withModel(palace);
    const older = installOlderBuild(palace);
    await using watch = watchOpenFiles(palace.config.paths.home);
    const env = palace.env as NodeJS.ProcessEnv;
    const broker = spawn(process.execPath, [older.broker, "--foreground"], { env, stdio: "ignore" });
    await expect.poll(() => findBroker(palace.config), { timeout: WRITES_MAX_MS, interval: 50 }).toBeDefined();
    const shim = await palace.shim();
    const fresh = writing(palace, [shim], "new agent");
    await fresh.more();
    expect(await shim.call("mempalace_list_drawers", { wing: "skew" })).toHaveProperty("total");
    expect(schemaOf(palace)).toBe(OLDER_SCHEMA);
    broker.kill("SIGTERM");
    await exitOf(broker);
    await fresh.more();
    expect(schemaOf(palace)).toBe(SCHEMA_VERSION);
    await fresh.end();
    await expect.poll(async () => (await watch.seen()).held.palace, { interval: 50 }).toBeGreaterThan(0);
    await watch.expectOneAtATime();
    await palace.run("palace", ["stop"]);
    const again = spawn(process.execPath, [older.broker, "--foreground"], { env, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    again.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await expect.poll(() => said, { timeout: WRITES_MAX_MS, interval: 50 }).toContain("newer palace-devbox");
    again.kill("SIGTERM");
    await exitOf(again);
    expect(schemaOf(palace)).toBe(SCHEMA_VERSION);
    await assertWhole(palace, fresh.ids);
  });
});
