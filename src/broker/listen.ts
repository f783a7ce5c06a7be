/** Making a server listen: a socket file in a folder of ours, or a TCP port. Used by door.ts. */
import { chmodSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { PalaceError } from "../protocol/errors.ts";

export type TcpAddress = { host: string; port: number };

/** Stands for the address that containers reach as host.docker.internal: nothing outside this machine does. */
const DOCKER = "docker";
const DOCKER_BRIDGE = "docker0";

/** Only call while holding the lifetime lock: a leftover socket is removed. Errors: STORE_READ_ONLY, CONFIG_BAD_VALUE. */
export async function listenUnix(server: Server, socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const leftover = lstatSync(socketPath, { throwIfNoEntry: false });
    if (leftover !== undefined && !leftover.isSocket()) {
      throw new PalaceError(
        "CONFIG_BAD_VALUE",
        `${socketPath} is in the way and is no socket`,
        `look at it, then: rm ${socketPath}`,
      );
    }
    rmSync(socketPath, { force: true });
    await listening(server, () => server.listen(socketPath));
    chmodSync(socketPath, 0o600);
  } catch (error) {
    if (error instanceof PalaceError) throw error;
    throw new PalaceError(
      "STORE_READ_ONLY",
      `no socket can be made in ${folder}`,
      "set XDG_RUNTIME_DIR to a folder of yours on a local disk",
      { cause: error },
    );
  }
}

/** Errors: CONFIG_BAD_VALUE for an address that is taken or not this machine's. */
export async function listenTcp(server: Server, { host, port }: TcpAddress): Promise<void> {
  try {
    await listening(server, () => server.listen({ host, port }));
  } catch (error) {
    throw new PalaceError(
      "CONFIG_BAD_VALUE",
      `MEMPALACE_LISTEN: ${host}:${port} cannot be listened at (${(error as NodeJS.ErrnoException).code})`,
      "choose another port, or end what listens there",
      { cause: error },
    );
  }
}

/**
 * `docker` becomes the Docker bridge's own address where there is one, which `host-gateway` leads to; Docker Desktop leads
 * host.docker.internal to the loopback.
 */
export function resolveListenHost(host: string): string {
  if (host !== DOCKER) return host;
  const bridge = networkInterfaces()[DOCKER_BRIDGE]?.find(({ family }) => family === "IPv4");
  return bridge?.address ?? "127.0.0.1";
}

/** Only this machine reaches it. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("listening", () => {
      server.off("error", reject);
      resolve();
    });
    listen();
  });
}
