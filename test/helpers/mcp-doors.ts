/** Sends raw MCP messages to each door, one at a time: the shim's stdio, the broker's stream, Streamable HTTP. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import type { Env } from "../../src/config/env.ts";
import { dial } from "../../src/wire/transport/endpoint.ts";
import { upgrade } from "../../src/wire/transport/http-client.ts";
import type { TestPalace } from "./palace.ts";

export type Message = { id?: number | string; method: string; params?: Record<string, unknown> };
/** Open door. `say` sends a message and resolves to the raw answer: a line, or HTTP's status and body. */
export type RawDoor = AsyncDisposable & {
  say: (message: Message, headers?: Record<string, string>) => Promise<string>;
};

export const DOORS = {
  stdio: (palace: TestPalace, env: Env = {}): Promise<RawDoor> => openStdio(palace, env),
  stream: (palace: TestPalace): Promise<RawDoor> => openStream(palace),
  HTTP: (palace: TestPalace): Promise<RawDoor> => Promise.resolve(openHttp(palace)),
};
export type DoorName = keyof typeof DOORS;
export const DOOR_NAMES = Object.keys(DOORS) as DoorName[];

/** Parses the JSON-RPC message in a raw answer. */
export function messageIn(bytes: string): { result?: Record<string, unknown>; error?: Record<string, unknown> } {
  return JSON.parse(/\{.*\}/s.exec(bytes)?.[0] ?? "{}") as object;
}

async function openStdio(palace: TestPalace, env: Env): Promise<RawDoor> {
  const child: ChildProcess = spawn(process.execPath, [palace.executable("mp-shim")], {
    env: { ...palace.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const next = lines(child.stdout as NodeJS.ReadableStream);
  return {
    say: (message) => {
      child.stdin?.write(line(message));
      return next();
    },
    async [Symbol.asyncDispose]() {
      child.stdin?.end();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

async function openStream(palace: TestPalace): Promise<RawDoor> {
  const socket: Socket = await dial({ kind: "unix", path: palace.config.paths.socketPath });
  await upgrade(socket, {});
  const next = lines(socket);
  socket.resume();
  return {
    say: (message) => {
      socket.write(line(message));
      return next();
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
    },
  };
}

function openHttp(palace: TestPalace): RawDoor {
  const say = (message: Message, more: Record<string, string> = {}): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more };
    const options = { socketPath: palace.config.paths.socketPath, method: "POST", path: "/mcp", headers };
    const asked = request(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => (body += part));
      response.on("end", () => resolve(`${response.statusCode} ${body}`));
    });
    asked.on("error", reject).end(JSON.stringify({ jsonrpc: "2.0", ...message }));
    return promise;
  };
  return { say, [Symbol.asyncDispose]: () => Promise.resolve() };
}

const line = (message: Message): string => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;

/** Returns a function that resolves to the stream's next line. */
function lines(stream: NodeJS.ReadableStream): () => Promise<string> {
  const arrived: string[] = [];
  let wanted: ((text: string) => void) | undefined;
  let rest = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    const whole = (rest + part).split("\n");
    rest = whole.pop() ?? "";
    for (const text of whole) {
      if (wanted === undefined) arrived.push(text);
      else wanted(text);
      wanted = undefined;
    }
  });
  return () => {
    const known = arrived.shift();
    if (known !== undefined) return Promise.resolve(known);
    const { promise, resolve } = Promise.withResolvers<string>();
    wanted = resolve;
    return promise;
  };
}
