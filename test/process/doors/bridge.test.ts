/** Tests the SSH bridge through a real sshd, with another home on this machine in place of a container. */
import { execFile } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import ssh2 from "ssh2";
import { describe, expect, test } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { isStopped } from "../../../src/base/state-files.ts";
import { pair } from "../../helpers/bridge-pair.ts";
import { createTestPalace, processesWith } from "../../helpers/palace.ts";
import { sshdMissing } from "../../helpers/sshd.ts";

if (sshdMissing !== undefined) console.log(`left out: SSH bridge (${sshdMissing})`);

const note = (index: number): Record<string, string> => ({ wing: "bridge", room: "box", content: `note ${index}` });

describe.skipIf(sshdMissing)("the SSH bridge", () => {
  test("a bridge is set up with one command, and a second setup changes nothing", async () => {
    await using all = await pair();
    const { box, host, sshd, setup } = all;
    const first = await setup();
    expect(first, first.stderr).toMatchObject({ code: 0 });
    const entry = readFileSync(sshd.authorizedKeys, "utf8");
    expect(entry).toMatch(/^restrict,command="env .*palace\.(?:ts|js) gate" ssh-ed25519 \S+ palace-bridge$/m);
    expect(statSync(join(box.config.paths.bridgeDir, "id_ed25519")).mode & 0o777).toBe(0o600);
    expect((await setup()).code).toBe(0);
    expect(readFileSync(sshd.authorizedKeys, "utf8")).toBe(entry);

    const shim = await box.shim();
    expect(await shim.call("mempalace_add_drawer", note(1))).toHaveProperty("drawer_id");
    const near = await host.shim();
    expect(JSON.stringify(await near.call("mempalace_list_drawers", { wing: "bridge" }))).toContain("note 1");
    const status = JSON.parse((await box.run("palace", ["bridge", "status", "--json"])).stdout) as object;
    expect(status).toMatchObject({ bridge: { kind: "gate" }, resident: { state: "connected" }, through: { ok: true } });
    expect(readBrokerFile(box.config.paths.brokerFile)).toBeUndefined();
    expect(readBrokerFile(join(host.home, ".mempalace/broker.json"))).toBeDefined();
    const doctor = await box.run("palace", ["doctor"]);
    expect(doctor, doctor.stdout).toMatchObject({ code: 0 });
    expect(doctor.stdout).toContain("the bridge's local end");
    expect(doctor.stdout).toContain("over SSH (gate) to testhost; the broker there says ");
    const stopped = await box.run("palace", ["restart"]);
    expect(stopped.code).not.toBe(0);
    // A bridge may not read the history and has no token that could allow it, so the hint says what to type on the host.
    const audit = await box.run("palace", ["audit"]);
    expect(audit.stderr).toMatch(
      /came over a bridge, and a bridge's role, agent, .*\n.*on the broker's machine: \S*palace audit/,
    );
    await shim.close();
    await near.close();
  });

  test("a bridge spools writes while sshd is dead, delivers them when sshd is back, and refuses another host key", async () => {
    await using all = await pair();
    const { box, host, sshd, setup } = all;
    expect((await setup()).code).toBe(0);
    const shim = await box.shim();
    await shim.call("mempalace_add_drawer", note(0));
    await sshd.kill();
    for (let index = 1; index < 4; index++)
      expect(await shim.call("mempalace_add_drawer", note(index))).toMatchObject({ spooled: true });
    await expect(shim.call("mempalace_search", { query: "note" })).rejects.toThrow();
    await sshd.start();
    const near = await host.shim();
    await expect
      .poll(async () => (await near.call("mempalace_list_drawers", { wing: "bridge" }))["total"], { timeout: 40_000 })
      .toBe(4);
    await sshd.kill();
    sshd.renewHostKey();
    await sshd.start();
    expect(await shim.call("mempalace_add_drawer", note(4))).toMatchObject({ spooled: true });
    const status = await box.run("palace", ["bridge", "status"]);
    expect(status.code).toBe(3);
    expect(status.stdout).toContain("another host key than the pinned host key");
    expect((await setup()).stderr).toContain("another host key");
    await shim.close();
    await near.close();
  });

  test("a bridge makes a separate connection if the shared connection hangs", async () => {
    const shared = ["ControlMaster auto", "ControlPath /tmp/palace-test-%C", "ControlPersist 30"];
    await using all = await pair(shared);
    const { box, host, setup, sshd } = all;
    const configFile = join(host.home, "sshd/sshd_config");
    const noisy = join(host.home, "noisy");
    writeFileSync(noisy, "echo Welcome to a noisy host\n");
    await sshd.kill();
    writeFileSync(configFile, readFileSync(configFile, "utf8").replace("SetEnv ", `SetEnv BASH_ENV=${noisy} `));
    await sshd.start();
    const ssh = async (...args: string[]): Promise<string> => {
      const { stdout, stderr } = await promisify(execFile)("ssh", ["-F", sshd.sshConfig, ...args]);
      return stdout + stderr;
    };
    expect(await ssh("testhost", "true")).toContain("Welcome");
    await host.run("palace", ["start"]);
    const done = await setup("--through-ssh");
    expect(done, done.stderr + sshd.log()).toMatchObject({ code: 0 });

    const master = Number(/pid=(\d+)/.exec(await ssh("-O", "check", "testhost"))?.[1]);
    const control = /^controlpath (.*)$/m.exec(await ssh("-G", "testhost"))?.[1] ?? "";
    process.kill(master, "SIGSTOP");
    try {
      // Hides the hanging connection's control socket from `ssh`. The connection itself still forwards the broker's socket.
      renameSync(control, `${control}.away`);
      const write = ["call", "add_drawer", JSON.stringify(note(1)), "--json"];
      // On a machine under load the first write may be spooled. The next call then delivers it.
      const filed = async (): Promise<string> => {
        const { stdout } = await box.run("palace", write);
        return "spooled" in (JSON.parse(stdout) as object) ? `${stdout}${sshd.log()}` : "filed";
      };
      await expect.poll(filed).toBe("filed");
      renameSync(`${control}.away`, control);
      const isListed = async (): Promise<boolean> =>
        (await box.run("palace", ["call", "list_drawers", '{"wing":"bridge"}'])).stdout.includes("note 1");
      expect(await isListed()).toBe(true);
      // If the separate connection ends while the shared connection still hangs, the bridge makes another separate connection.
      const forwarding = (): number[] => processesWith(`${box.config.paths.bridgeDir}/forward.sock:`);
      // `ssh` may have begun a second shared connection while the first connection's socket was hidden.
      await expect.poll(async () => (await isListed()) && forwarding().length > 0).toBe(true);
      const ended = forwarding();
      await promisify(execFile)("kill", ["-KILL", ...ended.map(String)]).catch(() => {});
      await expect.poll(isListed).toBe(true);
      expect(forwarding().filter((pid) => !ended.includes(pid))).not.toEqual([]);
    } finally {
      process.kill(master, "SIGKILL");
    }
  });

  // The last of these tests mostly waits, so they all run at the same time, each with its own host.
  test.concurrent("the setup of a bridge stops the local broker; the local agents then use the host's broker, which `palace stop` does not stop", async () => {
    await using all = await pair();
    const { box, host, setup } = all;
    await box.run("palace", ["start"]);
    const shim = await box.shim();
    expect(await shim.call("mempalace_add_drawer", note(0))).toHaveProperty("drawer_id");
    expect((await setup()).code).toBe(0);
    expect(readBrokerFile(box.config.paths.brokerFile)).toBeUndefined();
    expect(await shim.call("mempalace_add_drawer", note(1))).toHaveProperty("drawer_id");
    const near = await host.shim();
    expect(await near.call("mempalace_list_drawers", { wing: "bridge" })).toMatchObject({ total: 1 });
    // An agent may not stop the host's broker, and the refused stop is not recorded on this machine.
    expect((await box.run("palace", ["stop"])).code).not.toBe(0);
    expect(isStopped(box.config.paths)).toBe(false);
    expect(await shim.call("mempalace_add_drawer", note(2))).toHaveProperty("drawer_id");
    await shim.close();
    await near.close();
  });

  test.concurrent("a bridge's key allows only the bridge: no shell, no command, no file transfer, no forwarding", async () => {
    await using all = await pair();
    const { box, host, sshd, setup } = all;
    expect((await setup()).code).toBe(0);
    const key = join(box.config.paths.bridgeDir, "id_ed25519");
    const ssh = (...args: string[]): Promise<{ stdout: string; stderr: string; code: number }> =>
      promisify(execFile)(
        "ssh",
        ["-F", sshd.sshConfig, "-i", key, "-o", "IdentityFile=none", "-o", "BatchMode=yes", ...args],
        {
          timeout: 20_000,
        },
      ).then(
        (done) => ({ ...done, code: 0 }),
        (error: { stdout: string; stderr: string; code: number }) => error,
      );
    const shell = await ssh("testhost");
    expect(shell.code).toBe(5);
    const command = await ssh("testhost", "cat /etc/passwd");
    expect(command).toMatchObject({ code: 5, stdout: "" });
    expect(command.stderr).toContain("opens the palace and nothing else");
    const owner = await ssh("testhost", "palace gate owner");
    expect(owner).toMatchObject({ code: 5, stdout: "" });
    const claim = { SSH_ORIGINAL_COMMAND: "palace gate" };
    expect(await host.run("palace", ["gate", "owner"], { env: claim })).toMatchObject({ code: 5, stdout: "" });
    expect((await ssh("-s", "testhost", "sftp")).stdout).toBe("");
    const forwarded = await ssh("-o", "ExitOnForwardFailure=yes", "-W", `127.0.0.1:${sshd.port}`, "testhost");
    expect(forwarded.code).not.toBe(0);
    expect(forwarded.stderr).toMatch(/prohibited|failed/);
    const log = readFileSync(join(host.home, ".local/state/palace/gate.log"), "utf8");
    expect(log).toContain("cat /etc/passwd");
  });

  test.concurrent("a bridge can forward to the host's socket, with its own key or through the user's ssh and its shared connection", async () => {
    for (const kind of [["--streamlocal"], ["--through-ssh"]]) {
      const control = ["ControlMaster auto", "ControlPath /tmp/palace-test-%C", "ControlPersist 30"];
      await using all = await pair(kind[0] === "--through-ssh" ? control : []);
      const { box, host, setup, sshd } = all;
      await host.run("palace", ["start"]);
      const done = await setup(...kind);
      expect(done, done.stderr + sshd.log()).toMatchObject({ code: 0 });
      const shim = await box.shim();
      const answer = await shim.call("mempalace_add_drawer", note(1));
      expect(answer).toHaveProperty("drawer_id");
      expect(JSON.stringify(await shim.call("mempalace_list_drawers", { wing: "bridge" }))).toContain("note 1");
      await shim.close();
    }
  });

  test.concurrent("removing a bridge removes its entry in authorized_keys, its key and its socket, and keeps other entries", async () => {
    await using all = await pair();
    const { box, sshd, setup, remote } = all;
    const before = readFileSync(sshd.authorizedKeys, "utf8");
    expect((await setup()).code).toBe(0);
    expect(readFileSync(sshd.authorizedKeys, "utf8")).not.toBe(before);
    const removed = await box.run("palace", ["bridge", "remove", "--remote-palace", remote, "--json"]);
    expect(JSON.parse(removed.stdout)).toEqual({ removed: "testhost", entryRemoved: true });
    expect(readFileSync(sshd.authorizedKeys, "utf8")).toBe(before);
    expect(existsSync(box.config.paths.bridgeDir)).toBe(false);
    expect(existsSync(box.config.paths.bridgeSocketPath)).toBe(false);
    expect((await box.run("palace", ["bridge", "status"])).stdout).toContain("No bridge");
  });

  test.concurrent("the setup of a bridge gives up on a hanging login shell with a hint and changes nothing", async () => {
    await using all = await pair();
    const { box, host, setup, sshd } = all;
    expect((await setup()).code).toBe(0);
    const before = readFileSync(join(box.config.paths.bridgeDir, "bridge.json"), "utf8");
    const configFile = join(host.home, "sshd/sshd_config");
    const config = readFileSync(configFile, "utf8");
    const restartWith = async (text: string): Promise<void> => {
      await sshd.kill();
      writeFileSync(configFile, text);
      await sshd.start();
    };
    await restartWith(`${config}ForceCommand sleep 200\n`);
    const again = await setup();
    expect(again, again.stderr).toMatchObject({ code: 3 });
    expect(again.stderr).toContain("opens no channel within");
    expect(again.stderr).toContain("login shell");
    expect(readFileSync(join(box.config.paths.bridgeDir, "bridge.json"), "utf8")).toBe(before);
    await restartWith(config);
  });
});

describe.skipIf(process.getuid?.() !== 0)("`palace gate authorize` as root", () => {
  test("setup as root keeps the owner and mode of another user's authorized_keys, and makes the file if it is missing", async () => {
    await using host = createTestPalace();
    const key = ssh2.utils.generateKeyPairSync("ed25519").public;
    const file = join(host.home, "his/.ssh/authorized_keys");
    mkdirSync(join(host.home, "his"));
    chownSync(join(host.home, "his"), 1000, 1001);
    const authorize = (action: string): ReturnType<typeof host.run> =>
      host.run("palace", ["gate", action, key, "--file", file]);
    expect((await authorize("authorize")).code).toBe(0);
    const made = [statSync(join(file, "..")), statSync(file)].map(({ uid, gid, mode }) => [uid, gid, mode & 0o777]);
    expect(made).toEqual([
      [1000, 1001, 0o700],
      [1000, 1001, 0o600],
    ]);
    // Sets a mode that our umask would not give, to see that `revoke` keeps it.
    chmodSync(file, 0o666);
    expect((await authorize("revoke")).stdout).toContain("removed");
    const { uid, gid, mode } = statSync(file);
    expect([uid, gid, mode & 0o777]).toEqual([1000, 1001, 0o666]);
  });
});
