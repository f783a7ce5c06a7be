/** Makes a socket through which this process, but no agent, gets the role admin at a broker in a container. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { serveChannels } from "./channel.ts";
import { DockerExec } from "./docker-exec.ts";
import type { BridgeSettings } from "./settings.ts";

/** Socket whose connections reach the broker's own socket, until `close`. */
export type OwnerWay = { socketPath: string; close: () => void };

/** Makes the socket after the container's gate has answered. Errors: the same as of `DockerExec.channel`. */
export async function openOwnerWay(settings: BridgeSettings): Promise<OwnerWay> {
  const connection = new DockerExec(settings, "owner");
  let first: Duplex | undefined = await connection.channel().catch((error: unknown) => {
    connection.close();
    throw error;
  });
  const folder = mkdtempSync(join(tmpdir(), "palace-owner-"));
  const open = (): Promise<Duplex> => {
    const ready = first;
    first = undefined;
    return ready?.destroyed === false ? Promise.resolve(ready) : connection.channel();
  };
  const socketPath = join(folder, "s");
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const server = await serveChannels(socketPath, open);
  const close = (): void => {
    server.close();
    first?.destroy();
    connection.close();
    process.off("exit", remove);
    remove();
  };
  return { socketPath, close };
}
