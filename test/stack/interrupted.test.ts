/** Tests what a recreate does with work in progress: agents, the container of the other arrangement, Ctrl-C, and what a kill leaves. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { cloneTo, type Ran, runDevbox } from "../helpers/devbox-clones.ts";
import { dockerName, sweepLeftovers } from "../helpers/docker-run.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`interrupted recreates left out: ${reason}`);

const BRIDGED = "devbox-bridged";
const project = dockerName(`interrupted-${randomBytes(3).toString("hex")}`);

describe.skipIf(reason)("a recreate that is interrupted", () => {
  let clone: string;
  const env = (more: Record<string, string> = {}) => ({
    ...{ HOME: join(clone, "home"), XDG_STATE_HOME: join(clone, "state"), XDG_CACHE_HOME: join(clone, "cache") },
    ...{ COMPOSE_PROJECT_NAME: project, DEVBOX_UID: "1000", DEVBOX_GID: "1000", MEMPALACE_OFFLINE: "1" },
    ...{
      PALACE_REVISION: "one",
      COMPOSE_PROFILES: "bridged",
      DEVBOX_CLAUDE_CODE: undefined,
      XDG_RUNTIME_DIR: undefined,
    },
    ...more,
  });
  const run = (...args: string[]): Promise<Ran> => runDevbox(clone, args, env());
  const recreate = (fault?: string): Promise<Ran> =>
    runDevbox(clone, ["recreate", "--no-build"], env(fault === undefined ? {} : { MEMPALACE_FAULT: fault }));
  const compose = async (...args: string[]): Promise<string> =>
    (await execa("docker", ["compose", ...args], { cwd: clone, env: env() })).stdout;
  const isBridgedUp = async (): Promise<boolean> =>
    (await compose("ps", "--status", "running", "--quiet", BRIDGED)) !== "";

  const oneOffs = async (): Promise<string> =>
    (await execa("docker", ["ps", "--all", "--quiet", "--filter", `label=palace-devbox.one-off=${project}`])).stdout;
  /** Starts a command. `says` waits until stderr has a text. */
  const begin = (...args: string[]) => {
    const command = [join(clone, "src/bin/palace.ts"), "devbox", ...args];
    const done = execa(process.execPath, command, { env: env(), cwd: clone, reject: false, stdin: "ignore" });
    let said = "";
    done.stderr.on("data", (text) => (said += String(text)));
    const says = (text: string) => expect.poll(() => said, { interval: 50, timeout: 60_000 }).toContain(text);
    return { done, says, kill: (signal: "SIGINT" | "SIGKILL") => done.kill(signal) };
  };

  beforeAll(async () => {
    await sweepLeftovers();
    clone = mkdtempSync(join(tmpdir(), "palace-interrupted-"));
    cloneTo(clone);
    mkdirSync(join(clone, "home"));
    expect(await run("up")).toMatchObject({ code: 0 });
    await compose("up", "--detach", BRIDGED);
  });
  afterAll(async () => {
    if (clone === undefined) return;
    await compose(
      "--profile",
      "owner",
      "--profile",
      "bridged",
      "down",
      "--volumes",
      "--rmi",
      "local",
      "--timeout",
      "5",
    );
    for (const service of ["chroma", "broker", "devbox"])
      await execa("docker", ["image", "rm", `${project}-${service}:before-recreate`], { reject: false });
    rmSync(clone, { recursive: true, force: true });
  });

  test("a killed devbox recreate does not end an agent that works when the recreate is typed again", async () => {
    expect(await recreate("recreate.build")).toMatchObject({ signal: "SIGKILL" });
    const agent = "cp /bin/sleep /tmp/pi; (/tmp/pi 600 >/dev/null 2>&1 & echo $!)";
    const pid = await compose("exec", "--no-TTY", BRIDGED, "sh", "-c", agent);
    const refused = expect.stringContaining("these programs run in the devbox: pi; nothing was changed");
    expect(await recreate()).toMatchObject({ code: 2, stderr: refused });
    await compose("exec", "--no-TTY", BRIDGED, "kill", pid);
  });

  test("a bridged devbox that ran before a devbox recreate or a restore runs afterwards, also after a kill", async () => {
    expect(await recreate("recreate.verify")).toMatchObject({ signal: "SIGKILL" });
    expect(await isBridgedUp()).toBe(false);
    const done = await run("recreate", "--no-build", "--json");
    expect(done).toMatchObject({ code: 0 });
    expect(await isBridgedUp()).toBe(true);
    const { snapshot } = JSON.parse(done.stdout) as { snapshot: string };
    expect(await run("restore", snapshot)).toMatchObject({ code: 0 });
    expect(await isBridgedUp()).toBe(true);
  });

  test("Ctrl-C ends a devbox recreate before its switch, and no second command works on the stack meanwhile", async () => {
    const recreating = begin("recreate", "--no-build");
    await recreating.says("looking for work");
    const refused = expect.stringContaining("another palace devbox command works on this stack");
    expect(await run("up")).toMatchObject({ code: 2, stderr: refused });
    await recreating.says("copying the memory");
    recreating.kill("SIGINT");
    expect(await recreating.done).toMatchObject({ exitCode: 130 });
    expect(JSON.parse((await run("status", "--json")).stdout)).toMatchObject({ unfinished: null });
    expect(await compose("ps", "--status", "running", "--services")).toMatch(/broker\nchroma\ndevbox\ndevbox-bridged/);
  });

  test("a devbox recreate removes what a killed compose has left, and does not start a bridged devbox that was down", async () => {
    await compose("stop", BRIDGED);
    const chroma = (await execa("docker", ["inspect", "--format", "{{.Id}}", `${project}-chroma-1`])).stdout;
    const labels = [`project=${project}`, "service=chroma", "oneoff=False", "container-number=1", "config-hash=none"];
    const named = labels.flatMap((label) => ["--label", `com.docker.compose.${label}`]);
    const name = `${chroma.slice(0, 12)}_${project}-chroma-1`;
    await execa("docker", ["create", "--name", name, ...named, `${project}-chroma`]);
    expect(await recreate()).toMatchObject({ code: 0 });
    expect(await isBridgedUp()).toBe(false);
  });

  test("devbox down --volumes erases the memory, also after a kill, or names the volume that is in use", async () => {
    const down = ["down", "--volumes", "--yes", project];
    const killed = begin(...down);
    await killed.says("copying the memory");
    await expect.poll(oneOffs, { interval: 50 }).not.toBe("");
    killed.kill("SIGKILL");
    await killed.done;
    const { services } = JSON.parse((await run("status", "--json")).stdout) as { services: object[] };
    expect(services).toHaveLength(4);
    const volume = `${project}_devbox-palace`;
    await execa("docker", ["create", "--name", `${project}-user`, "--volume", `${volume}:/x`, `${project}-chroma`]);
    const kept = expect.stringContaining(`the volume ${volume} is not deleted`);
    expect(await run(...down)).toMatchObject({ code: 7, stderr: kept });
    await execa("docker", ["rm", `${project}-user`]);
    await execa("docker", ["volume", "rm", volume]);
    expect(await oneOffs()).toBe("");
    expect((await execa("docker", ["volume", "ls", "--quiet", "--filter", `name=${project}`])).stdout).toBe("");
  });
});
