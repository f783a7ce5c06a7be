/** Tests agents in a container that reach the host's broker over TCP. The container has the built package and no palace. */
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { openStdioMcp, type StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { resolveListenHost } from "../../src/broker/door/listen.ts";
import { freePort } from "../helpers/free-port.ts";
import { appliedTwice } from "../helpers/journal-rows.ts";
import { createTestPalace, ROOT, type TestPalace } from "../helpers/palace.ts";

const reason = engineMissing(process.env) ?? (existsSync(join(ROOT, "dist")) ? undefined : "dist is missing");
if (reason !== undefined) console.warn(`TCP topology left out: ${reason}`);

const IMAGE = "node:24-trixie-slim";
/** Number of agents. Half of them run in the container, half on the host. */
const AGENTS = 8;
const WRITES = 15;

/**
 * Sends invalid requests to the TCP door, one after another: without a token, with a nearly correct token, and bytes
 * that are not HTTP. Counts the status codes of the answers.
 */
function knocking(port: number, wrong: string): { end(): Promise<Map<number, number>> } {
  const host = resolveListenHost("docker");
  const answers = new Map<number, number>();
  let goesOn = true;
  const knock = async (path: string, headers: Record<string, string>): Promise<void> => {
    const answer = await fetch(`http://${host}:${port}${path}`, { method: "POST", headers, body: "{}" });
    answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
    await answer.arrayBuffer();
  };
  const done = (async () => {
    while (goesOn) {
      // A dead broker does not answer.
      await knock("/mcp", {}).catch(() => {});
      await knock("/mcp", { authorization: `Bearer ${wrong}` }).catch(() => {});
      const socket = connect(port, host).on("error", () => {});
      socket.end("\u0000\u0001 no request at all\r\n\r\n");
      await delay(20);
      socket.destroy();
    }
  })();
  return {
    async end() {
      goesOn = false;
      await done;
      return answers;
    },
  };
}

describe.skipIf(reason)("agents in a container that reach the broker over TCP", () => {
  let palace: TestPalace;
  let port: number;

  const token = async (name: string, role: string): Promise<string> => {
    const { stdout } = await palace.run("palace", ["token", "add", name, "--role", role, "--json"]);
    return (JSON.parse(stdout) as { token: string }).token;
  };
  const inContainer = (secret: string): Promise<StdioMcp> => {
    const env = {
      MEMPALACE_BROKER: `http://host.docker.internal:${port}`,
      MEMPALACE_TOKEN: secret,
    };
    const options = Object.keys(env).flatMap((name) => ["--env", name]);
    const mounts = ["dist", "package.json"].flatMap((name) => [
      "--volume",
      `${join(ROOT, name)}:/opt/palace/${name}:ro`,
    ]);
    const gateway = ["--add-host", "host.docker.internal:host-gateway"];
    return openStdioMcp(
      [
        "docker",
        "run",
        "--rm",
        "-i",
        ...gateway,
        ...options,
        ...mounts,
        IMAGE,
        "node",
        "/opt/palace/dist/bin/mp-shim.cjs",
      ],
      { env: { ...process.env, ...env }, timeoutMs: 120_000 },
    );
  };
  let acknowledged = 0;
  const write = async (shim: StdioMcp, room: string): Promise<string[]> => {
    const contents: string[] = [];
    for (let index = 0; index < WRITES; index++) {
      const note = { wing: "tcp", room, content: `${room} writes ${index}` };
      expect(await shim.call("mempalace_add_drawer", note)).toMatchObject({ success: true });
      contents.push(note.content);
      acknowledged += 1;
    }
    return contents;
  };

  const contentsOf = async (shim: StdioMcp): Promise<string[]> => {
    const found: string[] = [];
    for (let offset = 0; ; offset += 100) {
      const { drawers } = (await shim.call("mempalace_list_drawers", { wing: "tcp", limit: 100, offset })) as {
        drawers: { content_preview: string }[];
      };
      found.push(...drawers.map(({ content_preview }) => content_preview));
      if (drawers.length < 100) return found;
    }
  };

  beforeAll(async () => {
    port = await freePort(resolveListenHost("docker"));
    palace = createTestPalace({ env: { MEMPALACE_LISTEN: `tcp://docker:${port}` } });
    await token("first", "agent");
    await palace.startBroker();
  });
  afterAll(async () => palace?.[Symbol.asyncDispose]());

  test("eight agents on the host and in the container write every drawer once, also after a kill", async () => {
    const secret = await token("box", "agent");
    const shims = await Promise.all(
      Array.from({ length: AGENTS }, (_, index) => (index % 2 === 0 ? inContainer(secret) : palace.shim())),
    );
    // Reads the pid before the writes, so that the kill comes among them.
    const client = await palace.client();
    const { pid } = await client.call("palace.status", {});
    client.close();
    const strangers = knocking(port, `${secret.slice(0, -4)}AAAA`);
    const written = Promise.all(shims.map((shim, index) => write(shim, `agent${index}`)));
    await expect.poll(() => acknowledged, { timeout: 60_000, interval: 1 }).toBeGreaterThan(AGENTS);
    process.kill(pid, "SIGKILL");
    expect(acknowledged).toBeLessThan(AGENTS * WRITES);
    const contents = (await written).flat();
    // Writes that were spooled during the outage take a moment to arrive.
    await expect
      .poll(async () => (await contentsOf(shims[0] as StdioMcp)).toSorted(), { timeout: 60_000, interval: 1_000 })
      .toEqual(contents.toSorted());
    expect(new Set(contents).size).toBe(AGENTS * WRITES);
    const answers = await strangers.end();
    expect([...answers.keys()].filter((status) => ![401, 429].includes(status))).toEqual([]);
    expect(answers.get(401)).toBeGreaterThan(0);
    for (const shim of shims) await shim.close();
    const ledger = new Database(palace.config.paths.ledgerFile, { readonly: true });
    expect(appliedTwice(ledger)).toEqual([]);
    ledger.close();
  });

  test("a reader's token in a container can read but not write", async () => {
    const shim = await inContainer(await token("eyes", "reader"));
    expect(JSON.stringify(await shim.call("mempalace_search", { query: "agent0 writes 7" }))).toContain("agent0");
    await expect(shim.call("mempalace_add_drawer", { wing: "tcp", room: "x", content: "no" })).rejects.toThrow(
      /reader/,
    );
    await shim.close();
  });
});
