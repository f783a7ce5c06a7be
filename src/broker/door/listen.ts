/** Makes a server listen on a socket file in a private folder, or on a TCP port. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readRecord } from "../../base/parse-json.ts";
import { writeFileAtomic } from "../../base/atomic-file.ts";
import { badValue, PalaceError, unwritable } from "../../base/errors.ts";

export type TcpAddress = { host: string; port: number };

/** Host setting for the address that containers reach as host.docker.internal and that no other machine reaches. */
const DOCKER = "docker";
const DOCKER_BRIDGE = "docker0";

/** Listens on a socket. Requires the lifetime lock, because it removes a leftover socket. Errors: STORE_READ_ONLY, CONFIG_BAD_VALUE. */
export async function listenUnix(server: Server, socketPath: string): Promise<void> {
  const folder = dirname(socketPath);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const leftover = lstatSync(socketPath, { throwIfNoEntry: false });
    if (leftover !== undefined && !leftover.isSocket()) {
      throw badValue(`${socketPath} must be a socket, but is another file`, `look at it, then: rm ${socketPath}`);
    }
    rmSync(socketPath, { force: true });
    await listening(server, () => server.listen(socketPath));
    chmodSync(socketPath, 0o600);
  } catch (error) {
    if (error instanceof PalaceError) throw error;
    throw unwritable(
      `no socket can be made in ${folder}`,
      "set XDG_RUNTIME_DIR to a folder of yours on a local disk",
      error,
    );
  }
}

/** Listens on a port. Errors: CONFIG_BAD_VALUE for an address that is in use or not this machine's. */
export async function listenTcp(server: Server, { host, port }: TcpAddress): Promise<void> {
  try {
    await listening(server, () => server.listen({ host, port }));
  } catch (error) {
    throw badValue(
      `MEMPALACE_LISTEN: the broker cannot listen on ${host}:${port} (${(error as NodeJS.ErrnoException).code})`,
      "choose another port, or end what listens there",
      error,
    );
  }
}

/**
 * Turns `docker` into the address of the Docker bridge, to which `host-gateway` resolves. Without a bridge it returns the loopback address,
 * to which Docker Desktop resolves host.docker.internal.
 */
export function resolveListenHost(host: string): string {
  if (host !== DOCKER) return host;
  try {
    return (
      bridgeAddress(readFileSync("/proc/net/route", "utf8"), readFileSync("/proc/net/fib_trie", "utf8")) ?? "127.0.0.1"
    );
  } catch {
    return "127.0.0.1";
  }
}

/**
 * Reads the bridge's own address from the kernel's tables: os.networkInterfaces() omits a bridge without containers. Source: proc(5);
 * /proc/net/route has addresses and masks as little-endian hex.
 */
export function bridgeAddress(routes: string, trie: string): string | undefined {
  const route = routes
    .split("\n")
    .map((line) => line.split("\t"))
    .find(([name]) => name === DOCKER_BRIDGE);
  if (route === undefined) return undefined;
  const [network, mask] = [route[1], route[7]].map((hex) => Buffer.from(hex ?? "", "hex").reverse()) as [
    Buffer,
    Buffer,
  ];
  const locals = Array.from(trie.matchAll(/\|-- ([\d.]+)\n\s+\/32 host LOCAL/g), ([, address = ""]) => address);
  return locals.find((address) =>
    address.split(".").every((part, at) => (Number(part) & (mask[at] ?? 0)) === (network[at] ?? -1)),
  );
}

/** Returns the TCP address that a former broker stored: the client that starts this broker may lack the variable that sets the address. */
export function recallAddress(file: string): TcpAddress | undefined {
  const { host, port } = readRecord(file);
  return typeof host === "string" && Number.isInteger(port) ? { host, port: port as number } : undefined;
}

export function rememberAddress(file: string, address: TcpAddress | undefined): void {
  if (address === undefined) rmSync(file, { force: true });
  else if (!isDeepStrictEqual(recallAddress(file), address)) writeFileAtomic(file, `${JSON.stringify(address)}\n`);
}

export function isLoopback(host: string): boolean {
  return /^localhost$/i.test(host) || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
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

/** Refuses a public address while no token exists. `tokens`: number of tokens. Errors: CONFIG_BAD_VALUE. */
export function requireToken({ host, port }: TcpAddress, tokens: number): void {
  if (isLoopback(host) || tokens > 0) return;
  throw badValue(
    `${host}:${port} can be reached from elsewhere and there is no token yet`,
    "palace bridge token add NAME --role agent",
  );
}
