/** Tests devcontainers that the official CLI makes. The build of their image downloads npm packages. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import { fetchDevcontainersCli } from "../helpers/devcontainers-cli.ts";
import { startInspectingProxy } from "../helpers/inspecting-proxy.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`devcontainers left out: ${reason}`);

const FEATURE = join(ROOT, ".devcontainer/palace");

/**
 * Time limit of install.sh, ms. It is longer than npm's three tries of 30 s with their pauses and a last check, but shorter than the time
 * that npm by default waits for one answer.
 */
const STALLED_MAX_MS = 280_000;

/** Image of the project. It has an agent, but not the embedding runtime, which would take most of the build. */
const DOCKERFILE = `FROM node:24-trixie-slim
ENV npm_config_omit=optional MEMPALACE_OFFLINE=1
RUN install -d -o node -g node /home/node/.pi /home/node/.pi/agent
`;

type Run = { exitCode: number | undefined; stdout: string; stderr: string };

describe.skipIf(reason)("a devcontainer", () => {
  const name = `dc${randomBytes(4).toString("hex")}`;
  const label = `palace.test=${name}`;
  const folder = mkdtempSync(join(tmpdir(), "palace-devcontainer-"));
  const project = join(folder, name);
  let cli: string;
  let registry: StalledRegistry;
  let stalled: Promise<string>;

  const devcontainer = async (verb: string, ...args: string[]): Promise<Run> => {
    const where = ["--workspace-folder", project, "--id-label", label];
    const { exitCode, stdout, stderr } = await execa("node", [cli, verb, ...where, ...args], {
      reject: false,
      stdin: "ignore",
    });
    return { exitCode, stdout, stderr };
  };
  const inside = (...command: string[]): Promise<Run> => devcontainer("exec", ...command);
  const containers = (): string[] =>
    docker("ps", "--all", "--quiet", "--filter", `label=${label}`).split("\n").filter(Boolean);

  /** Runs a copy of the Feature's install.sh that has no package beside it. Resolves to the exit code and stderr. */
  const install = async (env: Record<string, string>): Promise<string> => {
    const options = { env: { PATH: process.env["PATH"] ?? "", ...env }, extendEnv: false, reject: false } as const;
    // Uses the program `timeout`, because a time limit of execa would not end npm.
    const command = [`${STALLED_MAX_MS / 1000}`, "sh", join(folder, "copy/install.sh")];
    const { exitCode, stderr } = await execa("timeout", command, { ...options, stdin: "ignore" });
    return `${exitCode}\n${stderr}`;
  };
  /** Runs install.sh with an npm that does not see this machine's settings. */
  const installFrom = (url: string, more: Record<string, string> = {}): Promise<string> => {
    const own = { HOME: join(folder, "npm"), npm_config_globalconfig: join(folder, "npm/none"), ...more };
    return install({ ...own, PACKAGE: "some-package", npm_config_registry: url });
  };

  beforeAll(async () => {
    cpSync(FEATURE, join(folder, "copy"), { recursive: true, filter: (path) => !/\.(tgz|crt)$/.test(path) });
    registry = await startStalledRegistry();
    stalled = installFrom(registry.url);
    cli = fetchDevcontainersCli();
    const config = join(project, ".devcontainer");
    mkdirSync(config, { recursive: true });
    cpSync(FEATURE, join(config, "palace"), { recursive: true, filter: (path) => !/\.(tgz|crt)$/.test(path) });
    execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", join(config, "palace")], {
      cwd: ROOT,
      stdio: "pipe",
    });
    // Behind a proxy that inspects TLS, the build needs the certificates of this machine.
    const certificates = process.env["EXTRA_CA_CERTS"] ?? process.env["NODE_EXTRA_CA_CERTS"];
    if (certificates !== undefined) copyFileSync(certificates, join(config, "palace/ca.crt"));
    writeFileSync(join(config, "Dockerfile"), DOCKERFILE);
    const wanted = { build: { dockerfile: "Dockerfile" }, features: { "./palace": {} }, remoteUser: "node" };
    writeFileSync(join(config, "devcontainer.json"), JSON.stringify(wanted));
  });

  afterAll(() => {
    registry?.[Symbol.dispose]();
    const volumes = containers().flatMap((id) =>
      docker("inspect", "--format", "{{range .Mounts}}{{if .Name}}{{.Name}} {{end}}{{end}}", id).split(/\s+/),
    );
    for (const id of containers()) docker("rm", "--force", id);
    for (const volume of volumes.filter(Boolean)) docker("volume", "rm", volume);
    const images = docker("image", "ls", "--format", "{{.Repository}}").split("\n");
    for (const image of new Set(images.filter((one) => one.startsWith(`vsc-${name}-`)))) docker("image", "rm", image);
    rmSync(folder, { recursive: true, force: true });
  });

  test("our Feature installs the package and wires the agents of the image, and the memory outlives the container", async () => {
    const made = await devcontainer("up");
    expect(made.exitCode, made.stderr.slice(-3000)).toBe(0);
    expect((await inside("palace", "agents")).stdout).toMatch(/pi\t\S+\twired/);
    expect((await inside("cat", "/home/node/.pi/agent/mcp.json")).stdout).toContain("/dist/bin/mp-shim.cjs");
    const content = JSON.stringify({ wing: "w", room: "r", content: "the kettle is descaled in May" });
    const filed = await inside("palace", "call", "add_drawer", content);
    expect(filed.exitCode, filed.stderr).toBe(0);
    const [first] = containers();
    docker("rm", "--force", first ?? "");
    expect((await devcontainer("up")).exitCode).toBe(0);
    expect(containers()).not.toContain(first);
    expect((await inside("palace", "search", "kettle", "--json")).stdout).toContain("descaled in May");
    const doctor = await inside("palace", "doctor");
    expect(doctor.exitCode, doctor.stdout).toBe(0);
    // Only the image's home is not on a volume, as in any devcontainer.
    expect(doctor.stdout).toMatch(/volumes\tnot on a volume: the home \(\/home\/node, own layer\);/);
  });

  test("the Feature without a usable Node says how to add Node", async () => {
    expect(await install({ PATH: "/usr/bin:/bin" })).toMatch(
      /Node 24 or newer.*\n.*ghcr\.io\/devcontainers\/features\/node:1/,
    );
    expect(await install({})).toMatch(/^1\n.*no palace-devbox-\*\.tgz.*\n.*npm pack/);
  });

  test("the Feature says what to do if npm reaches no registry", async () => {
    await using proxy = await startInspectingProxy({
      folder: join(folder, "proxy"),
      listen: { host: "127.0.0.1" },
      allows: () => true,
    });
    const through = { npm_config_https_proxy: `http://127.0.0.1:${proxy.port}` };
    const inspected = await installFrom("https://registry.test", through);
    expect(inspected).toMatch(/^1\n[^]*palace: npm could not install some-package\n.* inspects TLS .*ca\.crt/);
    expect(proxy.connections).toContain("registry.test:443");
    const alone = await installFrom("http://127.0.0.1:9");
    expect(alone).toMatch(/^1\n[^]*palace: npm could not install some-package\n.*does not reach its registry/);
  });

  test("the Feature ends within minutes if a registry never answers", async () => {
    // If the time limit had ended install.sh, the exit code would be different.
    expect(await stalled).toMatch(
      /^1\n[^]*network timeout[^]*palace: npm could not install some-package\n.*does not reach/,
    );
    expect(registry.connections()).toBeGreaterThan(1);
  });

  test("this repository's devcontainer is the compose stack's devbox", async () => {
    const asked = ["read-configuration", "--workspace-folder", ROOT];
    const { stdout } = await execa("node", [cli, ...asked], { stdin: "ignore" });
    const { configuration } = JSON.parse(stdout) as { configuration: { dockerComposeFile: string[]; service: string } };
    const files = configuration.dockerComposeFile.flatMap((file) => ["--file", join(ROOT, ".devcontainer", file)]);
    const said = docker("compose", ...files, "config", "--format", "json");
    const { services } = JSON.parse(said) as {
      services: Record<string, { volumes: { source: string; target: string }[] }>;
    };
    const mounted = services[configuration.service]?.volumes.filter(({ target }) => target === "/workspace");
    expect(mounted?.map(({ source }) => source)).toEqual([ROOT]);
    expect(configuration).toMatchObject({ workspaceFolder: "/workspace", remoteUser: "developer" });
  });
});

type StalledRegistry = Disposable & { url: string; connections: () => number };

/** Starts a registry that accepts every connection and never answers. */
async function startStalledRegistry(): Promise<StalledRegistry> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => sockets.length,
    [Symbol.dispose]: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function docker(...args: string[]): string {
  return execFileSync("docker", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
