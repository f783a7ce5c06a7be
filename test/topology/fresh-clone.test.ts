/**
 * `scripts/up` in a fresh clone on a machine with an engine, as a newcomer runs it at work: the Node is too old, the home is empty,
 * and what leads out, of the shell and of the image builds, is a proxy that inspects TLS. The tests follow each other.
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
import { dockerName, sweepLeftovers } from "../helpers/docker-run.ts";
import { networkMissing, type Newcomer, openNewcomer, type Output, readRegistry } from "../helpers/fresh-clone.ts";
import { type InspectingProxy, startInspectingProxy } from "../helpers/inspecting-proxy.ts";

const missing = engineMissing(process.env) ?? networkMissing();
if (missing !== undefined) console.warn(`fresh clone with an engine left out: ${missing}`);

const project = dockerName("newcomer");
const BASE_IMAGE = "node:24-trixie-slim";
const MODEL_PORT = 18_080;
/** Made by this test with PALACE_WRITE_DOCS=1; without it the test holds that what is typed there is what it types. */
const TRANSCRIPT = join(ROOT, "docs/first-minutes.md");

describe.skipIf(missing)("a fresh clone with an engine, behind a proxy that inspects TLS", () => {
  let newcomer: Newcomer;
  let proxy: InspectingProxy;
  let relay: Server;
  const steps: Step[] = [];

  beforeAll(async () => {
    await sweepLeftovers();
    newcomer = await openNewcomer();
    const registry = readRegistry();
    proxy = await startInspectingProxy({
      folder: join(newcomer.folder, "proxy"),
      listen: { path: newcomer.proxySocket },
      allows: (host) => host === registry.hostname,
    });
    // The same proxy where the engine's builds reach it.
    relay = createServer((near) => {
      const far = connect(newcomer.proxySocket);
      near.pipe(far).pipe(near);
      near.on("error", () => far.destroy());
      far.on("error", () => near.destroy());
    }).listen(0, resolveListenHost("docker"));
    await once(relay, "listening");
    writeFileSync(newcomer.machineSettings, `cafile=${proxy.caFile}\nhttps-proxy=${newcomer.proxyUrl}\n`);
    writeDockerSettings();
    forgetEarlierBuilds();
  });
  afterAll(async () => {
    await compose("down", "--volumes", "--rmi", "local", "--timeout", "2");
    execFileSync("docker", ["image", "rm", "--force", `${project}-base`], { stdio: "ignore" });
    relay?.close();
    await proxy?.[Symbol.asyncDispose]();
    await newcomer?.[Symbol.asyncDispose]();
  });

  /** As a user tells Docker of a proxy; compose is found where it is on this machine. */
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

  /** A base image with files that no layer was ever built on, and no npm cache that other builds have filled. */
  const forgetEarlierBuilds = (): void => {
    const base = `FROM ${BASE_IMAGE}\nRUN echo ${project} > /etc/palace-run\n`;
    execFileSync("docker", ["build", "--quiet", "--tag", `${project}-base`, "-"], { input: base });
    const file = join(newcomer.clone, "Dockerfile.base");
    const cached = /--mount=type=cache,target=\/var\/cache\/npm,sharing=locked/g;
    expect(readFileSync(file, "utf8")).toMatch(cached);
    writeFileSync(file, readFileSync(file, "utf8").replace(cached, "--mount=type=tmpfs,target=/var/cache/npm"));
  };

  const environment = (): Record<string, string> => {
    const engine = execFileSync("sh", ["-c", "command -v docker"], { encoding: "utf8" }).trim();
    return {
      PATH: [join(newcomer.folder, "old/bin"), dirname(engine), "/usr/local/bin:/usr/bin:/bin"].join(delimiter),
      COMPOSE_PROJECT_NAME: project,
      BASE_IMAGE: `${project}-base`,
      DEVBOX_CLAUDE_CODE: "0",
      ...(process.env["DOCKER_HOST"] !== undefined && { DOCKER_HOST: process.env["DOCKER_HOST"] }),
    };
  };
  /** Runs what is typed as `typed`, and keeps both for the transcript. */
  const timed = async (typed: string, run: () => Promise<Output>): Promise<Output> => {
    const startedAt = performance.now();
    const output = await run();
    const said = output.code === 0 ? output.stdout : (/^error: [^]*/m.exec(output.stderr)?.[0] ?? "");
    steps.push({ typed, said, seconds: Math.round((performance.now() - startedAt) / 1000) });
    return output;
  };
  const compose = (...args: string[]) => newcomer.run(["docker", "compose", ...args], environment());

  test("whose certificates nobody has named to the build, scripts/up says how to name them", async () => {
    const { code, stdout, stderr } = await timed("./scripts/up", () =>
      newcomer.run(["./scripts/up", "--docker"], environment()),
    );
    expect({ code, stdout }, stderr).toEqual({ code: 5, stdout: "" });
    expect(stderr).toMatch(/hint: a proxy that inspects TLS .*: EXTRA_CA_CERTS=\/path\/to\/its-certificates.pem/);
  });

  test("with them named scripts/up builds the stack through the proxy, and a note is found in the devbox", async () => {
    proxy.requests.length = 0;
    const named = { ...environment(), EXTRA_CA_CERTS: proxy.caFile };
    const { code, stdout, stderr } = await timed("EXTRA_CA_CERTS=~/proxy.pem ./scripts/up", () =>
      newcomer.run(["./scripts/up", "--docker"], named),
    );
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^The palace is up in Docker: chroma, broker, devbox\.\nOne memory was written/);
    // The packages of the images came this way, and the agents' among them.
    const tarballs = new Set(proxy.requests.filter((line) => line.includes(".tgz")));
    const { packages } = JSON.parse(readFileSync(join(newcomer.clone, "package-lock.json"), "utf8")) as {
      packages: object;
    };
    expect(tarballs.size).toBeGreaterThan(Object.keys(packages).length / 2);
    expect([...tarballs].join("\n")).toMatch(/opencode/);
    const shim = await newcomer.shim(["docker", "compose", "exec", "-T", "devbox", "mp-shim"], named);
    await shim.call("mempalace_add_drawer", { wing: "first", room: "days", content: "the proxy let the images in" });
    const found = await shim.call("mempalace_search", { query: "proxy images", wing: "first" });
    expect(JSON.stringify(found["results"])).toContain("the proxy let the images in");
    await shim.close();
  });

  test("a fact told to opencode is what pi answers with, as docs/first-minutes.md shows", async () => {
    const url = `http://127.0.0.1:${MODEL_PORT}`;
    copyFileSync(join(ROOT, "test/agents/stub-model.ts"), join(newcomer.clone, "volumes/workspace/stub-model.ts"));
    const model = `node /workspace/stub-model.ts ${MODEL_PORT} > /tmp/model.log 2>&1 &`;
    const settings = `cat > ~/${PI_MODELS} <<'END'\n${piModels(url)}\nEND`;
    const ready = `curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused ${url}/seen`;
    for (const script of [model, settings, ready])
      expect(await compose("exec", "-T", "devbox", "sh", "-c", script)).toMatchObject({ code: 0 });

    const drawer = { wing: "home", room: "keys", content: "the spare key hangs behind the door" };
    await ask("opencode", `Remember this:\n@@tool mempalace_add_drawer ${JSON.stringify(drawer)}`);
    const query = { query: "where is the spare key", limit: 1 };
    const answer = await ask("pi", `Look it up:\n@@tool mempalace_search ${JSON.stringify(query)}`);
    expect(answer).toContain(drawer.content);

    const transcript = write(steps);
    if (process.env["PALACE_WRITE_DOCS"] === "1") writeFileSync(TRANSCRIPT, transcript);
    expect(typedIn(transcript)).toEqual(typedIn(readFileSync(TRANSCRIPT, "utf8")));
  });

  const ask = async (agent: "opencode" | "pi", prompt: string): Promise<string> => {
    const { args, env } = runOf(agent, prompt, `http://127.0.0.1:${MODEL_PORT}`);
    const words = agent === "opencode" ? [...args, prompt] : args;
    const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
    const typed = `docker compose exec devbox ${agent} ${agent === "pi" ? "-p" : "run"} $'${prompt.replaceAll("\n", "\\n")}'`;
    const { code, stdout, stderr } = await timed(typed, () =>
      compose("exec", "-T", ...variables, "devbox", agent, ...words),
    );
    expect(code, stderr).toBe(0);
    return stdout;
  };
});

