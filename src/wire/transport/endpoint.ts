/** Parses and dials a broker's address. */
import { accessSync, constants } from "node:fs";
import { connect, type Socket } from "node:net";
import { badValue, PalaceError } from "../../base/errors.ts";
import { DIAL_TIMEOUT_MS } from "../../protocol/limits.ts";
import type { Door } from "../../protocol/spec.ts";

/** Address of a broker. */
export type Endpoint = { kind: "unix"; path: string } | { kind: "tcp"; host: string; port: number };

const PORT_MAX = 65_535;

/** Parses `unix:/path`, `http://host:port` or `tcp://host:port`. Errors: CONFIG_BAD_VALUE. */
export function parseEndpoint(text: string): Endpoint {
  if (text.startsWith("unix:")) return { kind: "unix", path: text.slice("unix:".length).replace(/^\/\/(?=\/)/, "") };
  const match = /^(?:http|tcp):\/\/(\[[^\]]+\]|[^/:]+):(\d+)\/?$/.exec(text);
  if (match?.[1] !== undefined && Number(match[2]) <= PORT_MAX)
    return { kind: "tcp", host: match[1].replace(/^\[|\]$/g, ""), port: Number(match[2]) };
  throw badValue(
    `MEMPALACE_BROKER=${text} is not an endpoint`,
    "write unix:/path/to.sock, http://host:port or ssh://user@host",
  );
}

/** Returns the address as text for `parseEndpoint`. */
export function formatEndpoint(endpoint: Endpoint | Door): string {
  if (endpoint.kind === "unix") return `unix:${endpoint.path}`;
  return `http://${endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host}:${endpoint.port}`;
}

/** Connects. Errors: TRANSPORT_REFUSED, TRANSPORT_TIMEOUT, TRANSPORT_SANDBOXED. */
export function dial(endpoint: Endpoint): Promise<Socket> {
  const where = formatEndpoint(endpoint);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const refuse = (cause: unknown): void =>
    reject(
      isSandboxed(endpoint, cause)
        ? new PalaceError("TRANSPORT_SANDBOXED", sandboxedAt(where, cause), SANDBOX_HINT, { cause })
        : new PalaceError("TRANSPORT_REFUSED", `no broker answers at ${where}`, "run `palace start`", { cause }),
    );
  try {
    // Uses the option `path`, because Node treats a path of only digits as a port.
    const { kind: _kind, ...address } = endpoint;
    const socket = connect({ ...address, noDelay: true });
    const why = `no answer from ${where} within ${DIAL_TIMEOUT_MS} ms`;
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new PalaceError("TRANSPORT_TIMEOUT", why, "run `palace status`"));
    }, DIAL_TIMEOUT_MS);
    // This listener stays, because an error before the caller adds a listener would end the process.
    socket.on("error", refuse).once("connect", () => resolve(socket));
    return promise.finally(() => clearTimeout(timer));
  } catch (cause) {
    refuse(cause);
    return promise;
  }
}

const SANDBOX_HINT = "allow UNIX sockets in the settings of the sandbox, or run the command outside it";

function sandboxedAt(where: string, cause: unknown): string {
  return `a sandbox does not let this process open sockets (${(cause as NodeJS.ErrnoException).code} at ${where})`;
}

/** Returns true if a sandbox refused the connection, not the permissions of another user's socket (which also give EACCES). */
function isSandboxed(endpoint: Endpoint, cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  if (code !== "EACCES" || endpoint.kind === "tcp") return code === "EPERM" || code === "EACCES";
  try {
    accessSync(endpoint.path, constants.W_OK);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "EACCES";
  }
}
