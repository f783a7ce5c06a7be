/** Asks a real broker over the outcome memory's HTTP API, through the broker's socket or a TCP port. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { expect, vi } from "vitest";
import type { StatusReport } from "../../src/protocol/spec.ts";
import { quietPort } from "./free-port.ts";
import { createTestPalace, type TestPalace } from "./palace.ts";
import { writeTinyModel } from "./tiny-model.ts";

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string; body: Record<string, unknown> };
/** `at`: path of a socket, or a port of the loopback. */
export type Ask = { at: string | number; method?: string; headers?: Record<string, string> };
export type Memory = {
  id: string;
  content: string;
  collection: string;
  uses: number;
  score: number;
  outcome_history: string;
};

export function send(
  { at, method = "POST", headers = {} }: Ask,
  path: string,
  body?: string | Buffer,
): Promise<Answer> {
  const place = typeof at === "string" ? { socketPath: at } : { host: "127.0.0.1", port: at };
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ ...place, path, method, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part)).on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const isJson = response.headers["content-type"] === "application/json";
        const told = isJson ? (JSON.parse(text) as Answer["body"]) : {};
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: told });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

export const post = (ask: Ask, path: string, body: unknown): Promise<Answer> => send(ask, path, JSON.stringify(body));
export const get = (ask: Ask, path: string): Promise<Answer> => send({ ...ask, method: "GET" }, path);

/** Returns the body of an answer that must have status 200. */
export async function told(ask: Ask, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await (body === undefined ? get(ask, path) : post(ask, path, body));
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

export type Behind = TestPalace & { port: number; socket: Ask; door: Ask };

/** Makes a palace whose broker serves the API at its socket and at a port, and a token for the port. */
export async function withDoors(model = true, env: Record<string, string> = {}): Promise<Behind> {
  const port = await quietPort();
  const palace = createTestPalace({ env: { MEMPALACE_OUTCOME_PORT: `${port}`, ...env } });
  const token = await addToken(palace, "program");
  await palace.startBroker(model ? { MEMPALACE_MODEL_DIR: writeTinyModel(join(palace.home, "model")) } : {});
  await opened(palace, port);
  const door = { at: port, headers: { authorization: `Bearer ${token}` } };
  await vi.waitFor(() => told(door, "/api/health"), { timeout: 20_000, interval: 50 });
  return Object.assign(palace, { port, socket: { at: palace.config.paths.socketPath }, door });
}

export async function addToken(palace: TestPalace, name: string, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await palace.run("palace", ["token", "add", name, ...options, "--json"]);
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { token: string }).token;
}

export async function doorOf(palace: TestPalace): Promise<StatusReport["outcomeDoor"]> {
  const client = await palace.client();
  try {
    return (await client.call("palace.status", {})).outcomeDoor;
  } finally {
    client.close();
  }
}

export async function opened(palace: TestPalace, port: number): Promise<void> {
  await vi.waitFor(async () => expect(await doorOf(palace)).toMatchObject({ port, state: "open" }), {
    timeout: 20_000,
    interval: 50,
  });
}

/** Returns the processes that listen at a port of the loopback. Linux only. */
export function listenersAt(port: number): number[] {
  const LISTENING = "0A";
  const at = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  const inodes = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local, , state]) => local === at && state === LISTENING)
    .map((columns) => `socket:[${columns[9]}]`);
  const holds = (pid: string): boolean => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => inodes.includes(linkOf(`/proc/${pid}/fd/${fd}`)));
    } catch {
      return false;
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && holds(name))
    .map(Number);
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return "";
  }
}