type Step = { typed: string; said: string; seconds: number };

const LINE_MAX = 160;
const CLONE = "palace-devbox";

function write(steps: readonly Step[]): string {
  const shown = ({ typed, said, seconds }: Step): string => {
    const lines = said.trim().split("\n");
    return [`$ ${typed}    # ${seconds} s`, ...lines.map((line) => shorten(line.trimEnd()))].join("\n");
  };
  return `# The first five minutes

Made by \`test/topology/fresh-clone.test.ts\`, which types this in a clone with an empty home, an old Node, no image layer and no package in any
cache, behind a proxy that inspects TLS, on two cores; every run of the tests types it again. The first \`up\` brings Node and the packages and
finds out about the proxy, the second builds the images. The agents are the real ones; their model is one
that needs no network and does what its prompt says, so that the times are the software's alone. With a real model one asks in one's own words.

\`\`\`console
${[`$ git clone … ${CLONE} && cd ${CLONE}`, ...steps.map(shown)].join("\n")}
\`\`\`
`;
}

/** The clone lies elsewhere each time. */
function shorten(line: string): string {
  const there = line.replaceAll(/\/\S*\/clone\//g, `~/${CLONE}/`);
  return there.length > LINE_MAX ? `${there.slice(0, LINE_MAX)} …` : there;
}

const typedIn = (transcript: string): string[] =>
  [...transcript.matchAll(/^\$ (.*?)(?: {4}# \d+ s)?$/gm)].map(([, typed = ""]) => typed);
