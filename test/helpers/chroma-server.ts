/**
 * Starts a real Chroma server in its own container, from the same image stage as the compose service, because its npm package does not load
 * on every host. For contract, process and kill tests.
 */
import { engineMissing } from "../../scripts/engine.ts";
import { buildImage, containerOf, NamedContainer, pause } from "./docker-box.ts";
import { freePort } from "./free-port.ts";

const READY_TIMEOUT_MS = 120_000;

export type ChromaServer = AsyncDisposable & {
  /** Address of the server, which stays the same after `kill` and `start`. */
  readonly url: string;
  /** Sends SIGKILL. The data on the server's disk stays. */
  kill(): Promise<void>;
  /** Starts the server after `kill`, and resolves when it answers again. */
  start(): Promise<void>;
  /** Freezes the process: the kernel accepts connections that are never answered. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Creates a database in this server for one test, and returns its name. */
  createDatabase(): Promise<string>;
};

/** Returns why no Chroma can be started here, or undefined if this is possible. */
export const chromaMissing = (): string | undefined => engineMissing(process.env);

export async function startChroma(): Promise<ChromaServer> {
  const image = await buildImage("palace-devbox-test", "chroma");
  // Chooses the port itself, because a port that Docker picks changes with every start of the container.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // Without an init, Chroma itself is the container's first process, so it gets SIGKILL and the image's stop signal.
  const options = { Init: false, PortBindings: { "8000/tcp": [{ HostIp: "127.0.0.1", HostPort: String(port) }] } };
  const started = await new NamedContainer(image, `chroma-${port}`, options).start();
  const container = await containerOf(started.getId());
  await ready(url);
  return {
    url,
    kill: () => container.kill(),
    start: async () => {
      await container.start();
      await ready(url);
    },
    pause: () => pause(started.getId()),
    resume: () => container.unpause(),
    createDatabase: async () => {
      const name = `test_${crypto.randomUUID().slice(0, 8)}`;
      const response = await fetch(`${url}/api/v2/tenants/default_tenant/databases`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name }),
      });
      if (!response.ok) throw new Error(`no database ${name}: ${await response.text()}`);
      return name;
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

/** Waits until the server answers, for a limited time. */
async function ready(url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(`${url}/api/v2/heartbeat`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    if (response?.ok === true) return;
    if (Date.now() > deadline) throw new Error(`no Chroma answers at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
