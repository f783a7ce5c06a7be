/** Starts a real ssh-agent with one key, for the test of the devbox's ssh-agent. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";

export type SshAgent = { publicKey: string; end: () => unknown };

/** Returns the socket's path of the agent that `startSshAgent` starts in `folder`. */
export function sshAgentSocket(folder: string): string {
  return join(folder, "agent", "agent.sock");
}

/** Starts the agent. If root runs the test, the agent runs as `uid`. */
export async function startSshAgent(folder: string, uid: number): Promise<SshAgent> {
  const home = join(folder, "agent");
  const key = join(home, "key");
  mkdirSync(home);
  await execa("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "tester", "-f", key]);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await execa("chown", ["-R", `${uid}:${uid}`, home]);
  await execa("chmod", ["a+x", folder]);
  const as = { ...(isRoot && { uid, gid: uid }), env: { SSH_AUTH_SOCK: sshAgentSocket(folder), HOME: home } };
  // The command returns as soon as the socket exists.
  const { stdout } = await execa("ssh-agent", ["-a", sshAgentSocket(folder)], as);
  await execa("ssh-add", ["-q", key], as);
  const pid = Number(/SSH_AGENT_PID=(\d+)/.exec(stdout)?.[1]);
  return { publicKey: readFileSync(`${key}.pub`, "utf8").trim(), end: () => process.kill(pid) };
}
