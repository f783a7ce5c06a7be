/** Topologies of the grid (world.ts) whose broker runs on this machine. Agents run here or in containers that use SSH or TCP. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { openStdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import { resolveListenHost } from "../../../src/broker/door/listen.ts";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { freePort } from "../../helpers/free-port.ts";
import { processesWith } from "../../helpers/palace.ts";
import { startSshd, type TestSshd } from "../../helpers/sshd.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";
import { type Box, openBox } from "./box.ts";
import { copyPalace } from "./copy.ts";
import { installPackage, shimCommand } from "./install.ts";
import type { World } from "./world.ts";

type HostName = "native-only" | "mixed-gate" | "mixed-streamlocal" | "mixed-tcp" | "container-only-bridged";

const CALL_TIMEOUT_MS = 120_000;
const BOXES = 2;

export async function openHostWorld(name: HostName): Promise<World> {
  const home = mkdtempSync(join(tmpdir(), "palace-grid-"));
  const { bin, config } = installPackage(join(home, "install"));
  const env: Record<string, string> = {
    PATH: `${bin}:${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`,
    HOME: home,
    LANG: "C.UTF-8",
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
    MEMPALACE_OFFLINE: "1",
    MEMPALACE_MODEL_DIR: writeTinyModel(join(home, "model")),
    MEMPALACE_IDLE_EXIT_MINUTES: "0",
    // The gate's forced command runs with sshd's environment. These variables make it use this palace.
    MEMPALACE_PATH: join(home, ".mempalace"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
  };
  const gateway = resolveListenHost("docker");
  if (name === "mixed-tcp") env["MEMPALACE_LISTEN"] = `tcp://docker:${await freePort(gateway)}`;
  const palace = async (...args: string[]): Promise<string> =>
    (await execa("palace", args, { env, extendEnv: false })).stdout;
  const token = async (): Promise<string> => {
    const added = await palace("token", "add", `box-${Date.now()}`, "--json");
    return (JSON.parse(added) as { token: string }).token;
  };
  const brokerFile = join(home, ".mempalace/broker.json");
  const forwards = name === "mixed-streamlocal";
  const boxes: Box[] = [];
  let sshd: TestSshd | undefined;
  const close = async (): Promise<void> => {
    await Promise.all(boxes.map((box) => box[Symbol.asyncDispose]()));
    await palace("stop").catch(() => {});
    await sshd?.[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  try {
    if (name !== "native-only" && name !== "mixed-tcp") sshd = await startSshd(home, gateway);
    const secret = name === "mixed-tcp" ? await token() : "";
    if (name === "mixed-tcp" || forwards) await palace("start");
    for (let index = 1; index <= (name === "native-only" ? 0 : BOXES); index++) {
      const access =
        name === "mixed-tcp"
          ? {
              MEMPALACE_BROKER: `http://host.docker.internal:${new URL(env["MEMPALACE_LISTEN"] ?? "").port}`,
              MEMPALACE_TOKEN: secret,
            }
          : { MEMPALACE_PATH: "/home/developer/.mempalace" };
      const box = await openBox({ name: `${name}-${index}`, env: access });
      boxes.push(box);
      if (sshd !== undefined) await bridge(box, sshd, forwards, palace);
    }
  } catch (error) {
    await close();
    throw error;
  }
  const host = {
    agent: () => openStdioMcp(shimCommand(readFileSync(config, "utf8")), { env, timeoutMs: CALL_TIMEOUT_MS }),
  };
  const last = boxes.at(-1);
  return {
    name,
    home: join(home, ".mempalace"),
    places: [...(name === "container-only-bridged" ? [] : (["host"] as const)), ...boxes.map((_box, index) => index)],
    agent: (place) =>
      place === "host" ? host.agent() : (boxes[place]?.agent() ?? Promise.reject(new Error("no such box"))),
    killBroker: async (script) => {
      const pid = readBrokerFile(brokerFile)?.pid;
      if (pid !== undefined) tryKill(pid);
      if (script !== undefined) await execa(process.execPath, ["-e", script], { env, extendEnv: false });
      // Starts the broker again, because no client in a container can start it.
      if (forwards || name === "mixed-tcp") await palace("start");
    },
    brokers: async () => processesWith(home).filter(isBroker).length,
    stopBroker: async () => void (await palace("stop")),
    startBroker: async () => void (await palace("start")),
    stopWriters: async () => void (await palace("stop")),
    status: () => palace("status", "--json"),
    copy: async () => copyPalace(join(home, ".mempalace"), join(home, "copy")),
    ...(sshd !== undefined && { killSshd: sshd.kill, startSshd: sshd.start }),
    ...(sshd !== undefined && last !== undefined && { sshWithBridgeKey: sshWithBridgeKey(last, sshd.port) }),
    ...(last !== undefined && { container: last }),
    [Symbol.asyncDispose]: close,
  };
}

/** Sets up a bridge: the first try fails and prints the container's key, the host authorizes the key, and the second try succeeds. */
export async function bridge(
  box: Box,
  sshd: TestSshd,
  forwards: boolean,
  palace: (...args: string[]) => Promise<string>,
): Promise<void> {
  const [, fingerprint = ""] = execFileSync("ssh-keygen", ["-lf", sshd.hostKeyFile], { encoding: "utf8" }).split(" ");
  const kind = forwards ? ["--streamlocal", "--remote-socket", await palace("gate", "socket")] : [];
  const setup = (): ReturnType<Box["exec"]> =>
    box.exec(
      ...["palace", "bridge", "setup", "root@host.docker.internal", "--port", String(sshd.port)],
      ...["--host-key", fingerprint, ...kind],
    );
  const first = await setup();
  const key = /ssh-ed25519 [A-Za-z0-9+/=]+/.exec(first.stderr)?.[0];
  if (first.exitCode === 0 || key === undefined) throw new Error(`no key to let in: ${first.stderr}`);
  await palace("gate", "authorize", key, ...(forwards ? ["--streamlocal"] : []));
  const second = await setup();
  if (second.exitCode !== 0) throw new Error(`no bridge: ${second.stderr}\n${sshd.log()}`);
}

const SSH = `exec ssh -i "$(find ~/.local/state/palace -name id_ed25519)" -o BatchMode=yes -o IdentitiesOnly=yes \
  -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null`;

function sshWithBridgeKey(box: Box, port: number): NonNullable<World["sshWithBridgeKey"]> {
  return (args, ...command) =>
    box.exec(
      ...["sh", "-c", `${SSH} "$@"`, "ssh", "-p", String(port), ...args, "root@host.docker.internal", ...command],
    );
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function isBroker(pid: number): boolean {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return line.includes("mempalace-broker") && !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
