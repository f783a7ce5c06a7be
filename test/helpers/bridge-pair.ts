/** Makes two homes on this machine, a host's with a real sshd and a container's, and the command that sets up the bridge between them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { createTestPalace, processesWith, type TestPalace } from "./palace.ts";
import { startSshd, type TestSshd } from "./sshd.ts";

export type Pair = AsyncDisposable & {
  remote: string;
  host: TestPalace;
  box: TestPalace;
  sshd: TestSshd;
  setup: (...more: string[]) => ReturnType<TestPalace["run"]>;
};

/** Makes the two homes. `extra`: lines for the container's ssh configuration. */
export async function pair(extra: string[] = []): Promise<Pair> {
  const host = createTestPalace();
  const folders = {
    MEMPALACE_PATH: join(host.home, ".mempalace"),
    XDG_STATE_HOME: join(host.home, ".local/state"),
    XDG_CACHE_HOME: join(host.home, ".cache"),
  };
  Object.assign(host.env, folders);
  const sshd = await startSshd(host.home, "127.0.0.1", extra);
  const box = createTestPalace();
  // Runs our command line on the host, with the settings that a shell of its user would have.
  const remote = [
    "env",
    ...Object.entries(folders).map(([name, value]) => `${name}=${value}`),
    `HOME=${host.home}`,
    "MEMPALACE_OFFLINE=1",
    process.execPath,
    host.executable("palace"),
  ].join(" ");
  return {
    remote,
    host,
    box,
    sshd,
    setup: (...more) =>
      box.run("palace", [
        "bridge",
        "setup",
        "testhost",
        "--ssh-config",
        sshd.sshConfig,
        "--remote-palace",
        `${remote}`,
        ...more,
      ]),
    async [Symbol.asyncDispose]() {
      await box.run("palace", ["bridge", "remove", "--ssh-config", sshd.sshConfig, "--remote-palace", remote]);
      await box[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
      // Waits because a gate that ends late could start the host's broker again, which would be a fault.
      await delay(1_500);
      const late = processesWith(host.home).filter((pid) => readFileSync(`/proc/${pid}/cmdline`).includes("broker"));
      await sshd[Symbol.asyncDispose]();
      expect(late).toEqual([]);
    },
  };
}
