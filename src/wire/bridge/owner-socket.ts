/**
 * The owner's way to a broker in a container: a socket for one process, each connection of which is an owner's gate in the
 * container. It exists while that process lives, so agents, which use the resident's socket, cannot find it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
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
  const locals = new Set<Socket>();
  const serve = async (local: Socket): Promise<void> => {
    locals.add(local);
    local.on("error", () => {}).on("close", () => locals.delete(local));
    local.pause();
    const ready = first;
    first = undefined;
    const channel = ready?.destroyed === false ? ready : await connection.channel().catch(() => undefined);
    if (channel === undefined) return void local.destroy();
    if (local.destroyed) return void channel.destroy();
    channel.on("error", () => local.destroy()).on("close", () => local.destroy());
    local.on("close", () => channel.destroy());
    local.pipe(channel);
    channel.pipe(local);
  };
  const socketPath = join(folder, "s");
  // A process that is ended by a signal leaves through here too.
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const server = await listen(socketPath, (local) => void serve(local));
  const close = (): void => {
    server.close();
    for (const local of locals) local.destroy();
    first?.destroy();
    connection.close();
    process.off("exit", remove);
    remove();
  };
  return { socketPath, close };
}

function listen(path: string, onConnection: (local: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(onConnection);
    server.once("error", reject).listen(path, () => resolve(server));
  });
}
