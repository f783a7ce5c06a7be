/**
 * A container that is killed by its engine while an agent in it keeps a write, at two steps of that: its spool lies on a volume, and
 * the next container delivers it. The built package alone, in Node's own image; the broker comes on this machine, over TCP.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { openStdioMcp, type StdioMcp } from "../../src/bin/proof/stdio-mcp.ts";
import { resolveListenHost } from "../../src/broker/door/listen.ts";
import { dockerName, sweepLeftovers } from "../helpers/docker-run.ts";
import { freePort } from "../helpers/free-port.ts";
import { appliedTwice } from "../helpers/journal-rows.ts";
import { createTestPalace, ROOT } from "../helpers/palace.ts";

const reason = engineMissing(process.env) ?? (existsSync(join(ROOT, "dist")) ? undefined : "dist is missing");
if (reason !== undefined) console.warn(`killed spool left out: ${reason}`);

const IMAGE = "node:24-trixie-slim";
/** Half a file, and one that nobody was told of. */
const STEPS = ["file.before-rename", "file.after-rename"];
const KEPT = 4;

/** Stands still where a fault would kill: the engine is to do that. The package's own module, so that the shim has the same. */
const HOLD = `import { writeFileSync } from "node:fs";
import { armFault } from "/opt/palace/dist/platform/fault.js";
armFault(process.env.HOLD_AT);
process.kill = () => {
  writeFileSync("/state/held", "");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
`;

/** Drawers, and diary entries, of which a second application is a second entry. */
async function write(shim: StdioMcp, name: string, index: number): Promise<string> {
  const content = `${name} writes ${index}`;
  const answer = await (index % 2 === 0
    ? shim.call("mempalace_add_drawer", { wing: "spool", room: "box", content })
    : shim.call("mempalace_diary_write", { agent_name: "box", entry: content, wing: "spool" }));
  expect(answer).toMatchObject({ success: true, spooled: true });
  return content;
}

describe.skipIf(reason)("a container that keeps writes on a volume", () => {
  test("is killed in the middle of keeping one: the next container delivers every acknowledged write, once", async () => {
    await sweepLeftovers();
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
    const agent = (name: string, more: Record<string, string>, ...node: string[]): Promise<StdioMcp> => {
      const options = ["--rm", "-i", "--init", "--name", name, "--add-host", "host.docker.internal:host-gateway"];
      const places = [
        ...[`${volume}:/state`, `${folder}:/hold:ro`],
        ...["dist", "package.json"].map((one) => `${join(ROOT, one)}:/opt/palace/${one}:ro`),
      ];
      const variables = { ...env, ...more };
      return openStdioMcp(
        [
          ...["docker", "run", ...options, ...places.flatMap((place) => ["--volume", place])],
          ...[...Object.entries(variables).flatMap(([key, value]) => ["--env", `${key}=${value}`]), IMAGE],
          ...["node", ...node, "/opt/palace/dist/bin/mp-shim.js"],
        ],
        { env: process.env, timeoutMs: 120_000 },
      );
    };
    const acknowledged: string[] = [];
    const asked: string[] = [];
    try {
      for (const [at, step] of STEPS.entries()) {
        const name = dockerName(`spool-kill-${at}`);
        const shim = await agent(name, { HOLD_AT: `${step}:${KEPT + 1}` }, "--import", "/hold/hold.mjs");
        for (let index = 0; index < KEPT; index++) acknowledged.push(await write(shim, step, index));
        asked.push(`${step} writes ${KEPT}`);
        const dying = write(shim, step, KEPT).then(
          () => "acknowledged",
          () => "died",
        );
        const isHeld = (): Promise<unknown> => execa("docker", ["exec", name, "rm", "/state/held"], { reject: false });
        await expect.poll(isHeld, { timeout: 120_000, interval: 200 }).toMatchObject({ exitCode: 0 });
        await execa("docker", ["kill", "--signal", "KILL", name]);
        expect(await dying).toBe("died");
        await shim.close();
      }
      await palace.startBroker();
      const next = await agent(dockerName("spool-kill-next"), {});
      // What was kept goes before anything that is asked.
      expect(await next.call("mempalace_status", {})).toHaveProperty("total_drawers");
      await next.close();
      const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
      const texts = ledger.prepare<[], string>("SELECT text FROM drawer WHERE wing = 'spool'").pluck().all();
      expect(appliedTwice(ledger)).toEqual([]);
      const journaled = ledger.prepare("SELECT count(*) FROM journal WHERE arguments LIKE '%\"spool\"%'").pluck().get();
      ledger.close();
      // The one that was whole on disk, though nobody was told so, and not the half one.
      const expected = [...acknowledged, ...asked.filter((one) => one.startsWith("file.after-rename"))];
      expect(texts.toSorted()).toEqual(expected.toSorted());
      expect(journaled).toBe(expected.length);
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await execa("docker", ["volume", "rm", "--force", volume], { reject: false });
    }
  });
});
