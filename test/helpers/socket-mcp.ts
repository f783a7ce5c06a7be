/** Exchanges lines of MCP with a server that uses a socket as its standard input and output. For python-mempalace.ts. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JSONRPCMessage, ReadBuffer, serializeMessage, type Transport } from "@modelcontextprotocol/client";
import type { Asked } from "./python-resident.ts";

const CLOSE_MAX_MS = 30_000;

export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly path: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "mcp-"));
  readonly #server: Server;
  readonly #buffer = new ReadBuffer();
  #socket: Socket | undefined;

  readonly #launch: (path: string) => Asked;
  #asked: Asked | undefined;

  /** `launch` starts a server that connects to the path. */
  constructor(launch: (path: string) => Asked) {
    this.path = join(this.#folder, "socket");
    this.#server = createServer();
    this.#launch = launch;
  }

  async start(): Promise<void> {
    this.#server.listen(this.path);
    await once(this.#server, "listening");
    const dialed = once(this.#server, "connection") as Promise<[Socket]>;
    this.#asked = this.#launch(this.path);
    const failed = this.#asked.ended.then((how) =>
      Promise.reject(new Error(`it ended at once: ${JSON.stringify(how)}`)),
    );
    const [socket] = await Promise.race([dialed, failed]);
    failed.catch(() => {});
    this.#server.close();
    this.#socket = socket;
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.onerror?.(error));
    socket.on("close", () => this.onclose?.());
  }

  #take(chunk: Buffer): void {
    this.#buffer.append(chunk);
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#socket?.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    await promise;
  }

  /** Ends the server's input, and kills the server if it does not end in time. */
  async close(): Promise<void> {
    this.#socket?.end();
    const late = setTimeout(() => {
      void this.#asked?.pid.then((pid) => process.kill(pid, "SIGKILL"));
    }, CLOSE_MAX_MS);
    await this.#asked?.ended;
    clearTimeout(late);
    this.#socket?.destroy();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
