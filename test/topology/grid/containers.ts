/** Worlds without a broker on this machine: the compose stack, and one container that has nobody else. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { openStdioMcp } from "../../../src/bin/proof/stdio-mcp.ts";
import { dockerName } from "../../helpers/docker-run.ts";
import { openStack } from "../../helpers/docker-stack.ts";
import { openBox } from "./box.ts";
import { shimCommand } from "./install.ts";
import { KEPT_FILES, MCP_CONFIG, type World } from "./world.ts";

const CALL_TIMEOUT_MS = 120_000;
const KILL_BROKER = `
const { pid } = JSON.parse(fs.readFileSync("/palace/broker.json", "utf8"));
try { process.kill(pid, "SIGKILL"); } catch (error) { if (error.code !== "ESRCH") throw error; }`;
const COUNT_BROKERS = `
const line = (pid) => { try { return fs.readFileSync("/proc/" + pid + "/cmdline", "utf8"); } catch { return ""; } };
console.log(fs.readdirSync("/proc").filter((pid) => /^\\d+$/.test(pid) && /\\/mempalace-broker(\\.js)?\\0/.test(line(pid))).length);`;

export async function openComposeWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "palace-grid-"));
  const stack = await openStack(folder);
  const broker = `${stack.project}-broker-1`;
  const box = (index: number): string => `${stack.project}-devbox-${index}`;
  const up = async (): Promise<void> => {
    await stack.compose("up", "--detach", "--build", "--wait", "--scale", "devbox=2", "devbox");
    for (const index of [1, 2])
      await execa("docker", ["exec", "-i", box(index), "sh", "-c", "cat > ~/mcp.json"], { input: MCP_CONFIG });
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
  return {
    name: "container-only-compose",
    places: [0, 1],
    agent: async (place) => {
      const name = box(Number(place) + 1);
      const { stdout } = await execa("docker", ["exec", name, "sh", "-c", "cat ~/mcp.json"]);
      return openStdioMcp(["docker", "exec", "-i", name, ...shimCommand(stdout)], {
        env: process.env,
        timeoutMs: CALL_TIMEOUT_MS,
      });
    },
    killBroker: async (script) => {
      await stack.kill("broker");
      if (script !== undefined)
        await stack.compose("run", "--rm", "--no-deps", "--no-TTY", "broker", "node", "-e", script);
      await execa("docker", ["start", broker]);
    },
    brokers: async () => Number((await execa("docker", ["exec", broker, "node", "-e", COUNT_BROKERS])).stdout),
    stopBroker: async () => void (await stack.compose("stop", "broker")),
    startBroker: async () => void (await stack.compose("start", "broker")),
    copy: () => copyOf(broker, folder),
    container: {
      disconnect: () => Promise.reject(new Error("the devbox needs no network here")),
      connect: () => Promise.reject(new Error("the devbox needs no network here")),
      pause: async () => void (await execa("docker", ["pause", box(2)])),
      unpause: async () => void (await execa("docker", ["unpause", box(2)])),
      killAndRecreate: async () => {
        await execa("docker", ["kill", "--signal", "KILL", box(2)]);
        await execa("docker", ["rm", "--force", box(2)]);
        await up();
      },
    },
    [Symbol.asyncDispose]: close,
  };
}

export async function openAloneWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "palace-grid-"));
  const box = await openBox({ name: "alone", volumes: [`${dockerName("alone")}-palace:/palace`] });
  const { name } = box;
  const inBox = async (...command: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await box.exec(...command);
    if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr}`);
    return stdout;
  };
  return {
    name: "container-only-alone",
    places: [0],
    agent: () => box.agent(),
    killBroker: async (script = "") => void (await inBox("node", "-e", `${KILL_BROKER}\n${script}`)),
    startService: async () => void (await execa("docker", ["exec", "-d", name, "mempalace-broker", "--foreground"])),
    brokers: async () => Number(await inBox("node", "-e", COUNT_BROKERS)),
    stopBroker: async () => void (await inBox("palace", "stop")),
    startBroker: async () => void (await inBox("palace", "start")),
    copy: () => copyOf(name, folder),
    container: box,
    [Symbol.asyncDispose]: async () => {
      await box[Symbol.asyncDispose]();
      await execa("docker", ["volume", "rm", "--force", `${name}-palace`], { reject: false });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Databases with what their logs hold, while nobody writes. */
async function copyOf(container: string, folder: string): Promise<string> {
  const to = join(folder, "copy");
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to);
  for (const name of KEPT_FILES)
    await execa("docker", ["cp", `${container}:/palace/${name}`, join(to, name)], { reject: name === KEPT_FILES[0] });
  return to;
}
