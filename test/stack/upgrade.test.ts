/** Tests an upgrade as a user makes it: `docker compose up --build` of this version on a stack that an older version's package made. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import type { StatusReport } from "../../src/protocol/spec.ts";
import { type DockerStack, openStack } from "../helpers/docker-stack.ts";
import { listDrawers } from "../helpers/list-drawers.ts";
import { OLDER_SCHEMA } from "../helpers/older-build.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`upgrade left out: ${reason}`);

const PACKAGE = "/usr/local/lib/node_modules/palace-devbox";
const FILES_MINED = 300;
const WRITERS = 4;
const WRITES_BEFORE = 40;
const WAIT_MAX_MS = 300_000;
/** Text of a mined file, long enough that the miner does not skip the file. */
const MINED = "What the workshop of a small orchestra has to know of an instrument that somebody brought in.";

describe.skipIf(reason)("a compose stack of an older version", () => {
  let stack: DockerStack;
  let workspace: string;

  const up = (): Promise<string> => stack.compose("up", "--detach", "--wait", "--wait-timeout", "300", "devbox");
  /** Makes an image with the older package and gives it the name that compose uses for the broker. */
  const makeOlder = async (): Promise<void> => {
    const image = `${stack.project}-broker`;
    const dist = [`RUN rm -r ${PACKAGE}/dist`, `ADD older-build.tar.gz ${PACKAGE}/`];
    const input = [`FROM ${image}`, "USER 0:0", ...dist, "USER 1000:1000"].join("\n");
    const folder = join(ROOT, "test/fixtures");
    await execa("docker", ["build", "--quiet", "--tag", image, "--file", "-", folder], { input });
  };
  const status = async (): Promise<StatusReport> =>
    JSON.parse((await stack.exec("devbox", 1, "palace", "status", "--json")).stdout) as StatusReport;
  const inWing = async (wing: string): Promise<string[]> => {
    await using shim = await stack.shim(1);
    return await listDrawers(shim, "content_preview", wing);
  };
  const schema = async (): Promise<number> => {
    const script = `new (require("${PACKAGE}/node_modules/better-sqlite3"))("/palace/ledger.sqlite3").pragma("user_version", { simple: true })`;
    return Number((await stack.exec("broker", 1, "node", "--print", script)).stdout);
  };
  /** Starts the older version on empty volumes, and files a drawer, a fact and a diary entry. */
  const begin = async (): Promise<void> => {
    await stack.compose("down", "--volumes");
    await makeOlder();
    await up();
    expect(await schema()).toBe(OLDER_SCHEMA);
    await using shim = await stack.shim(1);
    await shim.call("mempalace_add_drawer", { wing: "first", room: "days", content: "written by the older version" });
    await shim.call("mempalace_kg_add", { subject: "kettle", predicate: "is on", object: "shelf four" });
    await shim.call("mempalace_diary_write", { agent_name: "tester", entry: "a good day" });
  };
  const upgrade = async (): Promise<void> => {
    await stack.composeWith({ PALACE_REVISION: "newer" }, "build", "broker", "devbox");
    await up();
  };
  const expectFirst = async (): Promise<void> => {
    expect(await schema()).toBeGreaterThan(OLDER_SCHEMA);
    expect(await inWing("first")).toEqual(["written by the older version"]);
    await using shim = await stack.shim(1);
    expect(JSON.stringify(await shim.call("mempalace_kg_query", { entity: "kettle" }))).toContain("shelf four");
    expect(JSON.stringify(await shim.call("mempalace_diary_read", { agent_name: "tester" }))).toContain("a good day");
  };

  beforeAll(async () => {
    workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
    const folder = join(workspace, "mined");
    mkdirSync(folder);
    for (let file = 0; file < FILES_MINED; file++)
      writeFileSync(join(folder, `note-${file}.md`), `# Note ${file}\n\n${MINED} It is number ${file} of them.\n`);
    await execa("chmod", ["-R", "a+rX", workspace]);
    stack = await openStack(workspace, { isModelTiny: true });
    await stack.compose("build");
  });
  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    if (workspace !== undefined) rmSync(workspace, { recursive: true, force: true });
  });

  test("a compose stack of an older version that is upgraded during writes loses no acknowledged write", async () => {
    await begin();
    const acknowledged = new Set<string>();
    const shims = await Promise.all(Array.from({ length: WRITERS }, () => stack.shim(1)));
    let isUpgraded = false;
    const writing = shims.map(async (shim, writer) => {
      for (let at = 0; !isUpgraded || at < WRITES_BEFORE; at++) {
        const content = `writer ${writer}, drawer ${at}`;
        await shim.call("mempalace_add_drawer", { wing: "load", room: "upgrade", content });
        acknowledged.add(content);
      }
    });
    await expect.poll(() => acknowledged.size, { timeout: WAIT_MAX_MS }).toBeGreaterThan(WRITES_BEFORE);
    // The sessions run in the devbox, which is not recreated.
    await stack.composeWith({ PALACE_REVISION: "newer" }, "build", "broker");
    await stack.compose("up", "--detach", "--wait", "--wait-timeout", "300", "--no-deps", "broker");
    const before = acknowledged.size;
    await expect.poll(() => acknowledged.size, { timeout: WAIT_MAX_MS }).toBeGreaterThan(before + WRITES_BEFORE);
    isUpgraded = true;
    await Promise.all(writing);
    for (const shim of shims) await shim.close();
    await expect
      .poll(async () => (await inWing("load")).length, { timeout: WAIT_MAX_MS, interval: 1_000 })
      .toBe(acknowledged.size);
    expect(new Set(await inWing("load"))).toEqual(acknowledged);
    await expectFirst();
  });

  test("after an upgrade of an older compose stack during a mine, the next mine leaves each file filed exactly once", async () => {
    await begin();
    const mine = ["palace", "mine", "docs", "/workspace/mined", "--wing", "mined", "--json"];
    let isEnded = false;
    const first = stack.exec("devbox", 1, ...mine).finally(() => (isEnded = true));
    await expect.poll(async () => isEnded || (await status()).drawers > 2, { timeout: WAIT_MAX_MS }).toBe(true);
    await upgrade();
    await first;
    const again = await stack.exec("devbox", 1, ...mine);
    expect(again.exitCode, again.stderr).toBe(0);
    const mined = await inWing("mined");
    expect(mined.length).toBe(FILES_MINED);
    expect(new Set(mined).size).toBe(FILES_MINED);
    await expectFirst();
  });
});
