/** Runs opencode's own server on this machine until `host` is disposed of. */
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { freePort } from "../helpers/free-port.ts";
import type { Host } from "./places.ts";
import { runOf } from "./real-agents.ts";

/** Sends a request. Resolves when opencode has carried it out. */
export type Post = (path: string, body: object) => Promise<{ id: string }>;

export async function serveOpencode(host: Host, more: Record<string, string>): Promise<Post> {
  const port = await freePort();
  const { env } = runOf("opencode", "", host.url);
  const args = ["serve", "--hostname", "127.0.0.1", "--port", String(port)];
  const server = host.start("opencode", { args, env: { ...env, ...more } });
  const post: Post = async (path, body) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    expect(answer.status, path).toBe(200);
    return (await answer.json()) as { id: string };
  };
  // Waits for this line, because opencode never answers a request that it accepts earlier.
  for await (const line of createInterface({ input: server.stdout! })) if (line.includes("listening on")) return post;
  throw new Error(`opencode ended with ${server.exitCode}`);
}
