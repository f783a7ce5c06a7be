/** The compose stack as another uid than the image's: the workspace is its owner's, and what was remembered is kept. */
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import type { Engine } from "../../src/devbox/engine.ts";
import { writeStackUser } from "../../src/devbox/user.ts";
import { type DockerStack, openStack } from "../helpers/docker-stack.ts";

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
  /** What a person needs of it, and that the memory goes on. */
  const expectAtHome = async (uid: number, name: string): Promise<void> => {
    expect(await box(`touch /workspace/by-${uid} ~/mine && id -u && id -un && cat ~/.pi/agent/mcp.json`)).toMatch(
      new RegExp(`^${uid}\n${name}\n[^]*mp-shim`),
    );
    expect(statSync(join(workspace, `by-${uid}`)).uid).toBe(uid);
    // An own name is what ssh asks for first.
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

  test("a workspace of another uid is answered with what to type, in the log and in each shell", async () => {
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
  ])(
    "as uid $uid, after what was said to type, the workspace is writable and the memory is kept",
    async ({ uid, name }) => {
      chownSync(workspace, uid, uid);
      await as(uid, "down");
      await as(uid, "run", "--rm", "owner");
      await up(uid);
      await expectAtHome(uid, name);
      expect(await as(uid, "logs", "--no-log-prefix", "devbox")).not.toContain("belongs to uid");
    },
  );

  test("scripts/up writes the caller's uid down once, and never for a stack that has its volumes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "palace-clone-"));
    try {
      copyFileSync(join(ROOT, "docker-compose.yml"), join(folder, "docker-compose.yml"));
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
    "a rootless engine shows the files of uid %s as root's, so the stack runs as root there",
    async (uid) => {
      const folder = mkdtempSync(join(tmpdir(), "palace-clone-"));
      const info = { SecurityOptions: ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"] };
      const volume = { inspect: () => Promise.reject(Object.assign(new Error("no such volume"), { statusCode: 404 })) };
      const rootless = { info: () => Promise.resolve(info), getVolume: () => volume } as unknown as Engine;
      try {
        copyFileSync(join(ROOT, "docker-compose.yml"), join(folder, "docker-compose.yml"));
        const env = { ...process.env, SUDO_UID: uid, SUDO_GID: uid };
        await writeStackUser({ root: folder, env }, { log: () => {} }, rootless);
        expect(readFileSync(join(folder, ".env"), "utf8")).toBe("DEVBOX_UID=0\nDEVBOX_GID=0\n");
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  test("on new volumes another uid needs nothing typed", async () => {
    chownSync(workspace, 1001, 1001);
    await as(0, "down", "--volumes");
    await up(1001);
    const filed = await box(
      "echo 'The kettles on shelf four are kept warm for guests.' > /workspace/kettles.md && mempalace-docs /workspace --json",
    );
    expect(JSON.parse(filed)).toBeDefined();
    await expectAtHome(1001, "developer");
  });
});
