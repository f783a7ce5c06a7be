/**
 * Tests `palace devbox` from two clones with one project name. The tests build on each other: each must find what earlier tests wrote.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { engineMissing } from "../../scripts/engine.ts";
import { quoted } from "../../src/base/shell-word.ts";
import { STEPS } from "../../src/devbox/recreate/job.ts";
import { cloneTo, makeWorktree, type Ran, residentOf, runDevbox, runOnTerminal } from "../helpers/devbox-clones.ts";
import { dockerName, sweepLeftovers } from "../helpers/docker-run.ts";
import { type SshAgent, sshAgentSocket, startSshAgent } from "../helpers/ssh-agent.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`palace devbox left out: ${reason}`);

/** Interval of polls that start a devbox shell each time, ms. */
const POLL = { interval: 500 };

const project = dockerName(`devbox-${randomBytes(3).toString("hex")}`);

describe.skipIf(reason)("palace devbox", () => {
  let folder: string;
  let clone: string;
  let other: string;
  /** Git worktree of `repository`, mounted at /workspace. */
  let workspace: string;
  let repository: string;
  let agent: SshAgent;
  /** Result of `kept` before the first recreate. All later tests must find the same. */
  let before: string;

  const env = (more: Record<string, string | undefined>) => ({
    ...{ HOME: join(folder, "home"), XDG_STATE_HOME: join(folder, "state"), XDG_CACHE_HOME: join(folder, "cache") },
    ...{ COMPOSE_PROJECT_NAME: project, DEVBOX_UID: "1000", DEVBOX_GID: "1000", MEMPALACE_OFFLINE: "1" },
    ...{ SSH_AUTH_SOCK: sshAgentSocket(folder) },
    ...{ PALACE_REVISION: "one", DEVBOX_CLAUDE_CODE: undefined, XDG_RUNTIME_DIR: undefined, ...more },
  });
  const run = (from: string, args: readonly string[], more: Record<string, string | undefined> = {}): Promise<Ran> =>
    runDevbox(from, args, env(more));
  const good = async (args: readonly string[], more: Record<string, string | undefined> = {}): Promise<string> => {
    const { code, stdout, stderr } = await run(clone, args, more);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const box = (script: string, more: Record<string, string> = {}): Promise<string> =>
    good(["shell", "--", "sh", "-c", script], more);
  type Status = { up: boolean; unfinished: unknown; services: { service: string; revision: string }[] };
  const status = async (): Promise<Status> => JSON.parse((await run(clone, ["status", "--json"])).stdout);
  const revisionOf = ({ services }: Status): string | undefined =>
    services.find(({ service }) => service === "devbox")?.revision;
  /** Asserts that the stack is up, with this revision of the devbox, and that no recreate is unfinished. */
  const expectUp = async (revision: string): Promise<void> => {
    const now = await status();
    expect(now).toMatchObject({ up: true, unfinished: null });
    expect(revisionOf(now)).toBe(revision);
  };
  const git = async (...args: string[]): Promise<string> =>
    (await execa("git", ["-c", "safe.directory=*", "-C", repository, ...args], { env: env({}) })).stdout;
  /** Makes an image from the devbox's image and gives it the name that compose uses for the devbox. */
  const derive = async (name: string, ...lines: string[]): Promise<void> => {
    const input = [`FROM ${project}-devbox`, `LABEL org.opencontainers.image.revision=${name}`, ...lines].join("\n");
    await execa("docker", ["build", "--quiet", "--tag", `${project}-devbox`, "-"], { input });
  };
  const arrangement = (name: string): string =>
    ["docker-compose.yml", `scripts/compose/${name}.yml`].map((file) => join(clone, file)).join(":");
  /** Returns everything that a person keeps in a devbox: files of the home and the workspace, drawers, facts. */
  const kept = (more: Record<string, string> = {}): Promise<string> =>
    box(
      [
        "cat ~/notes.txt ~/.claude/settings.json; readlink ~/link; cat /workspace/plan.txt",
        `palace call mempalace_list_drawers '{}' && palace call mempalace_kg_query '{"entity":"kettle"}'`,
      ].join(" && "),
      more,
    );

  /** Returns the pid of the resident of the bridge through which this machine's agents reach the stack's memory. */
  const bridgeOfHost = async (): Promise<number> => {
    const command = [join(clone, "src/bin/palace.ts"), "call", "mempalace_status", "{}"];
    await execa(process.execPath, command, { env: env({}), cwd: clone, stdin: "ignore" });
    return residentOf(join(folder, "state"));
  };

  beforeAll(async () => {
    await sweepLeftovers();
    folder = mkdtempSync(join(tmpdir(), "palace-devbox-"));
    [clone, other, workspace] = [join(folder, "clone"), join(folder, "other"), join(folder, "my work's")];
    for (const place of [clone, other]) cloneTo(place);
    mkdirSync(join(folder, "home"));
    agent = await startSshAgent(folder, 1001);
    repository = join(folder, "main's");
    await makeWorktree(repository, workspace, join(folder, "home"));
  });
  afterAll(async () => {
    agent?.end();
    if (folder === undefined) return;
    const down = ["--profile", "owner", "down", "--volumes", "--remove-orphans", "--rmi", "local", "--timeout", "5"];
    await execa("docker", ["compose", ...down], { cwd: clone, env: env({}), reject: false });
    for (const service of ["chroma", "broker", "devbox"])
      await execa("docker", ["image", "rm", `${project}-${service}:before-recreate`], { reject: false });
    rmSync(folder, { recursive: true, force: true });
  });

  test("devbox up refuses unusable settings with a reason, and does not store the workspace of a failed start", async () => {
    const noCertificates = await run(clone, ["up"], { NODE_EXTRA_CA_CERTS: "/nowhere.pem", EXTRA_CA_CERTS: "" });
    expect(noCertificates).toMatchObject({ code: 2, stderr: expect.stringContaining("NODE_EXTRA_CA_CERTS names") });
    const colon = await run(clone, ["up", "--workspace", "../a:b"]);
    expect(colon).toMatchObject({ code: 2, stderr: expect.stringContaining("has a colon in its path") });
    const failed = await run(clone, ["up", "--workspace", workspace], { BASE_IMAGE: "no:such:image" });
    expect(failed).toMatchObject({ code: 5, stderr: expect.stringMatching(/invalid reference format/) });
    expect(failed.stderr).not.toContain("a proxy inspects TLS");
    // Compose writes its own progress to a terminal. The error must appear there too.
    const shown = await runOnTerminal(clone, ["up"], env({ BASE_IMAGE: "no:such:image" }));
    expect(shown).toMatch(/did not become healthy: .*invalid reference format/);
    expect(existsSync(join(clone, ".env"))).toBe(false);
  });

  test("devbox up remembers the workspace for the next start", async () => {
    const fragment = readFileSync(join(clone, "scripts/compose/ssh-agent.yml"), "utf8");
    const override = fragment.replace("{ SSH_AUTH_SOCK:", "{ MINE: mine, SSH_AUTH_SOCK:");
    writeFileSync(join(clone, "docker-compose.override.yml"), override);
    await good(["up", "--workspace", "../my work's"]);
    const written = `DEVBOX_WORKSPACE="${workspace}"\nDEVBOX_GIT_DIR="${repository}/.git"\n`;
    expect(readFileSync(join(clone, ".env"), "utf8")).toBe(written);
    expect(await box("echo $MINE; echo plan > /workspace/plan.txt")).toBe("mine");
    rmSync(join(clone, ".env"));
    await good(["up"]);
    expect(await box("cat /workspace/plan.txt")).toBe("plan");
    expect(await status()).toMatchObject({
      up: true,
      unfinished: null,
      workspace,
      project,
      revision: expect.any(String),
    });
  });

  test("git works in a worktree with the host's identity until the devbox sets another", async () => {
    await box("git add plan.txt && git commit --quiet --message 'from the box'");
    expect(await git("log", "-1", "--format=%an <%ae> %s", "feature")).toBe("Ada <ada@example.org> from the box");
    await box("git config --global user.name Grace; git config --global --unset user.email");
    await execa("docker", ["compose", "up", "-d", "--wait", "devbox"], { cwd: clone, env: env({}) });
    await good(["up"]);
    expect(await box("git status --short; git config --global --list | grep ^user")).toBe("user.name=Grace");
  });

  test("the host's ssh-agent answers in the devbox, although its socket belongs to another uid", async () => {
    expect(await box("ssh-add -L")).toBe(agent.publicKey);
    expect(await box("stat -c '%u %a' $SSH_AUTH_SOCK")).toBe("1000 600");
  });

  test("devbox up in another clone with the same project name is refused, and changes nothing", async () => {
    const { code, stderr } = await run(other, ["up"]);
    expect(code).toBe(2);
    expect(stderr).toContain(clone);
    expect(stderr).toMatch(/devbox up --share; .*COMPOSE_PROJECT_NAME=/);
    expect((await run(other, ["recreate"])).stderr).toContain(clone);
    expect((await run(other, ["down", "--volumes", "--yes", project])).code).toBe(2);
    expect(await status()).toMatchObject({ up: true, madeFrom: null });
  });

  test("a second devbox shell has a separate window and size", async () => {
    const screens = async (): Promise<string> => {
      const { stdout } = await run(clone, ["shell", "--", "tmux", "list-windows", "-a", "-F", "#S:#I #{window_width}"]);
      return stdout;
    };
    const open = (columns: number) => {
      const command = [process.execPath, join(clone, "src/bin/palace.ts"), "devbox", "shell"].map(quoted).join(" ");
      const terminal = { ...env({}), TERM: "xterm-256color", COLORTERM: "truecolor" };
      const script = `stty cols ${columns} rows 30; exec ${command}`;
      return execa("script", ["-qec", script, "/dev/null"], { env: terminal, cwd: clone, reject: false });
    };
    const first = open(100);
    await expect.poll(screens, POLL).toBe("main:0 100");
    const second = open(60);
    await expect.poll(screens, POLL).toMatch(/^main:0 100\nmain:1 60\nmain-\d+:0 100\nmain-\d+:1 60$/);
    second.stdin.write("echo typed in the second: $COLORTERM $HOST\r");
    const shown = (window: number): Promise<string> => box(`tmux capture-pane -p -t =main:${window}`);
    await expect.poll(() => shown(1), POLL).toContain("typed in the second: truecolor devbox");
    expect(await shown(0)).not.toContain("typed");
    const set =
      "tmux list-clients -F '#{client_termfeatures}'; tmux display -p -t =main: '#{history_limit} #{mouse} #{focus-events}'";
    expect(await box(`${set}; tmux show -s extended-keys; tmux show -s extended-keys-format`)).toMatch(
      /extkeys.*RGB.*\n.*extkeys.*RGB.*\n50000 1 1\nextended-keys on\nextended-keys-format csi-u$/,
    );
    second.stdin.write("exit\r");
    expect(await second).toMatchObject({ exitCode: 0 });
    expect(await screens()).toBe("main:0 100");
    // Closing the terminal leaves the session running for the next shell.
    first.kill("SIGKILL");
    await first;
    await expect.poll(() => box("tmux list-clients"), POLL).toBe("");
    const third = open(80);
    await expect.poll(screens, POLL).toBe("main:0 80");
    third.stdin.write("exit\r");
    expect(await third).toMatchObject({ exitCode: 0 });
  });

  test("devbox shell runs a command without a terminal and returns the command's exit code", async () => {
    expect(await run(clone, ["shell", "--", "sh", "-c", "pwd; exit 7"])).toMatchObject({
      code: 7,
      stdout: "/workspace",
    });
    expect(await run(clone, ["shell"])).toMatchObject({ code: 2, stderr: expect.stringContaining("-- CMD") });
  });

  test("the next devbox recreate finishes a recreate killed at any step and keeps everything", async () => {
    await box("echo mine > ~/notes.txt; ln -s notes.txt ~/link; rm -f ~/.zshrc; echo '# mine' > ~/.zshrc");
    await box(
      'palace call mempalace_add_drawer \'{"wing":"home","room":"kitchen","content":"The kettle is on shelf four"}\'',
    );
    await box('palace call mempalace_diary_write \'{"agent_name":"tester","entry":"a good day"}\'');
    await box('palace call mempalace_kg_add \'{"subject":"kettle","predicate":"is on","object":"shelf four"}\'');
    before = await kept();
    await derive("two");
    for (const step of [...STEPS.filter((name) => name !== "roll-back"), "end"]) {
      const killed = await run(clone, ["recreate", "--no-build"], { MEMPALACE_FAULT: `recreate.${step}` });
      expect(killed, step).toMatchObject({ signal: "SIGKILL" });
      if (step !== "end") expect(await status()).toMatchObject({ unfinished: { step } });
    }
    const done = JSON.parse(await good(["recreate", "--no-build", "--json"])) as { counts: object; snapshot: string };
    expect(done.counts).toMatchObject({ drawers: 2, facts: 1, diary: 1 });
    expect(existsSync(join(done.snapshot, "snapshot.json"))).toBe(true);
    await expectUp("two");
    expect(await box("echo $MINE")).toBe("mine");
    expect(await kept()).toBe(before);
  });

  test("devbox up cancels a recreate that has not changed anything yet", async () => {
    await derive("three");
    expect(await run(clone, ["recreate", "--no-build"], { MEMPALACE_FAULT: "recreate.snapshot" })).toMatchObject({
      signal: "SIGKILL",
    });
    const { stdout } = await execa("docker", ["inspect", "--format", "{{.State.Running}}", `${project}-broker-1`]);
    expect(stdout).toBe("false");
    // `up` builds this clone's image again and gives it the name that the image made by `derive` had.
    await good(["up"], { PALACE_REVISION: "two-again" });
    await expectUp("two-again");
    expect(await kept()).toBe(before);
  });

  test("devbox recreate rolls a bad image back, and restores a file that the image deleted", async () => {
    await derive(
      "thief",
      'ENTRYPOINT ["sh", "-c", "rm -f ~/notes.txt; echo other > ~/link2; exec devbox-entry devbox-start"]',
    );
    const killed = await run(clone, ["recreate", "--no-build"], { MEMPALACE_FAULT: "recreate.roll-back" });
    expect(killed).toMatchObject({ signal: "SIGKILL" });
    const { code, stderr } = await run(clone, ["recreate", "--no-build"]);
    expect(code, stderr).toBe(5);
    expect(stderr).toMatch(/rolled back to the old image: the home's notes\.txt is not as before/);
    await expectUp("two-again");
    expect(await kept()).toBe(before);
  });

  test("a clone that shares the compose stack can recreate the stack too", async () => {
    expect(await run(other, ["up", "--share"], { PALACE_REVISION: "two-again" })).toMatchObject({ code: 0 });
    await derive("shared");
    const { code, stderr } = await run(other, ["recreate", "--no-build"]);
    expect(code, stderr).toBe(0);
    expect(revisionOf(await status())).toBe("shared");
    expect(await kept()).toBe(before);
  });

  test("devbox recreate rolls back a new image that never becomes healthy", async () => {
    await derive("sick", "HEALTHCHECK --interval=1s --start-period=1s --retries=2 CMD false");
    const { code, stderr } = await run(clone, ["recreate", "--no-build"]);
    expect(code, stderr).toBe(5);
    expect(stderr).toContain("rolled back to the old image: the new stack did not become healthy");
    await expectUp("shared");
    expect(await kept()).toBe(before);
  });

  test("a devbox recreate killed during its build has changed nothing, and the next recreate finishes", async () => {
    const file = join(clone, "Dockerfile.base");
    const dockerfile = readFileSync(file, "utf8");
    // This step is unique, so no earlier build has it in its cache. In this stage only cached steps come before it.
    const step = `sleep 60 && echo ${project}`;
    const stage = /^FROM \$\{CHROMA_IMAGE\} AS chroma$/m;
    expect(dockerfile).toMatch(stage);
    writeFileSync(
      file,
      dockerfile.replace(stage, (line) => `${line}\nRUN ${step}`),
    );
    const command = [join(clone, "src/bin/palace.ts"), "devbox", "recreate"];
    const built = { PALACE_REVISION: "built" };
    const recreating = execa(process.execPath, command, {
      env: env(built),
      cwd: clone,
      reject: false,
      stdin: "ignore",
    });
    await expect
      .poll(async () => (await execa("pgrep", ["-f", step], { reject: false })).exitCode, { interval: 1_000 })
      .toBe(0);
    recreating.kill("SIGKILL");
    expect(await recreating).toMatchObject({ signal: "SIGKILL" });
    expect(await status()).toMatchObject({ up: true, unfinished: { step: "build" } });
    expect(await kept()).toBe(before);
    writeFileSync(file, dockerfile);
    await good(["recreate"], built);
    await expectUp("built");
    expect(await kept()).toBe(before);
  });

  test("a compose file without a broker starts the devbox, which finds the same memory", async () => {
    const alone = { PALACE_REVISION: "two-again", COMPOSE_FILE: arrangement("agents-only") };
    await good(["down"]);
    const command = [join(clone, "src/bin/palace.ts"), "up", "--docker", "--json"];
    const { stdout, stderr, exitCode } = await execa(process.execPath, command, {
      ...{ env: env(alone), cwd: clone, reject: false, stdin: "ignore" },
    });
    expect(exitCode, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ kind: "docker" });
    expect(stdout).not.toContain('"host"');
    expect(JSON.parse(await good(["up", "--json"], alone))).toMatchObject({ services: ["devbox"] });
    const found = await good(["shell", "--", "palace", "call", "mempalace_list_drawers", "{}"], alone);
    expect(before).toContain(found.trim());
    await good(["down"], alone);
    await good(["up"], { PALACE_REVISION: "two-again" });
    expect(await kept()).toBe(before);
  });

  test("devbox up under a new project name moves memory and home byte for byte, even if the move is killed", async () => {
    const renamed = { COMPOSE_PROJECT_NAME: `${project}-2`, PALACE_REVISION: "two-again" };
    const asked = await run(clone, ["up"], renamed);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining(`devbox up --from ${project}`) });
    expect((await run(clone, ["up", "--from", "nobody"], renamed)).code).toBe(2);
    const killAt = async (step: string): Promise<void> => {
      const killed = await run(clone, ["up", "--from", project], { ...renamed, MEMPALACE_FAULT: `move.${step}` });
      expect(killed, step).toMatchObject({ signal: "SIGKILL" });
    };
    await killAt("down");
    await killAt("palace");
    const halved = await run(clone, ["up", "--fresh"], renamed);
    expect(halved).toMatchObject({ code: 2, stderr: expect.stringContaining("is not complete") });
    // Plain compose may have written to the new volumes since, so a later `up` must not overwrite them.
    await execa("docker", ["compose", "down"], { cwd: clone, env: env(renamed) });
    const used = await run(clone, ["up"], renamed);
    expect(used).toMatchObject({ code: 2, stderr: expect.stringContaining("may have run since") });
    await good(["down", "--volumes", "--yes", `${project}-2`, "--no-backup"], renamed);
    await killAt("broker");
    // The move that was killed continues without --from.
    await good(["up"], renamed);
    expect(await kept(renamed)).toBe(before);
    expect((await run(clone, ["up", "--from", project], renamed)).code).toBe(2);
    await good(["down", "--volumes", "--yes", `${project}-2`, "--no-backup"], renamed);
    await good(["up"], { PALACE_REVISION: "two-again" });
    expect(await kept()).toBe(before);
  });

  test("the devbox reports that DEVBOX_WORKSPACE was set at an earlier start and is left out now", async () => {
    const compose = (...args: string[]) =>
      execa("docker", ["compose", ...args], { cwd: clone, env: env({ DEVBOX_WORKSPACE: "" }) });
    await compose("up", "-d", "--wait", "devbox");
    const told = /DEVBOX_WORKSPACE was left out; it was .*my work's the last time/;
    expect((await compose("logs", "--no-log-prefix", "devbox")).stdout).toMatch(told);
    expect(await box("zsh -ic true")).toMatch(told);
  });

  test("devbox down keeps the volumes, and devbox down --volumes copies the volumes before it erases them", async () => {
    await good(["down"]);
    expect((await run(clone, ["status"])).code).toBe(3);
    expect((await run(clone, ["shell", "--", "true"])).stderr).toContain("devbox up");
    await good(["up"], { PALACE_REVISION: "two-again" });
    expect(await box("cat ~/notes.txt")).toBe("mine");
    const unasked = await run(clone, ["down", "--volumes"]);
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringMatching(/erases 2 drawers and the home/) });
    expect((await run(clone, ["down", "--volumes", "--yes", "other"])).code).toBe(2);
    expect(await box("cat ~/notes.txt")).toBe("mine");
    const resident = await bridgeOfHost();
    const erased = await run(clone, ["down", "--volumes", "--yes", project]);
    expect(erased, erased.stderr).toMatchObject({ code: 0 });
    const [, copy = ""] = /palace devbox up && \S*palace devbox restore (\S+)/.exec(erased.stdout) ?? [];
    expect(erased.stderr).toContain("the bridge to it is removed");
    // A zombie has no command line, so it counts as ended.
    const command = (): string =>
      existsSync(`/proc/${resident}`) ? readFileSync(`/proc/${resident}/cmdline`, "utf8") : "";
    await expect.poll(command).toBe("");
    expect(JSON.parse(readFileSync(join(copy, "snapshot.json"), "utf8"))).toMatchObject({ counts: { drawers: 2 } });
    const { stdout } = await execa("docker", ["volume", "ls", "--quiet", "--filter", `name=${project}`]);
    expect(stdout).toBe("");
    // A folder that is not a copy is refused.
    expect(await run(clone, ["restore", folder])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/neither a backup/),
    });
    await good(["up"], { PALACE_REVISION: "two-again" });
    await good(["restore", copy]);
    expect(await kept()).toBe(before);
    expect(await status()).toMatchObject({ up: true });
    // A memory with drawers is replaced only after the user gave the project's name.
    expect((await run(clone, ["restore", join(copy, "palace.tar")])).stderr).toContain(`--yes ${project}`);
    expect(await kept()).toBe(before);
  });
});
