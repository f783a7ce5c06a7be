import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import type { Engine } from "../../src/devbox/engine.ts";
import { writeStackUser } from "../../src/devbox/user.ts";
import { openScreen } from "../agents/screen.ts";
import { dockerName } from "../helpers/docker-run.ts";
import { type DockerStack, openStack } from "../helpers/docker-stack.ts";
import { freePort } from "../helpers/free-port.ts";

const reason =
  engineMissing(process.env) ?? (process.getuid?.() === 0 ? undefined : "only root can make a foreign folder");
if (reason !== undefined) console.warn(`other uids left out: ${reason}`);

describe.skipIf(reason)("the compose stack as another uid", () => {
  let workspace: string;
  let stack: DockerStack;
  const as = (uid: number, ...args: string[]): Promise<string> =>
    stack.composeWith({ DEVBOX_UID: String(uid), DEVBOX_GID: String(uid) }, ...args);
  const up = (uid: number): Promise<string> => as(uid, "up", "--detach", "--wait", "devbox");
  const box = async (script: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await stack.exec("devbox", 1, "sh", "-c", script);
    expect(exitCode, stderr).toBe(0);
    return stdout;
  };
  /** Asserts that the user with this uid can work in the devbox, and that the memory still exists. */
  const expectAtHome = async (uid: number, name: string): Promise<void> => {
    expect(await box(`touch /workspace/by-${uid} ~/mine && id -u && id -un && cat ~/.pi/agent/mcp.json`)).toMatch(
      new RegExp(`^${uid}\n${name}\n[^]*mp-shim`),
    );
    expect(statSync(join(workspace, `by-${uid}`)).uid).toBe(uid);
    // The uid has a name, so ssh logs in to other machines under this name by default.
    expect(await box("ssh -G example.org | grep '^user '")).toBe(`user ${name}`);
    expect(await box("palace doctor >&2 && palace search kettles --json")).toContain("kettles on shelf");
  };

  beforeAll(async () => {
    workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
    chownSync(workspace, 1001, 1001);
    stack = await openStack(workspace);
    await as(1000, "build", "chroma", "broker", "devbox", "owner");
  });
  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    if (workspace !== undefined) rmSync(workspace, { recursive: true, force: true });
  });

  test("only the devbox's user can write the home, and the first shell says how an agent gets a model", async () => {
    await up(1000);
    expect(await box("stat -c %a ~")).toBe("755");
    const told = /No agent has a model yet[^]*\.env\.devbox[^]*palace devbox up[^]*opencode auth login/;
    expect(await box("ANTHROPIC_API_KEY=key zsh -ic true")).not.toMatch(told);
    expect(await box("zsh -ic true")).toMatch(told);
    expect(await box("zsh -ic true")).not.toMatch(told);
    expect(await box("zsh -ic 'print completed by $_comps[palace]'")).toContain("completed by _palace");
  });

  test("Tab completes a verb of palace in the devbox's zsh", async () => {
    await using screen = await openScreen(async (script) => ({ stdout: await box(script) }), "exec zsh -l");
    await screen.shows(/devbox \S+ .*%/);
    await screen.type("palace histo");
    await screen.press("Tab");
    await screen.shows(/palace history/);
  });

  test("a slim image has no compilers, and DEVBOX_PACKAGES adds Debian packages", async () => {
    const chosen = { DEVBOX_SLIM: "1", DEVBOX_PACKAGES: "bc" };
    expect(JSON.parse(await stack.composeWith(chosen, "config", "--format", "json"))).toMatchObject({
      services: { devbox: { build: { args: chosen } } },
    });
    const image = dockerName("slim");
    const args = Object.entries(chosen).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
    await execa("docker", ["build", "--file", "Dockerfile.base", "--target", "tools", "--tag", image, ...args, "."], {
      cwd: ROOT,
    });
    try {
      const { stdout } = await execa("docker", [
        "run",
        "--rm",
        image,
        "sh",
        "-c",
        "echo 6*7 | bc; command -v gcc g++ || echo none",
      ]);
      expect(stdout).toBe("42\nnone");
    } finally {
      await execa("docker", ["image", "rm", image]);
    }
  });

  test("the log and each shell say what to type if the workspace belongs to another uid", async () => {
    await up(1000);
    const told = /belongs to uid 1001\. This devbox works as uid 1000[^]*DEVBOX_UID=1001[^]*run --rm --build owner/;
    expect(await as(1000, "logs", "--no-log-prefix", "devbox")).toMatch(told);
    expect(await box("zsh -ic 'echo $PROMPT'")).toMatch(told);
    await using shim = await stack.shim(1);
    const drawer = { wing: "home", room: "kitchen", content: "The kettles on shelf four" };
    expect(await shim.call("mempalace_add_drawer", drawer)).toHaveProperty("drawer_id");
  });

  test.each([
    { uid: 1001, name: "developer" },
    { uid: 0, name: "root" },
  ])("after a run of `owner`, uid $uid can write the workspace and has the memory", async ({ uid, name }) => {
    chownSync(workspace, uid, uid);
    await as(uid, "down");
    await as(uid, "run", "--rm", "owner");
    await up(uid);
    await expectAtHome(uid, name);
    expect(await as(uid, "logs", "--no-log-prefix", "devbox")).not.toContain("belongs to uid");
  });

  test("scripts/up stores the caller's uid once, and never for a stack that already has volumes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "palace-clone-"));
    try {
      copyStack(folder);
      const write = (project: string): Promise<void> => {
        const env = { ...process.env, SUDO_UID: "1001", SUDO_GID: "1002", COMPOSE_PROJECT_NAME: project };
        return writeStackUser({ root: folder, env }, { log: () => {} });
      };
      await write(stack.project);
      expect(existsSync(join(folder, ".env"))).toBe(false);
      writeFileSync(join(folder, ".env"), "MEMPALACE_LOG_LEVEL=debug");
      await write(`${stack.project}-new`);
      await write(`${stack.project}-new`);
      const written = readFileSync(join(folder, ".env"), "utf8");
      expect(written).toBe("MEMPALACE_LOG_LEVEL=debug\nDEVBOX_UID=1001\nDEVBOX_GID=1002\n");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test.each(["1000", "1001"])(
    "the compose stack runs as root under a rootless container engine that shows the files of uid %s as root's",
    async (uid) => {
      const folder = mkdtempSync(join(tmpdir(), "palace-clone-"));
      const info = { SecurityOptions: ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"] };
      const volume = { inspect: () => Promise.reject(Object.assign(new Error("no such volume"), { statusCode: 404 })) };
      const rootless = { info: () => Promise.resolve(info), getVolume: () => volume } as unknown as Engine;
      try {
        copyStack(folder);
        const env = { ...process.env, SUDO_UID: uid, SUDO_GID: uid };
        await writeStackUser({ root: folder, env }, { log: () => {} }, rootless);
        expect(readFileSync(join(folder, ".env"), "utf8")).toBe("DEVBOX_UID=0\nDEVBOX_GID=0\n");
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  test("on new volumes another uid works without a run of the compose service `owner`", async () => {
    chownSync(workspace, 1001, 1001);
    await as(0, "down", "--volumes");
    await up(1001);
    const filed = await box(
      "echo 'The kettles on shelf four are kept warm for guests.' > /workspace/kettles.md && mempalace-docs /workspace --json",
    );
    expect(JSON.parse(filed)).toBeDefined();
    await expectAtHome(1001, "developer");
    // An immutable folder refuses writes although owner and mode allow them, as SELinux may.
    await execa("chattr", ["+i", workspace]);
    const said = box("devbox-workspace");
    await said.catch(() => undefined);
    await execa("chattr", ["-i", workspace]);
    expect(await said).toMatch(/is yours \(uid 1001\), and writing there is denied[^]*DEVBOX_MOUNT_FLAGS=z/);
  });

  test("the devbox compiles C and C++, makes a Python environment, and does not refuse pip as externally managed", async () => {
    const source = "#include <iostream>\nint main() { std::cout << 42; }\n";
    writeFileSync(join(workspace, "answer.cpp"), source);
    writeFileSync(join(workspace, "Makefile"), "/tmp/answer: answer.cpp\n\tg++ -o $@ $<\n");
    expect(await box("make -s -C /workspace && /tmp/answer")).toBe("42");
    expect(
      await box(
        "echo 'int main(void) { return 0; }' | gcc -x c -o /tmp/c - && /tmp/c && python3 -m venv /tmp/v && /tmp/v/bin/pip --version",
      ),
    ).toMatch(/^pip /);
    expect(await box("pip install --dry-run --no-index --no-build-isolation /nowhere 2>&1 || true")).not.toContain(
      "externally-managed",
    );
    for (const tool of ["gh", "tree", "unzip", "pip"]) expect(await box(`command -v ${tool}`)).toContain(tool);
  });

  test("programs in the devbox trust EXTRA_CA_CERTS, and this machine reaches a port of DEVBOX_PORTS", async () => {
    const port = String(await freePort());
    writeAuthority(workspace);
    writeFileSync(join(workspace, "https.cjs"), HTTPS_SERVER);
    const [EXTRA_CA_CERTS, user] = [join(workspace, "ca.pem"), { DEVBOX_UID: "1001", DEVBOX_GID: "1001" }];
    await stack.composeWith({ ...user, EXTRA_CA_CERTS, DEVBOX_PORTS: port }, "up", "--detach", "--wait", "devbox");
    await box(`node /workspace/https.cjs ${port} > /tmp/https.log 2>&1 &`);
    const address = `https://localhost:${port}`;
    await box(`curl --silent --fail --insecure --retry 60 --retry-delay 1 --retry-connrefused ${address}`);
    // Runs the command without a shell, as `docker exec` starts an agent's programs.
    const asked = async (...command: string[]): Promise<string> => {
      const { stdout, stderr } = await stack.exec("devbox", 1, ...command);
      return stdout + stderr;
    };
    expect(await asked("curl", "--silent", "--show-error", address)).toContain("refs/heads/trusted");
    expect(await asked("git", "ls-remote", address)).toContain("refs/heads/trusted");
    expect(await asked("node", "-e", `fetch("${address}").then(async (r) => console.log(await r.text()))`)).toContain(
      "trusted",
    );
    const opened = `import urllib.request as web; print(web.urlopen("${address}").read())`;
    expect(await asked("python3", "-c", opened)).toContain("refs/heads/trusted");
    expect(await asked("pip", "download", "--retries", "0", "--index-url", address, "nothing")).not.toContain("SSL");
    expect(await box("cat /tmp/https.log")).toContain("pip/");
    const reached = await execa("curl", ["--silent", "--cacert", EXTRA_CA_CERTS, address]);
    expect(reached.stdout).toContain("refs/heads/trusted");
  });
});

function copyStack(folder: string): void {
  for (const name of ["docker-compose.yml", "scripts/ports.yml"]) cpSync(join(ROOT, name), join(folder, name));
}

/** Server that answers every request as a Git repository with one branch, and prints who asked. */
const HTTPS_SERVER = `
const { readFileSync } = require("node:fs");
const [key, cert] = ["key.pem", "cert.pem"].map((name) => readFileSync("/workspace/" + name));
require("node:https").createServer({ key, cert }, ({ url, headers }, response) => {
  console.log(headers["user-agent"]);
  response.end(url.endsWith("/HEAD") ? "ref: refs/heads/trusted\\n" : "1".repeat(40) + "\\trefs/heads/trusted\\n");
}).listen(Number(process.argv[2]));
`;

/** Writes a new CA, which no program trusts yet, and its certificate for localhost. */
function writeAuthority(folder: string): void {
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
  const openssl = (...args: string[]): unknown =>
    execFileSync("openssl", [...made, ...args], { cwd: folder, stdio: "pipe" });
  openssl("-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=a proxy", "-addext", "keyUsage=critical,keyCertSign");
  const leaf = ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost"];
  openssl(
    "-keyout",
    "key.pem",
    "-out",
    "cert.pem",
    "-subj",
    "/CN=localhost",
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    ...leaf,
  );
  for (const name of ["key.pem", "cert.pem", "ca.pem"]) chmodSync(join(folder, name), 0o644);
}
