/** Runs a real sshd with its own port, host key and authorized_keys. Needs root, as sshd does. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.ts";

const SSHD = "/usr/sbin/sshd";

/** Reason why sshd cannot run here, or undefined. */
export const sshdMissing: string | undefined =
  process.getuid?.() !== 0
    ? "sshd needs root"
    : existsSync(SSHD)
      ? undefined
      : "there is no sshd (apt-get install openssh-server)";

export type TestSshd = AsyncDisposable & {
  readonly port: number;
  readonly authorizedKeys: string;
  readonly hostKeyFile: string;
  readonly log: () => string;
  /** Path of the configuration for `ssh -F`, which names the user's key. */
  readonly sshConfig: string;
  start(): Promise<void>;
  /** Sends SIGKILL to sshd and to the processes that serve its connections. */
  kill(): Promise<void>;
  /** Uses a new host key from the next start on, as after a new installation. */
  renewHostKey(): void;
};

/** Starts an sshd for a user whose home is `home`. `extra`: lines for the user's ssh configuration. */
export async function startSshd(home: string, address = "127.0.0.1", extra: string[] = []): Promise<TestSshd> {
  const folder = join(home, "sshd");
  for (const name of [folder, join(home, ".ssh")]) mkdirSync(name, { recursive: true, mode: 0o700 });
  const authorizedKeys = join(home, ".ssh/authorized_keys");
  mkdirSync("/run/sshd", { recursive: true });
  const file = (name: string): string => join(folder, name);
  const keygen = (name: string): void => {
    rmSync(file(name), { force: true });
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", file(name)]);
  };
  const know = (): void =>
    writeFileSync(
      file("known_hosts"),
      `[${address}]:${port} ${readFileSync(file("host_key.pub"), "utf8").split(" ").slice(0, 2).join(" ")}\n`,
    );
  const port = await freePort(address);
  keygen("host_key");
  keygen("user_key");
  know();
  writeFileSync(authorizedKeys, readFileSync(file("user_key.pub")), { mode: 0o600 });
  writeFileSync(
    file("sshd_config"),
    [
      `ListenAddress ${address}:${port}`,
      `HostKey ${file("host_key")}`,
      `AuthorizedKeysFile ${authorizedKeys}`,
      "PidFile none",
      "UsePAM no",
      "StrictModes no",
      "PasswordAuthentication no",
      "LogLevel VERBOSE",
      "MaxStartups 100:30:200",
      "Subsystem sftp internal-sftp",
      // With SHLVL set, Debian's bash skips the user's .bashrc, which could hang or take a second.
      "SetEnv SHLVL=2",
      "",
    ].join("\n"),
  );
  writeFileSync(
    file("ssh_config"),
    [
      `Host testhost ${address}`,
      `  HostName ${address}`,
      `  Port ${port}`,
      "  User root",
      `  IdentityFile ${file("user_key")}`,
      "  IdentitiesOnly yes",
      `  UserKnownHostsFile ${file("known_hosts")}`,
      ...extra.map((line) => `  ${line}`),
      "",
    ].join("\n"),
    { mode: 0o600 },
  );
  let child: ChildProcess | undefined;
  let log = "";
  const kill = async (): Promise<void> => {
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    const sessions = descendantsOf(child.pid);
    child.kill("SIGKILL");
    await gone;
    for (const pid of sessions) killIfThere(pid);
  };
  const start = async (): Promise<void> => {
    child = spawn(SSHD, ["-D", "-e", "-f", file("sshd_config")], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-100_000)));
    for (const deadline = Date.now() + 10_000; !(await answers(port, address)); await delay(20))
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`sshd did not start: ${log}`);
  };
  await start();
  return {
    port,
    authorizedKeys,
    hostKeyFile: file("host_key.pub"),
    sshConfig: file("ssh_config"),
    log: () => log,
    start,
    kill,
    renewHostKey: () => {
      keygen("host_key");
    },
    [Symbol.asyncDispose]: kill,
  };
}

/** Lists a process's children, and their children in turn. */
function descendantsOf(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), parentOf(name)] as const);
  const found: number[] = [pid];
  for (let at = 0; at < found.length; at++)
    for (const [child, parent] of parents) if (parent === found[at]) found.push(child);
  return found.slice(1);
}

function parentOf(pid: string): number {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended by itself.
  }
}

function answers(port: number, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, address);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
