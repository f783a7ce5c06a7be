/** Receives connections from port-process.ts. The first line names the client's address and port; all other bytes are the client's. */
import type { Server as HttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";

/** Maximum length of a line of the PROXY protocol, version 1. */
const LINE_MAX = 107;
const LINE_TIMEOUT_MS = 10_000;
const LINE = /^PROXY TCP4 ([\d.]+) [\d.]+ (\d{1,5}) \d{1,5}\r\n/;

/** Returns a server whose connections `http` answers. Their `remoteAddress` and `remotePort` are the client's. */
export function forwardedServer(http: HttpServer): Server {
  // Node's HTTP server enforces its timeouts only after a `listening` event.
  const listens = (): void => void http.emit("listening");
  return createServer({ allowHalfOpen: true }, (socket) => takeLine(socket, http)).once("listening", listens);
}

function takeLine(socket: Socket, http: HttpServer): void {
  let head = Buffer.alloc(0);
  const drop = (): void => void socket.destroy();
  const take = (part: Buffer): void => {
    head = Buffer.concat([head, part]);
    const [line, remoteAddress, remotePort] = LINE.exec(head.toString("latin1", 0, LINE_MAX)) ?? [];
    if (line === undefined) return head.length < LINE_MAX ? undefined : drop();
    socket.pause().off("data", take).off("error", drop).off("end", drop).off("timeout", drop).setTimeout(0);
    Object.defineProperties(socket, {
      remoteAddress: { value: remoteAddress },
      remotePort: { value: Number(remotePort) },
    });
    if (head.length > line.length) socket.unshift(head.subarray(line.length));
    http.emit("connection", socket);
    socket.resume();
  };
  socket.on("data", take).on("error", drop).on("end", drop).on("timeout", drop).setTimeout(LINE_TIMEOUT_MS);
}
