/** Small HTTP client over a socket. Loading node:http would take a third of a shim's start. */
import type { Socket } from "node:net";
import { denied, PalaceError } from "../../base/errors.ts";
import { DIAL_TIMEOUT_MS } from "../../protocol/limits.ts";
import { REFUSED_HEADER } from "../../protocol/headers.ts";

const HEAD_SIZE_MAX_BYTES = 16 * 1024;
const BODY_SIZE_MAX_BYTES = 1024 * 1024;

type Response = { status: number; headers: Map<string, string>; rest: Buffer };

/** Turns the connection into a stream of messages, with `Upgrade: mcp`. `rest`: bytes after the response's head. Errors: as `get`. */
export function upgrade(
  socket: Socket,
  headers: Record<string, string>,
  timeoutMs = DIAL_TIMEOUT_MS,
): Promise<Response> {
  return exchange(socket, requestHead("/mcp", { Connection: "Upgrade", Upgrade: "mcp", ...headers }), async () => {
    const response = await readHead(socket, timeoutMs);
    assertAdmitted(response);
    if (response.status !== 101) throw strange(`the other side answers ${response.status}: it is not a palace broker`);
    return response;
  });
}

/** Sends a GET and destroys the socket. Errors: BROKER_DENIED, BROKER_BUSY, TRANSPORT_REFUSED, TRANSPORT_CLOSED, TRANSPORT_TIMEOUT. */
export function get(
  socket: Socket,
  path: string,
  more: Record<string, string> = {},
  timeoutMs = DIAL_TIMEOUT_MS,
): Promise<{ status: number; headers: Map<string, string>; body: string }> {
  return exchange(socket, requestHead(path, { Connection: "close", ...more }), async () => {
    const { status, headers, rest } = await readHead(socket, timeoutMs);
    assertAdmitted({ status, headers });
    // Number() would also accept 1e3, 0x10 and -5.
    const length = /^\d{1,9}$/.test(headers.get("content-length") ?? "") ? Number(headers.get("content-length")) : -1;
    if (length < 0 || length > BODY_SIZE_MAX_BYTES) throw strange();
    const body = await readUntil(socket, rest, (bytes) => (bytes.length >= length ? length : -1), timeoutMs);
    socket.destroy();
    return { status, headers, body: body.found.toString("utf8") };
  });
}

/** Sends a GET and returns one header of the response. The connection stays open for the next request. Errors: as `get`. */
export function ask(socket: Socket, path: string, header: string, more: Record<string, string>): Promise<string> {
  return exchange(socket, requestHead(path, more), async () => {
    const value = (await readHead(socket)).headers.get(header);
    if (value === undefined) throw strange();
    return value;
  });
}

/** Sends a request and reads the response. Destroys the socket after an error. */
async function exchange<T>(socket: Socket, head: string, read: () => Promise<T>): Promise<T> {
  try {
    socket.write(head);
    return await read();
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function strange(why = "the other side does not answer as a palace broker does"): PalaceError {
  return new PalaceError("TRANSPORT_REFUSED", why, "run `palace doctor`");
}

/** Throws if the broker refuses the client: BROKER_DENIED; BROKER_BUSY if it refused the token too often or has too many connections. */
function assertAdmitted({ status, headers }: Pick<Response, "status" | "headers">): void {
  if (![401, 403, 421, 429].includes(status)) return;
  const why = headers.get(REFUSED_HEADER);
  if (why !== undefined)
    throw new PalaceError("BROKER_BUSY", why, "end unneeded agents, then try again", { retryAfterMs: 1_000 });
  if (status === 429)
    throw new PalaceError("BROKER_BUSY", "the broker refused this token too often", "wait a minute, then repeat", {
      retryAfterMs: 60_000,
    });
  if (status === 401)
    throw denied(
      "the broker refuses this token: it is wrong, revoked or expired",
      "on the broker's machine: palace bridge token add NAME; here: export MEMPALACE_TOKEN=…",
    );
  throw denied(
    `the broker refuses this address (${status})`,
    "on the broker's machine: palace config set allowed-hosts NAME, then palace restart",
  );
}

function requestHead(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ Host: "localhost", ...headers }).map(
    ([name, value]) => `${name}: ${value.replaceAll(/[^\x20-\x7e]/g, "?")}`,
  );
  return `GET ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

async function readHead(socket: Socket, timeoutMs = DIAL_TIMEOUT_MS): Promise<Response> {
  const hasEnded = (bytes: Buffer): number => {
    const end = bytes.indexOf("\r\n\r\n");
    if (end === -1 && bytes.length > HEAD_SIZE_MAX_BYTES) throw strange("the other side sent no HTTP head");
    return end === -1 ? -1 : end + 4;
  };
  const { found, rest } = await readUntil(socket, Buffer.alloc(0), hasEnded, timeoutMs);
  const [first = "", ...lines] = found.toString("latin1").split("\r\n");
  const headers = new Map(
    lines
      .filter(Boolean)
      .map(
        (line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const,
      ),
  );
  return { status: Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1] ?? 0), headers, rest };
}

/** Reads until `end` returns the index after the last byte wanted (-1: reads on), then pauses the socket. `rest`: all later bytes. */
function readUntil(
  socket: Socket,
  begun: Buffer,
  end: (bytes: Buffer) => number,
  timeoutMs: number,
): Promise<{ found: Buffer; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let bytes = begun;
    const settle = (action: () => void): void => {
      clearTimeout(timer);
      socket.off("data", onData).off("close", onClose).off("error", onClose);
      socket.pause();
      action();
    };
    const look = (): void => {
      try {
        const index = end(bytes);
        if (index !== -1) settle(() => resolve({ found: bytes.subarray(0, index), rest: bytes.subarray(index) }));
      } catch (error) {
        settle(() => reject(error));
      }
    };
    const onData = (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      look();
    };
    const onClose = (): void =>
      settle(() => reject(new PalaceError("TRANSPORT_CLOSED", "the broker closed the connection", "repeat the call")));
    const silent = ["something listens there and does not answer", "run `palace doctor`"] as const;
    const timer = setTimeout(() => settle(() => reject(new PalaceError("TRANSPORT_TIMEOUT", ...silent))), timeoutMs);
    socket.on("data", onData).on("close", onClose).on("error", onClose);
    socket.resume();
    look();
  });
}
