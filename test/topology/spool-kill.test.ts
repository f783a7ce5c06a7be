/** Docker kills a container while an agent in it spools a write on a volume. The broker starts later on this machine. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { StartedTestContainer } from "testcontainers";
import { describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { resolveListenHost } from "../../src/broker/door/listen.ts";
import { containerOf, engine, type Mount, NamedContainer, openAgent } from "../helpers/docker-box.ts";
import { dockerName } from "../helpers/docker-run.ts";
import { freePort } from "../helpers/free-port.ts";
import { appliedTwice } from "../helpers/journal-rows.ts";
import { createTestPalace, ROOT } from "../helpers/palace.ts";

const reason = engineMissing(process.env) ?? (existsSync(join(ROOT, "dist")) ? undefined : "dist is missing");
if (reason !== undefined) console.warn(`killed spool left out: ${reason}`);

const IMAGE = "node:24-trixie-slim";
/** Steps at which the container is killed: before a spooled file gets its final name, and after that but before the acknowledgement. */
const STEPS = ["before-rename", "after-rename"];
const KEPT = 4;

/** Pauses before or after a file of the spool is renamed to its final name, so that Docker can kill the process there. */
const HOLD = `import fs from "node:fs";
const [step, nth] = process.env.HOLD_AT.split(":");
const rename = fs.renameSync;
let left = Number(nth);
function hold() {
  fs.writeFileSync("/state/held", "");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
fs.renameSync = (from, to) => {
  const isHeld = String(to).includes("/spool/") && --left === 0;
  if (isHeld && step === "before-rename") hold();
  rename(from, to);
  if (isHeld) hold();
};
`;

/** Writes drawers and diary entries. A diary entry that is applied twice exists twice. */
async function write(shim: StdioMcp, name: string, index: number): Promise<string> {
  const content = `${name} writes ${index}`;
  const answer = await (index % 2 === 0
    ? shim.call("mempalace_add_drawer", { wing: "spool", room: "box", content })
    : shim.call("mempalace_diary_write", { agent_name: "box", entry: content, wing: "spool" }));
  expect(answer).toMatchObject({ success: true, spooled: true });
  return content;
}

describe.skipIf(reason)("a container that spools writes on a volume", () => {
  test("the next container delivers every acknowledged write exactly once after a container is killed while it spools a write on a volume", async () => {
    const port = await freePort(resolveListenHost("docker"));
    await using palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://docker:${port}` } });
    const { stdout } = await palace.run("palace", ["token", "add", "box", "--json"]);
    const folder = mkdtempSync(join(tmpdir(), "palace-spool-kill-"));
    const volume = dockerName("spool-kill");
    writeFileSync(join(folder, "hold.mjs"), HOLD);
    const env = {
      HOME: "/state",
      MEMPALACE_BROKER: `http://host.docker.internal:${port}`,
      MEMPALACE_TOKEN: (JSON.parse(stdout) as { token: string }).token,
    };
    const mounts: Mount[] = [
      { source: volume, target: "/state" },
      { source: folder, target: "/hold", mode: "ro" },
      { source: join(ROOT, "dist"), target: "/opt/palace/dist", mode: "ro" },
      { source: join(ROOT, "package.json"), target: "/opt/palace/package.json", mode: "ro" },
    ];
    const open = (name: string, more: Record<string, string> = {}): Promise<StartedTestContainer> =>
      new NamedContainer(IMAGE, `spool-kill-${name}`)
        .withCommand(["sleep", "infinity"])
        .withEnvironment({ ...env, ...more })
        .withBindMounts(mounts)
        .start();
    const agent = (box: StartedTestContainer, ...node: string[]): Promise<StdioMcp> =>
      openAgent(box.getId(), ["node", ...node, "/opt/palace/dist/bin/mp-shim.cjs"]);
    const acknowledged: string[] = [];
    const asked: string[] = [];
    try {
      for (const [at, step] of STEPS.entries()) {
        await using box = await open(String(at), { HOLD_AT: `${step}:${KEPT + 1}` });
        const shim = await agent(box, "--import", "/hold/hold.mjs");
        for (let index = 0; index < KEPT; index++) acknowledged.push(await write(shim, step, index));
        asked.push(`${step} writes ${KEPT}`);
        const dying = write(shim, step, KEPT).then(
          () => "acknowledged",
          () => "died",
        );
        const isHeld = (): Promise<unknown> => box.exec(["rm", "/state/held"]);
        await expect.poll(isHeld, { timeout: 120_000, interval: 500 }).toMatchObject({ exitCode: 0 });
        await (await containerOf(box.getId())).kill();
        expect(await dying).toBe("died");
        await shim.close();
      }
      await palace.startBroker();
      await using box = await open("next");
      const next = await agent(box);
      // The shim delivers the spooled writes before it sends any call.
      expect(await next.call("mempalace_status", {})).toHaveProperty("total_drawers");
      await next.close();
      const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
      const texts = ledger.prepare<[], string>("SELECT text FROM drawer WHERE wing = 'spool'").pluck().all();
      expect(appliedTwice(ledger)).toEqual([]);
      const journaled = ledger.prepare("SELECT count(*) FROM journal WHERE arguments LIKE '%\"spool\"%'").pluck().get();
      ledger.close();
      // A file that has its final name is delivered, although its write was not acknowledged.
      const expected = [...acknowledged, ...asked.filter((one) => one.startsWith("after-rename"))];
      expect(texts.toSorted()).toEqual(expected.toSorted());
      expect(journaled).toBe(expected.length);
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await (await engine()).getVolume(volume).remove();
    }
  });
});
