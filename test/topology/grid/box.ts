/** Devbox container of the grid. Its home and palace are on its own volumes, so it can be killed and made again. */
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import * as docker from "../../helpers/docker-box.ts";
import { dockerName } from "../../helpers/docker-run.ts";
import { shimCommand } from "./install.ts";
import { MCP_CONFIG } from "./world.ts";

// Each process builds its own image, because another test run has other sources.
const IMAGE_PROJECT = dockerName("grid");

export type Box = AsyncDisposable & {
  readonly name: string;
  exec(...command: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  agent(): Promise<StdioMcp>;
  disconnect(): Promise<void>;
  connect(): Promise<void>;
  pause(): Promise<void>;
  unpause(): Promise<void>;
  killAndRecreate(): Promise<void>;
};

/** `name` is unique within the process. */
export type BoxOptions = { name: string; env?: Record<string, string>; mounts?: readonly docker.Mount[] };

export async function buildImage(): Promise<void> {
  await docker.buildImage(IMAGE_PROJECT, "devbox");
}

export async function openBox({ name: title, env = {}, mounts = [] }: BoxOptions): Promise<Box> {
  await using opening = new AsyncDisposableStack();
  const name = dockerName(title);
  const home = `${name}-home`;
  const network = opening.use(await docker.startNetwork(`${name}-net`));
  const recipe = new docker.NamedContainer(`${IMAGE_PROJECT}-devbox`, title)
    .withHostname(name)
    .withNetwork(network)
    .withBindMounts([{ source: home, target: "/home/developer" }, ...mounts])
    .withCopyContentToContainer([{ content: MCP_CONFIG, target: "/home/developer/mcp.json" }])
    // Uses its own folder for sockets, because the image's folder is for a volume shared with a broker.
    .withEnvironment({ XDG_RUNTIME_DIR: "", MEMPALACE_OFFLINE: "1", MEMPALACE_IDLE_EXIT_MINUTES: "0", ...env });
  const engine = await docker.engine();
  let container = await recipe.start();
  opening.defer(() => engine.getVolume(home).remove());
  opening.defer(async () => void (await container.stop()));
  const lines = engine.getNetwork(network.getId());
  // Every agent of this devbox starts the shim with this command line of the devbox's MCP configuration.
  const command = shimCommand((await container.exec(["sh", "-c", "cat ~/mcp.json"])).stdout);
  const closing = opening.move();
  return {
    name,
    exec: (...command) => container.exec(command),
    agent: () => docker.openAgent(name, command),
    disconnect: () => lines.disconnect({ Container: name }),
    connect: () => lines.connect({ Container: name }),
    pause: () => docker.pause(name),
    unpause: () => engine.getContainer(name).unpause(),
    killAndRecreate: async () => {
      await engine.getContainer(name).kill();
      await container.stop();
      container = await recipe.start();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
