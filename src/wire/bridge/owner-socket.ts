/**
 * The owner's way to a broker in a container: a socket for one process, each connection of which is an owner's gate in the
 * container. It exists while that process lives, so agents, which use the resident's socket, cannot find it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { serveChannels } from "./channel.ts";
import { DockerExec } from "./docker-exec.ts";
import type { BridgeSettings } from "./settings.ts";

/** A socket that leads to the broker's own, until `close`. */
export type OwnerWay = { socketPath: string; close: () => void };

/** Resolves when the container has let us in. Errors: as DockerExec.channel. */
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
  // A process that is ended by a signal leaves through here too.
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
