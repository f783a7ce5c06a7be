/**
 * Runs a real Chroma server in a container of its own, from the same image stage as the compose service, because its npm
 * package does not load on every host. Started by contract, process and kill tests; it uses the docker command, so
 * DOCKER_HOST counts.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { dockerName, sweepLeftovers } from "./docker-run.ts";
import { freePort } from "./free-port.ts";

const ROOT = join(import.meta.dirname, "../..");
const IMAGE = "palace-devbox-test-chroma";
const READY_TIMEOUT_MS = 60_000;
const BUILD_TIMEOUT_MS = 300_000;

export type ChromaServer = AsyncDisposable & {
  /** Stays the same over kill and start. */
  readonly url: string;
  /** Sends SIGKILL; the data on its disk stays. */
  kill(): Promise<void>;
  /** Starts it after `kill`; resolves when it answers again. */
  start(): Promise<void>;
  /** Freezes the process: the kernel accepts connections that are never answered. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Creates a database in this server for a test that must be alone; returns its name. */
  createDatabase(): Promise<string>;
};

/** Returns why no Chroma can be started here; undefined if one can. */
export async function chromaMissing(): Promise<string | undefined> {
  if (!existsSync(join(ROOT, "Dockerfile.base"))) return "there is no Dockerfile.base";
  try {
    await docker(["version", "--format", "{{.Server.Version}}"], 10_000);
    return undefined;
  } catch {
    return "no Docker engine answers, and Chroma's own server runs in a container only";
  }
}

export async function startChroma(): Promise<ChromaServer> {
  await sweepLeftovers();
  await buildImage();
  // The port is chosen here, because one that Docker picks changes with every start of the container.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const publish = `127.0.0.1:${port}:8000`;
  // --init is not needed: the image's stop signal is one that Chroma understands, and SIGKILL needs no forwarding.
  const id = await docker(["run", "--detach", "--publish", publish, "--name", dockerName(`chroma-${port}`), IMAGE]);
  await ready(url);
  return {
    url,
    kill: async () => void (await docker(["kill", "--signal", "KILL", id])),
    start: async () => {
      await docker(["start", id]);
      await ready(url);
    },
    pause: async () => void (await docker(["pause", id])),
    resume: async () => void (await docker(["unpause", id])),
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
    [Symbol.asyncDispose]: async () => void (await docker(["rm", "--force", "--volumes", id])),
  };
}

async function buildImage(): Promise<void> {
  const certificates = process.env["EXTRA_CA_CERTS"] ?? process.env["NODE_EXTRA_CA_CERTS"];
  const secret = certificates === undefined ? [] : ["--secret", `id=ca,src=${certificates}`];
  const what = ["--target", "chroma", "--file", "Dockerfile.base", "--tag", IMAGE, "."];
  await docker(["build", "--quiet", ...secret, ...what], BUILD_TIMEOUT_MS);
}

/** Waits until the server answers; bounded. */
async function ready(url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const response = await fetch(`${url}/api/v2/heartbeat`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    if (response?.ok === true) return;
    if (Date.now() > deadline) throw new Error(`no Chroma answers at ${url}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function docker(args: string[], timeoutMs = 60_000): Promise<string> {
  const { stdout } = await promisify(execFile)("docker", args, { cwd: ROOT, timeout: timeoutMs });
  return stdout.trim();
}
