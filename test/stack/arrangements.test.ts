/** Tests the arrangements that users choose with COMPOSE_FILE. Only the two without Chroma's server are really started. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import { joinStack } from "../../src/cli/docker/one-memory.ts";
import { connectClient } from "../../src/wire/client/client.ts";
import { composeCommand } from "../../src/devbox/compose.ts";
import { everyKind, writeDirectly } from "../helpers/other-memory.ts";
import { createTestPalace } from "../helpers/palace.ts";
import { composeFiles, type DockerStack, openStack } from "../helpers/docker-stack.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`compose arrangements left out: ${reason}`);

type Service = {
  environment: Record<string, string | null>;
  depends_on?: Record<string, unknown>;
  networks?: Record<string, unknown>;
  ports?: unknown[];
  volumes: { target: string; read_only?: boolean }[];
};

/** Returns the services that `docker compose up devbox` starts in this arrangement. */
function parts(arrangement: string, env: Record<string, string> = {}): Record<string, Service> {
  const files = { ...process.env, COMPOSE_FILE: composeFiles(arrangement), ...env };
  const said = execFileSync("docker", ["compose", "--project-directory", ROOT, "config", "--format", "json"], {
    env: files,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  return (JSON.parse(said) as { services: Record<string, Service> }).services;
}

const targets = ({ volumes }: Service): string[] => volumes.map(({ target }) => target).sort();

describe.skipIf(reason)("the services of a compose arrangement", () => {
  test("each file in scripts/compose is named in docs/topologies/arrangements.md", () => {
    const page = readFileSync(join(ROOT, "docs/topologies/arrangements.md"), "utf8");
    const files = readdirSync(join(ROOT, "scripts/compose"));
    expect(files.filter((file) => !page.includes(`scripts/compose/${file}`))).toEqual([]);
    expect(files.length).toBe(6);
  });

  test.each([
    ["embedded", {}, "files"],
    ["remote-chroma", { MEMPALACE_CHROMA_URL: "https://chroma.test:8000" }, "chroma"],
  ])("the arrangement %s has a broker and no Chroma of its own", (name, env, driver) => {
    const { broker, ...others } = parts(name, env);
    expect(Object.keys(others)).toEqual(["devbox"]);
    expect(broker?.environment).toMatchObject({
      MEMPALACE_DRIVER: driver,
      MEMPALACE_CHROMA_URL: (env as Record<string, string>)["MEMPALACE_CHROMA_URL"] ?? "",
    });
    expect(broker?.depends_on).toBeUndefined();
    expect(Object.keys(broker?.networks ?? {})).toEqual(["default"]);
    expect(others["devbox"]?.volumes).toContainEqual(expect.objectContaining({ target: "/palace", read_only: true }));
  });

  test.each([
    ["host-bridge", { DEVBOX_BRIDGE: "you@host.test" }, "ssh://you@host.test"],
    ["host-tcp", {}, "http://host.docker.internal:7780"],
  ])("the arrangement %s is a devbox that uses the host's broker and mounts no palace", (name, env, endpoint) => {
    const services = parts(name, env);
    expect(Object.keys(services)).toEqual(["devbox"]);
    const devbox = services["devbox"] as Service;
    expect(devbox.environment).toMatchObject({ MEMPALACE_BROKER: endpoint, XDG_RUNTIME_DIR: "" });
    expect(targets(devbox)).toEqual(["/home/developer", "/mnt/git", "/workspace"]);
  });

  test("the arrangement agents-only is a devbox that may write its own palace", () => {
    const services = parts("agents-only");
    expect(Object.keys(services)).toEqual(["devbox"]);
    const devbox = services["devbox"] as Service;
    expect(devbox.environment["MEMPALACE_BROKER"]).toBeUndefined();
    expect(devbox.volumes.find(({ target }) => target === "/palace")?.read_only).not.toBe(true);
  });

  test.each([
    ["remote-chroma", "MEMPALACE_CHROMA_URL is missing a value"],
    ["host-bridge", "DEVBOX_BRIDGE is missing a value"],
  ])("the arrangement %s names its missing variable", (name, words) => {
    const lacking = (): unknown => parts(name, { MEMPALACE_CHROMA_URL: "", DEVBOX_BRIDGE: "" });
    expect(lacking).toThrow(words);
  });

  test("`up` starts the arrangement that .env chooses", () => {
    const folder = mkdtempSync(join(tmpdir(), "palace-env-"));
    try {
      expect(composeCommand({ root: folder, env: {} }).slice(-1)).toEqual([join(folder, "docker-compose.yml")]);
      writeFileSync(join(folder, ".env"), "COMPOSE_FILE=docker-compose.yml:scripts/compose/embedded.yml\n");
      const chosen = [join(folder, "docker-compose.yml"), "--file", join(folder, "scripts/compose/embedded.yml")];
      expect(composeCommand({ root: folder, env: {} }).slice(-3)).toEqual(chosen);
      expect(composeCommand({ root: folder, env: { COMPOSE_FILE: "/else/where.yml" } }).slice(-2)).toEqual([
        "--file",
        "/else/where.yml",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.skipIf(reason)("the compose stack without Chroma's server", () => {
  let stack: DockerStack;
  let workspace: string;
  const alone = { COMPOSE_FILE: composeFiles("agents-only") };
  const add = ["mempalace_add_drawer", '{"wing":"w","room":"r","content":"the ladder leans behind the barn"}'];

  beforeAll(async () => {
    workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
    chmodSync(workspace, 0o777);
    stack = await openStack(workspace, { arrangement: "embedded" });
    await stack.compose("up", "-d", "--build", "--wait", "--wait-timeout", "120", "devbox");
  });

  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    if (workspace !== undefined) rmSync(workspace, { recursive: true, force: true });
  });

  test("the compose stack without Chroma's server finds a drawer after its containers were recreated", async () => {
    expect((await stack.compose("ps", "--services")).split("\n").sort()).toEqual(["broker", "devbox"]);
    const filed = await stack.exec("devbox", 1, "palace", "call", ...add);
    expect(filed.exitCode, filed.stderr).toBe(0);
    await stack.compose("up", "-d", "--force-recreate", "--wait", "--wait-timeout", "120", "devbox");
    const found = await stack.exec("devbox", 1, "palace", "search", "ladder", "--json");
    expect(found.stdout).toContain("behind the barn");
    const files = await stack.exec("broker", 1, "test", "-f", "/palace/palace/chroma.sqlite3");
    expect(files.exitCode).toBe(0);
    const doctor = await stack.exec("devbox", 1, "palace", "doctor");
    expect(doctor.exitCode, doctor.stdout).toBe(0);
    expect(doctor.stdout).toMatch(/ok\tdriver\tfiles: /);
    // In a real container the doctor must find palace and home on volumes, and the broker's user.
    expect(doctor.stdout).toMatch(/ok\tvolumes\tthe palace on \/palace, the home on \/home\/developer/);
    expect(doctor.stdout).toMatch(/ok\tuid\t1000, as the owner of the broker's socket/);
    // The broker is in another container, so hints must name commands that work in this one.
    for (const [command, hint] of [
      ["palace logs", "on the host: docker compose logs broker"],
      ["palace bridge token add me", "on the host: docker compose exec broker palace bridge token add me"],
      ["roampal start", "MEMPALACE_OUTCOMES=on in .env.devbox"],
    ] as const)
      expect((await stack.exec("devbox", 1, ...command.split(" "))).stderr).toContain(hint);
    const added = await stack.exec("broker", 1, "palace", "bridge", "token", "add", "me");
    expect(added, added.stderr).toMatchObject({ exitCode: 0 });
    const own = await stack.exec("broker", 1, "palace", "doctor");
    expect(own.stdout).toMatch(
      /ok\tvolumes\tthe palace on \/palace, state and spooled writes on \/var\/lib\/mempalace/,
    );
  });

  test("on the host, a user of Docker has the rights of the memory's owner, and an agent has the role agent", async () => {
    const engine = Object.fromEntries(["DOCKER_HOST", "DOCKER_CONFIG"].map((name) => [name, process.env[name]]));
    await using host = createTestPalace({ env: engine });
    const container = `${stack.project}-broker-1`;
    expect(await joinStack(host.config, container, host.env)).toEqual({ state: "joined" });
    const palace = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await host.run("palace", args);
      expect(code, `${args.join(" ")}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    };
    const put = async (content: string): Promise<string> => {
      const drawer = JSON.stringify({ wing: "w", room: "r", content });
      return (JSON.parse(await palace("call", "add_drawer", drawer, "--json")) as { drawer_id: string }).drawer_id;
    };
    const key = "AKIAIOSFODNN7EXAMPL1";
    const kept = await put(`the boat lies at pier nine, its key is ${key}`);
    expect(await palace("reveal", kept)).toContain(key);
    expect(await palace("audit")).toContain("add_drawer");
    expect(await palace("status")).toMatch(new RegExp(`door\\s+docker:${container}`));
    expect(await palace("status")).not.toContain("ENOENT");

    // The broker's settings are in its volume. The owner sets them from the host, and the devbox cannot.
    expect(await palace("config", "set", "audit-days", "60")).toMatch(/audit-days is 60 .*next start/);
    expect(await palace("config", "get", "audit-days")).toBe("60\n");
    expect(await stack.exec("devbox", 1, "palace", "config", "get", "audit-days")).toMatchObject({ stdout: "60" });
    expect(await stack.exec("devbox", 1, "palace", "config", "set", "audit-days", "70")).toMatchObject({
      stderr: expect.stringContaining("docker compose exec broker palace config set audit-days 70"),
    });

    const restoring = (): string =>
      execFileSync(
        "docker",
        ["ps", "--quiet", "--filter", "label=org.opencontainers.image.title=palace-devbox restore"],
        {
          encoding: "utf8",
        },
      ).trim();

    const file = join(host.home, "b.tar");
    await palace("backup", file);
    expect(statSync(file).uid).toBe(process.getuid?.());
    await palace("verify", file);
    await put("a note that is taken back");
    expect(await palace("undo", "--client", "palace call", "--since", "1h", "--dry-run")).toContain("taken back");
    expect(await palace("forget", kept, "--yes")).toContain("Forgotten: 1 drawer row");

    // A restore from a damaged file leaves the palace unchanged. A killed restore does so, too, and the same command then works.
    writeFileSync(join(host.home, "cut.tar"), readFileSync(file).subarray(0, 100_000));
    const cut = await host.run("palace", ["restore", join(host.home, "cut.tar"), "--yes"]);
    expect(cut).toMatchObject({ code: 7, stderr: expect.stringContaining("cut short") });
    const killed = spawn(process.execPath, [host.executable("palace"), "restore", file, "--yes"], { env: host.env });
    const ended = once(killed, "close");
    await expect.poll(restoring).not.toBe("");
    killed.kill("SIGKILL");
    await ended;
    // The container finishes its work before Docker removes it.
    await expect.poll(restoring, { interval: 500 }).toBe("");
    const looked = JSON.parse(await palace("restore", file, "--dry-run", "--json")) as object;
    expect(looked).toMatchObject({ file, before: { drawers: expect.any(Number) }, counts: { drawers: 2 } });
    expect(await palace("restore", file, "--yes")).toContain("The old state is kept in the broker's container");
    expect(await palace("reveal", kept)).toContain(key);
    expect(await stack.exec("devbox", 1, "palace", "search", "pier", "--json")).toMatchObject({
      stdout: expect.stringContaining("pier nine"),
    });

    // The memory that this machine had is merged into the container's memory.
    mkdirSync(host.config.paths.home, { recursive: true });
    writeDirectly(host.config.paths.ledgerFile, "host", everyKind("host", 60), Date.now());
    const joined = JSON.parse(await palace("import", host.config.paths.home, "--json")) as object;
    expect(joined).toMatchObject({ kind: "home", complete: true, refused: [], rows: { triple: { added: 2 } } });
    expect(await palace("import", host.config.paths.home)).toContain("everything is here");
    expect(await palace("search", "host note 7", "--json")).toContain("host note 7");
    const { undo } = joined as { undo: { client: string; since: string } };
    await palace("history", "undo", "--client", undo.client, "--since", undo.since, "--yes");
    rmSync(host.config.paths.ledgerFile);

    const agent = await connectClient({ config: host.config, agent: "an agent", start: "auto" });
    const refused = agent.call("memory.audit", { limit: 1 });
    await expect(refused).rejects.toMatchObject({ code: "BROKER_DENIED", hint: expect.not.stringContaining("token") });
    agent.close();

    const doctor = await host.run("palace", ["doctor"]);
    expect(doctor.stdout).toContain(`through this machine's engine into ${container}`);
    expect(doctor.stdout).not.toMatch(/SSH|palace restart/);

    expect(await palace("stop")).toContain("It stays off until");
    expect(await host.run("palace", ["status"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("palace start"),
    });
    await palace("start");
    expect(await palace("search", "pier", "--json")).toContain("pier nine");
    expect(JSON.parse(await palace("status", "--json"))).toMatchObject({
      settings: expect.arrayContaining([expect.objectContaining({ key: "audit-days", value: "60", source: "file" })]),
    });
    await palace("bridge", "remove");
  });

  test("the agents-only arrangement uses the same memory through a broker in the devbox", async () => {
    await stack.compose("down");
    await stack.composeWith(alone, "up", "-d", "--wait", "--wait-timeout", "120", "devbox");
    const palace = (...args: string[]): Promise<string> =>
      stack.composeWith(alone, "exec", "-T", "devbox", "palace", ...args);
    expect(await palace("search", "ladder", "--json")).toContain("behind the barn");
    expect(await palace("doctor")).toMatch(/ok\ttopology\tcontainer-only-alone/);
  });
});
