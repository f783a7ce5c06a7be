/** Starts a real Chroma server in a container, from the compose service's image. Chroma's npm package does not load on every host. */
import { engineMissing } from "../../scripts/engine.ts";
import { buildImage, containerOf, NamedContainer, pause } from "./docker-box.ts";
import { freePort } from "./free-port.ts";

const READY_TIMEOUT_MS = 120_000;

export type ChromaServer = AsyncDisposable & {
  /** Address of the server. `kill` and `start` do not change it. */
  readonly url: string;
  /** Sends SIGKILL. The server's data remains on disk. */
  kill(): Promise<void>;
  /** Starts the server after `kill`. Resolves when it answers. */
  start(): Promise<void>;
  /** Freezes the process: the kernel accepts connections that are never answered. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Creates a database in this server for one test, and returns its name. */
  createDatabase(): Promise<string>;
};

/** Returns why no Chroma can be started here, or undefined if it can. */
export const chromaMissing = (): string | undefined => engineMissing(process.env);

export async function startChroma(): Promise<ChromaServer> {
  const image = await buildImage("palace-devbox-test", "chroma");
  // Chooses the port here, because Docker would pick another port at every start.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // Without an init, signals reach Chroma directly: SIGKILL, and the image's own stop signal.
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

async function ready(url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(`${url}/api/v2/heartbeat`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    if (response?.ok === true) return;
    if (Date.now() > deadline) throw new Error(`no Chroma answers at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
