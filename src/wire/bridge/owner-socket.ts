/**
 * Connects one process to a broker in a container with the owner's rights. Makes a socket, and starts an owner's gate in the container for
 * each connection. The socket exists only while that process lives. Agents use the resident's socket and cannot find the owner's socket.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { serveChannels } from "./channel.ts";
import { DockerExec } from "./docker-exec.ts";
import type { BridgeSettings } from "./settings.ts";

/** Socket that leads to the broker's own socket until `close`. */
export type OwnerWay = { socketPath: string; close: () => void };

/** Resolves when the container has accepted us. Errors: as DockerExec.channel. */
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
  // Also runs when a signal ends the process.
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
