/** Topologies of the grid (world.ts) whose broker runs in a container: the compose stack, and a single container. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect } from "vitest";
import { readBrokerFile } from "../../../src/wire/client/discover.ts";
import { containerOf, engine, execIn, openAgent, pause } from "../../helpers/docker-box.ts";
import { dockerName } from "../../helpers/docker-run.ts";
import { openStack } from "../../helpers/docker-stack.ts";
import { ROOT } from "../../helpers/palace.ts";
import { writeTinyModel } from "../../helpers/tiny-model.ts";
import { openBox } from "./box.ts";
import { copyPalace } from "./copy.ts";
import { shimCommand } from "./install.ts";
import { MCP_CONFIG, type World } from "./world.ts";

const CALL_TIMEOUT_MS = 120_000;
const KILL_BROKER = `
const { pid } = JSON.parse(fs.readFileSync("/palace/broker.json", "utf8"));
try { process.kill(pid, "SIGKILL"); } catch (error) { if (error.code !== "ESRCH") throw error; }`;
const COUNT_BROKERS = `
const line = (pid) => { try { return fs.readFileSync("/proc/" + pid + "/cmdline", "utf8"); } catch { return ""; } };
console.log(fs.readdirSync("/proc").filter((pid) => /^\\d+$/.test(pid) && /\\/mempalace-broker(\\.js)?\\0/.test(line(pid))).length);`;

export async function openComposeWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "palace-grid-"));
  const stack = await openStack(folder, { isModelTiny: true });
  const broker = `${stack.project}-broker-1`;
  const box = (index: number): string => `${stack.project}-devbox-${index}`;
  const up = async (): Promise<void> => {
    await stack.compose("up", "--detach", "--build", "--wait", "--scale", "devbox=2", "devbox");
    for (const index of [1, 2]) await execIn(box(index), ["sh", "-c", "cat > ~/mcp.json"], { input: MCP_CONFIG });
  };
  const close = async (): Promise<void> => {
    await stack[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await up();
  } catch (error) {
    await close();
    throw error;
  }
  const home = await volumeFolder(`${stack.project}_devbox-palace`);
  const { stdout: config } = await execa("docker", ["exec", box(1), "sh", "-c", "cat ~/mcp.json"]);
  const command = shimCommand(config);
  return {
    name: "container-only-compose",
    home,
    places: [0, 1],
    agent: (place) => openAgent(box(Number(place) + 1), command),
    killBroker: async (script) => {
      await stack.kill("broker");
      if (script !== undefined)
        await stack.compose("run", "--rm", "--no-deps", "--no-TTY", "broker", "node", "-e", script);
      await (await containerOf(broker)).start();
    },
    brokers: async () => Number((await execa("docker", ["exec", broker, "node", "-e", COUNT_BROKERS])).stdout),
    stopBroker: async () => void (await stack.compose("stop", "broker")),
    startBroker: async () => void (await stack.compose("start", "broker")),
    stopWriters: async () => void (await stack.compose("stop", "broker", "chroma")),
    status: async () => (await stack.exec("devbox", 1, "palace", "status", "--json")).stdout,
    copy: async () => copyPalace(home, join(folder, "copy")),
    container: {
      disconnect: () => Promise.reject(new Error("the devbox needs no network here")),
      connect: () => Promise.reject(new Error("the devbox needs no network here")),
      pause: () => pause(box(2)),
      unpause: async () => (await containerOf(box(2))).unpause(),
      killAndRecreate: async () => {
        await (await containerOf(box(2))).kill();
        await (await containerOf(box(2))).remove({ force: true });
        await up();
      },
    },
    [Symbol.asyncDispose]: close,
  };
}

export async function openAloneWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "palace-grid-"));
  const model = writeTinyModel(join(folder, "model"));
  // The container's user has another uid and must be able to read the folder.
  chmodSync(folder, 0o755);
  const box = await openBox({
    name: "alone",
    env: { MEMPALACE_MODEL_DIR: "/model" },
    mounts: [
      { source: `${dockerName("alone")}-palace`, target: "/palace" },
      { source: model, target: "/model", mode: "ro" },
    ],
  });
  const { name } = box;
  const inBox = async (...command: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await box.exec(...command);
    if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
    return stdout;
  };
  const home = await volumeFolder(`${name}-palace`);
  return {
    name: "container-only-alone",
    home,
    places: [0],
    agent: () => box.agent(),
    killBroker: async (script = "") => void (await inBox("node", "-e", `${KILL_BROKER}\n${script}`)),
    startService: async () => {
      const service = await (await containerOf(name)).exec({ Cmd: ["mempalace-broker", "--foreground"] });
      await service.start({ Detach: true });
    },
    startHostService: () => startHostBroker(home, folder),
    brokers: async () => Number(await inBox("node", "-e", COUNT_BROKERS)),
    stopBroker: async () => void (await inBox("palace", "stop")),
    startBroker: async () => void (await inBox("palace", "start")),
    stopWriters: async () => void (await inBox("palace", "stop")),
    status: () => inBox("palace", "status", "--json"),
    copy: async () => copyPalace(home, join(folder, "copy")),
    container: box,
    [Symbol.asyncDispose]: async () => {
      await box[Symbol.asyncDispose]();
      await (await engine()).getVolume(`${name}-palace`).remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function volumeFolder(name: string): Promise<string> {
  return (await (await engine()).getVolume(name).inspect()).Mountpoint;
}

/** Starts a broker for the palace in `home`, as a user of this machine would. */
async function startHostBroker(home: string, folder: string): Promise<AsyncDisposable> {
  const env = { PATH: process.env["PATH"], HOME: folder, MEMPALACE_PATH: home, MEMPALACE_OFFLINE: "1" };
  const file = join(ROOT, "dist/bin/mempalace-broker.js");
  // A broker that finishes its work may take longer than execa would wait.
  const ends = { reject: false, all: true, forceKillAfterDelay: false } as const;
  const child = execa(process.execPath, [file, "--foreground"], { env, extendEnv: false, ...ends });
  await expect
    .poll(() => readBrokerFile(join(home, "broker.json"))?.pid, { timeout: CALL_TIMEOUT_MS, interval: 50 })
    .toBe(child.pid);
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      const { exitCode, all } = await child;
      expect(exitCode, all).toBe(0);
    },
  };
}
