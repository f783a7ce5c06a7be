/**
 * Tests the first minutes in a fresh clone with an old Node, an empty home, and a proxy that inspects TLS. The tests build on each other.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { once } from "node:events";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import { resolveListenHost } from "../../src/broker/door/listen.ts";
import { PI_MODELS, piModels, runOf } from "../agents/real-agents.ts";
import { ANSWER } from "../agents/stub-model.ts";
import { dockerName, sweepLeftovers } from "../helpers/docker-run.ts";
import { networkMissing, type Newcomer, openNewcomer, type Output, readRegistry } from "../helpers/fresh-clone.ts";
import { type InspectingProxy, startInspectingProxy } from "../helpers/inspecting-proxy.ts";
import { readTyped, typePage } from "../helpers/typed-page.ts";

const missing = engineMissing(process.env) ?? networkMissing();
if (missing !== undefined) console.warn(`fresh clone with an engine left out: ${missing}`);

const project = dockerName("newcomer");
const MODEL_PORT = 18_080;
const MODEL_URL = `http://127.0.0.1:${MODEL_PORT}`;

/** Commands that need a terminal. test/topology/devbox.test.ts types them in a pty. */
const NEEDS_TERMINAL = ["palace devbox shell"];

describe.skipIf(missing)("a fresh clone with Docker, behind a proxy that inspects TLS", () => {
  let newcomer: Newcomer;
  let proxy: InspectingProxy;
  let relay: Server;

  beforeAll(async () => {
    await sweepLeftovers();
    newcomer = await openNewcomer();
    const registry = readRegistry();
    proxy = await startInspectingProxy({
      folder: join(newcomer.folder, "proxy"),
      listen: { path: newcomer.proxySocket },
      allows: (host) => host === registry.hostname,
    });
    // Offers the same proxy at an address that Docker's builds can reach.
    relay = createServer((near) => {
      const far = connect(newcomer.proxySocket);
      near.pipe(far).pipe(near);
      near.on("error", () => far.destroy());
      far.on("error", () => near.destroy());
    }).listen(0, resolveListenHost("docker"));
    await once(relay, "listening");
    writeFileSync(newcomer.machineSettings, `cafile=${proxy.caFile}\nhttps-proxy=${newcomer.proxyUrl}\n`);
    copyFileSync(proxy.caFile, join(newcomer.home, "proxy.pem"));
    writeDockerSettings();
    writeKeys();
    forgetEarlierBuilds();
  });
  afterAll(async () => {
    await compose("down", "--volumes", "--rmi", "local", "--timeout", "2");
    relay?.close();
    await proxy?.[Symbol.asyncDispose]();
    await newcomer?.[Symbol.asyncDispose]();
  });

  /** Configures Docker's proxy as a user does, and keeps this machine's compose plugin. */
  const writeDockerSettings = (): void => {
    const address = relay.address() as { address: string; port: number };
    const folder = join(newcomer.home, ".docker");
    const plugins = process.env["DOCKER_CONFIG"];
    mkdirSync(folder);
    writeFileSync(
      join(folder, "config.json"),
      JSON.stringify({
        proxies: { default: { httpsProxy: `http://${address.address}:${address.port}` } },
        ...(plugins !== undefined && { cliPluginsExtraDirs: [join(plugins, "cli-plugins")] }),
      }),
    );
  };

  /** Writes the model's settings into the file for a user's keys. */
  const writeKeys = (): void => {
    const env = { ...runOf("opencode", "", MODEL_URL).env, ...runOf("pi", "", MODEL_URL).env };
    const lines = Object.entries(env).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(join(newcomer.clone, ".env.devbox"), lines.join(""));
  };

  /**
   * Begins each stage that downloads npm packages with a unique step, so that no earlier layer of these stages is reused, and empties the
   * npm cache of earlier builds. The Debian packages may come from an earlier build, because apt does not use the proxy.
   */
  const forgetEarlierBuilds = (): void => {
    const file = join(newcomer.clone, "Dockerfile.base");
    const dockerfile = readFileSync(file, "utf8");
    const cached = /--mount=type=cache,target=\/var\/cache\/npm,sharing=locked/g;
    const stages = /^FROM base AS (?:chroma-npm|deps|agents)$/gm;
    expect(dockerfile.match(cached)).toHaveLength(3);
    expect(dockerfile.match(stages)).toHaveLength(3);
    writeFileSync(
      file,
      dockerfile
        .replaceAll(cached, "--mount=type=tmpfs,target=/var/cache/npm")
        .replaceAll(stages, (line) => `${line}\nRUN echo ${project} > /etc/palace-run`),
    );
  };

  const environment = (): Record<string, string> => {
    const engine = execFileSync("sh", ["-c", "command -v docker"], { encoding: "utf8" }).trim();
    return {
      PATH: [join(newcomer.folder, "old/bin"), dirname(engine), "/usr/local/bin:/usr/bin:/bin"].join(delimiter),
      COMPOSE_PROJECT_NAME: project,
      DEVBOX_CLAUDE_CODE: "0",
      ...(process.env["DOCKER_HOST"] !== undefined && { DOCKER_HOST: process.env["DOCKER_HOST"] }),
    };
  };
  const compose = (...args: string[]) => newcomer.run(["docker", "compose", ...args], environment());
  const type = (typed: string): Promise<Output> => newcomer.run(["sh", "-c", typed], environment());

  test("scripts/up says how to name the proxy's certificates if the build lacks them", async () => {
    const { code, stdout, stderr } = await type("./scripts/up");
    expect({ code, stdout }, stderr).toEqual({ code: 5, stdout: "" });
    expect(stderr).toMatch(/hint: a proxy inspects TLS: set EXTRA_CA_CERTS=\/path\/to\/its-certificates.pem/);
  });

  test("scripts/up builds the stack through the proxy with the named certificates", async () => {
    proxy.requests.length = 0;
    const { code, stdout, stderr } = await type("EXTRA_CA_CERTS=~/proxy.pem ./scripts/up");
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^The palace is up in Docker: chroma, broker, devbox\.\nOne memory was written/);
    // The packages of the images, and of the agents in them, were downloaded through the proxy.
    const tarballs = new Set(proxy.requests.filter((line) => line.includes(".tgz")));
    const { packages } = JSON.parse(readFileSync(join(newcomer.clone, "package-lock.json"), "utf8")) as {
      packages: object;
    };
    expect(tarballs.size).toBeGreaterThan(Object.keys(packages).length / 2);
    expect([...tarballs].join("\n")).toMatch(/opencode/);
    const shim = await newcomer.shim(["docker", "compose", "exec", "-T", "devbox", "mp-shim"], environment());
    await shim.call("mempalace_add_drawer", { wing: "first", room: "days", content: "the proxy let the images in" });
    const found = await shim.call("mempalace_search", { query: "proxy images", wing: "first" });
    expect(JSON.stringify(found["results"])).toContain("the proxy let the images in");
    await shim.close();
  });

  test("pi answers with a fact that opencode stored", async () => {
    await startModel();
    const drawer = { wing: "home", room: "keys", content: "the spare key hangs behind the door" };
    const told = await ask("opencode", [`Remember: ${drawer.content}.`, "mempalace_add_drawer", drawer]);
    expect(told).toContain(ANSWER);
    const query = { query: "where is the spare key", wing: "home", limit: 1 };
    const answer = await ask("pi", ["Where is the spare key?", "mempalace_search", query]);
    expect(answer).toContain(drawer.content);
  });

  test("the devbox's commands in the tutorial and the README print the output that the pages show", async () => {
    mkdirSync(join(newcomer.home, "project"));
    const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
    const typed = [
      { command: `alias palace="$PWD/scripts/palace"`, shown: undefined },
      ...readTyped(read("docs/tutorial.md"), { from: "The devbox" }),
      ...readTyped(read("README.md"), { from: "The devbox", to: "Other machines and containers" }),
    ].filter(({ command }) => !NEEDS_TERMINAL.includes(command));
    const environmentHere = { ...environment(), EXTRA_CA_CERTS: join(newcomer.home, "proxy.pem") };
    const said = await typePage(typed, {
      folder: newcomer.folder,
      run: (command) => newcomer.run(command, environmentHere),
    });
    for (const { command, code, screen, shown } of said) {
      expect({ command, code }, screen).toEqual({ command, code: 0 });
      if (shown !== undefined) expect(`${screen}\n`, command).toMatch(shown);
    }
    expect(said.length).toBeGreaterThan(5);
  });

  const startModel = async (): Promise<void> => {
    copyFileSync(join(ROOT, "test/agents/stub-model.ts"), join(newcomer.clone, "volumes/workspace/stub-model.ts"));
    for (const script of [
      `node /workspace/stub-model.ts ${MODEL_PORT} > /tmp/stub-model.log 2>&1 &`,
      `curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused ${MODEL_URL}/seen`,
      `mkdir -p ~/${dirname(PI_MODELS)} && echo '${piModels(MODEL_URL)}' > ~/${PI_MODELS}`,
    ])
      expect(await compose("exec", "-T", "devbox", "sh", "-c", script)).toMatchObject({ code: 0 });
  };

  /** Asks an agent in words, and the model makes the given call. */
  const ask = async (agent: "opencode" | "pi", [words, tool, args]: [string, string, object]): Promise<string> => {
    const run = runOf(agent, `${words}\n@@tool ${tool} ${JSON.stringify(args)}`, MODEL_URL);
    const command = [agent, ...run.args.map((arg) => (/^[\w/-]+$/.test(arg) ? arg : `'${arg}'`))].join(" ");
    const { code, stdout, stderr } = await type(
      run.input === ""
        ? `docker compose exec devbox ${command}`
        : `docker compose exec -T devbox ${command} <<'END'\n${run.input}\nEND`,
    );
    expect(code, stderr).toBe(0);
    return stdout;
  };
});
