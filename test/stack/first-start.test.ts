/** Tests the first start of a devbox that shares the host's palace, with a real sshd in place of the host's. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { resolveListenHost } from "../../src/broker/door/listen.ts";
import { openAgent } from "../helpers/docker-box.ts";
import { type DockerStack, openStack } from "../helpers/docker-stack.ts";
import { createTestPalace, type TestPalace } from "../helpers/palace.ts";
import { sshdMissing, startSshd, type TestSshd } from "../helpers/sshd.ts";

const missing = engineMissing(process.env) ?? sshdMissing;
if (missing !== undefined) console.warn(`first start left out: ${missing}`);

const SERVICE = "devbox-bridged";
const SAYS_MAX_MS = 90_000;

type Scene = AsyncDisposable & {
  host: TestPalace;
  sshd: TestSshd;
  fingerprint: string;
  up: (hostKey: string, ...more: string[]) => Promise<string>;
  agent: () => Promise<StdioMcp>;
  inBox: DockerStack["exec"] extends (a: string, b: number, ...c: string[]) => infer R
    ? (...command: string[]) => R
    : never;
  /** Waits until the container's log matches the pattern, and resolves to the match. */
  says: (what: RegExp) => Promise<RegExpExecArray>;
};

async function open(): Promise<Scene> {
  const host = createTestPalace();
  Object.assign(host.env, {
    MEMPALACE_PATH: join(host.home, ".mempalace"),
    XDG_STATE_HOME: join(host.home, ".local/state"),
    XDG_CACHE_HOME: join(host.home, ".cache"),
  });
  const sshd = await startSshd(host.home, resolveListenHost("docker"));
  const [, fingerprint = ""] = execFileSync("ssh-keygen", ["-lf", sshd.hostKeyFile], { encoding: "utf8" }).split(" ");
  const workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
  const stack = await openStack(workspace);
  const container = `${stack.project}-${SERVICE}-1`;
  return {
    host,
    sshd,
    fingerprint,
    up: (hostKey, ...more) =>
      stack.composeWith(
        { DEVBOX_BRIDGE: `root@host.docker.internal:${sshd.port}`, DEVBOX_BRIDGE_HOST_KEY: hostKey },
        ...["up", "--detach", "--build", "--wait", ...more, SERVICE],
      ),
    agent: () => openAgent(container, ["mp-shim"]),
    inBox: (...command) => stack.exec(SERVICE, 1, ...command),
    says: async (what) => {
      for (const deadline = Date.now() + SAYS_MAX_MS; ; await delay(500)) {
        const { all: log } = await execa("docker", ["logs", container], { all: true });
        const found = what.exec(log);
        if (found !== null) return found;
        if (Date.now() > deadline) throw new Error(`${String(what)} is not in: ${log}`);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await stack.composeWith({ COMPOSE_PROFILES: "bridged" }, "down", "--volumes", "--rmi", "local", "--timeout", "2");
      await stack[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
      await sshd[Symbol.asyncDispose]();
      rmSync(workspace, { recursive: true, force: true });
    },
  };
}

const note = (content: string): Record<string, string> => ({ wing: "first", room: "start", content });

describe.skipIf(missing)("a devbox that should share the host's palace", () => {
  test("a devbox without a bridge says what to type on the host and spools writes, continues after the authorization, and changes nothing on a second start", async () => {
    await using scene = await open();
    const { host, sshd, up, agent, says, inBox, fingerprint } = scene;
    await sshd.kill();
    await up(fingerprint);
    await says(/no bridge yet: .* cannot be reached/);
    const first = await agent();
    expect(await first.call("mempalace_add_drawer", note("before the bridge"))).toMatchObject({ spooled: true });
    await expect(first.call("mempalace_search", { query: "bridge" })).rejects.toThrow("palace bridge setup root@host");
    expect((await inBox("palace", "start")).exitCode).toBe(3);

    await sshd.start();
    const [, key = ""] = await says(/palace gate authorize '([^']+)'/);
    const entries = readFileSync(sshd.authorizedKeys, "utf8");
    expect((await host.run("palace", ["gate", "authorize", key])).code).toBe(0);
    await says(/The bridge to root@host.docker.internal works/);
    expect(await first.call("mempalace_add_drawer", note("over the bridge"))).toHaveProperty("drawer_id");
    const near = await host.shim();
    const listed = async (): Promise<string> =>
      JSON.stringify(await near.call("mempalace_list_drawers", { wing: "first" }));
    expect(await listed()).toContain("before the bridge");
    expect(await listed()).toContain("over the bridge");
    await first.close();

    const authorized = readFileSync(sshd.authorizedKeys, "utf8");
    expect(authorized).not.toBe(entries);
    await up(fingerprint, "--force-recreate");
    await says(/The bridge to root@host.docker.internal works/);
    expect(readFileSync(sshd.authorizedKeys, "utf8")).toBe(authorized);
    const second = await agent();
    expect(await second.call("mempalace_list_drawers", { wing: "first" })).toMatchObject({ total: 2 });
    // The container has no memory of its own.
    const begun = await inBox("sh", "-c", "ls -A ~/.mempalace /palace/palace 2>/dev/null; ls /palace");
    expect(begun.stdout).not.toMatch(/ledger|broker|chroma/);
    await second.close();
    await near.close();
  });

  test("the devbox does not log in to a host whose key nobody has confirmed, and shows the key's fingerprint", async () => {
    await using scene = await open();
    const { host, sshd, up, agent, says, inBox, fingerprint } = scene;
    await up("SHA256:ofAnotherHost");
    const [, shown] = await says(/DEVBOX_BRIDGE_HOST_KEY=(\S+)/);
    expect(shown).toBe(fingerprint);
    const [, key = ""] = await says(/palace gate authorize '([^']+)'/);
    expect((await host.run("palace", ["gate", "authorize", key])).code).toBe(0);
    const connections = (): number => sshd.log().split("Connection from").length;
    const before = connections();
    await expect.poll(connections, { timeout: SAYS_MAX_MS }).toBeGreaterThan(before);
    expect(sshd.log()).not.toContain("Accepted");
    const shim = await agent();
    expect(await shim.call("mempalace_add_drawer", note("kept"))).toMatchObject({ spooled: true });
    expect(existsSync(join(host.home, ".mempalace/ledger.sqlite3"))).toBe(false);
    // The devbox's setup continues as soon as somebody confirms the key.
    const vouched = await inBox("devbox-setup", "--once", "--host-key", fingerprint);
    expect(vouched, vouched.stderr).toMatchObject({ exitCode: 0 });
    expect(await shim.call("mempalace_list_drawers", { wing: "first" })).toMatchObject({ total: 1 });
    await shim.close();
  });
});
