import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { pair } from "../../helpers/bridge-pair.ts";
import { createTestPalace } from "../../helpers/palace.ts";
import { sshdMissing } from "../../helpers/sshd.ts";

if (sshdMissing !== undefined) console.log(`left out: MEMPALACE_BROKER=ssh:// (${sshdMissing})`);

const note = (index: number): Record<string, string> => ({ wing: "bridge", room: "box", content: `note ${index}` });

describe("MEMPALACE_BROKER=ssh://", () => {
  test("without a bridge the shim spools writes, refuses reads with the command that sets up the bridge, and starts no broker on this machine", async () => {
    await using box = createTestPalace({ env: { MEMPALACE_BROKER: "ssh://me@far.example:2222" } });
    const shim = await box.shim();
    expect(await shim.call("mempalace_add_drawer", note(1))).toMatchObject({ spooled: true });
    await expect(shim.call("mempalace_search", { query: "note" })).rejects.toThrow(
      "palace bridge setup me@far.example --port 2222",
    );
    await shim.close();
    for (const args of [["start"], ["status"], ["search", "note"], ["doctor"]]) {
      const { code, stdout, stderr } = await box.run("palace", args);
      expect(code, `${args.join(" ")}: ${stdout}${stderr}`).toBeGreaterThan(0);
    }
    const ensured = await box.run("mempalace-broker", ["--ensure"]);
    expect(ensured).toMatchObject({ code: 3, stdout: "" });
    expect(ensured.stderr).toContain("palace bridge setup me@far.example --port 2222");
    const fed = await box.run("mempalace-docs", [box.home, "--wing", "docs"]);
    expect(fed, fed.stdout).toMatchObject({ code: 3 });
    expect(existsSync(box.config.paths.ledgerFile)).toBe(false);
    expect(existsSync(box.config.paths.brokerFile)).toBe(false);
  });

  test("`palace status` refuses an ssh:// address without a valid host", async () => {
    await using box = createTestPalace();
    for (const endpoint of ["ssh://", "ssh:host", "ssh://-oProxyCommand=x", "ssh://a@b:99999", "ssh://a b"]) {
      const { code, stderr } = await box.run("palace", ["status"], { env: { MEMPALACE_BROKER: endpoint } });
      expect(code, endpoint).toBe(2);
      expect(stderr, endpoint).toContain("names no host");
    }
  });
});

// A host name with a part of 64 characters is refused without a network lookup.
test.each([
  [`me@${"x".repeat(64)}.test`, /check the host's name, then: .*palace bridge setup USER@HOST/],
  ["me@127.0.0.1", /see what your own ssh says: ssh -p 1 me@127\.0\.0\.1/],
])("a failed bridge setup to %s says what helps", async (host, hint) => {
  await using box = createTestPalace();
  const { code, stderr } = await box.run("palace", ["bridge", "setup", host, "--port", "1"]);
  expect(code, stderr).toBeGreaterThan(0);
  expect(stderr).toContain("cannot be reached");
  expect(stderr).toMatch(hint);
  expect(stderr).not.toContain("palace bridge status");
});

describe.skipIf(sshdMissing)("MEMPALACE_BROKER=ssh:// with a bridge", () => {
  test("a client connects to exactly the host of its ssh:// address across broker restarts", async () => {
    await using all = await pair();
    const { box, host, sshd, setup } = all;
    const done = await setup();
    expect(done, done.stderr).toMatchObject({ code: 0 });
    const hostBroker = join(host.home, ".mempalace/broker.json");
    for (const endpoint of [`ssh://root@127.0.0.1:${sshd.port}`, "ssh://testhost"]) {
      const env = { MEMPALACE_BROKER: endpoint };
      const shim = await box.shim(env);
      expect(await shim.call("mempalace_add_drawer", note(1)), endpoint).toHaveProperty("drawer_id");
      const before = readBrokerFile(hostBroker);
      expect(before).toBeDefined();
      process.kill(before?.pid ?? 0, "SIGKILL");
      const listed = await shim.call("mempalace_list_drawers", { wing: "bridge" });
      expect(JSON.stringify(listed), endpoint).toContain("note 1");
      expect(readBrokerFile(hostBroker)?.instanceId).not.toBe(before?.instanceId);
      const found = await box.run("palace", ["search", "note", "--json"], { env });
      expect(found.stdout, endpoint).toContain("note 1");
      const doctor = await box.run("palace", ["doctor"], { env });
      expect(doctor, doctor.stdout).toMatchObject({ code: 0 });
      expect(doctor.stdout).toContain("the bridge's local end");
      await shim.close();
    }
    for (const [endpoint, command] of [
      [`ssh://root@127.0.0.1:${sshd.port + 1}`, `palace bridge setup root@127.0.0.1 --port ${sshd.port + 1}`],
      ["ssh://somebody@testhost", "palace bridge setup somebody@testhost"],
      ["ssh://root@elsewhere.example", "palace bridge setup root@elsewhere.example"],
    ] as const) {
      const { code, stderr } = await box.run("palace", ["start"], { env: { MEMPALACE_BROKER: endpoint } });
      expect(code, endpoint).toBe(3);
      expect(stderr).toContain("the bridge set up here leads to testhost");
      expect(stderr).toContain(command);
    }
    expect(existsSync(box.config.paths.ledgerFile)).toBe(false);
  });

  test("a client sends nothing to a host whose key is unknown or has changed", async () => {
    await using all = await pair();
    const { box, host, sshd, setup } = all;
    const env = { MEMPALACE_BROKER: `ssh://root@127.0.0.1:${sshd.port}` };
    const unknown = await box.run("palace", ["bridge", "setup", "root@127.0.0.1", "--port", String(sshd.port)], {
      env,
    });
    expect(unknown.code, unknown.stderr).toBe(5);
    expect(unknown.stderr).toContain("nobody has confirmed");
    const shim = await box.shim(env);
    expect(await shim.call("mempalace_add_drawer", note(1))).toMatchObject({ spooled: true });
    expect((await setup()).code).toBe(0);
    await sshd.kill();
    sshd.renewHostKey();
    await sshd.start();
    expect(await shim.call("mempalace_add_drawer", note(2))).toMatchObject({ spooled: true });
    // Polls, because the error has another text while sshd restarts.
    const refusal = (): Promise<string> =>
      shim.call("mempalace_search", { query: "note" }).then(String, (error: Error) => error.message);
    await expect.poll(refusal, { timeout: 30_000 }).toContain("another host key than the pinned host key");
    expect(existsSync(join(host.home, ".mempalace/ledger.sqlite3"))).toBe(true);
    const near = await host.shim();
    expect(JSON.stringify(await near.call("mempalace_list_drawers", {}))).not.toContain("note 2");
    await near.close();
    await shim.close();
  });
});
