/**
 * Tests actions on a compose stack, such as a recreate. All cases share one stack, so each also finds the state left by the earlier ones.
 */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AGENTS } from "../../scripts/agents.ts";
import { engineMissing } from "../../scripts/engine.ts";
import { ROOT } from "../../scripts/main.ts";
import type { StdioMcp } from "../../src/wire/proof/stdio-mcp.ts";
import { PI_MODELS, piModels, runOf } from "../agents/real-agents.ts";
import { execIn } from "../helpers/docker-box.ts";
import { type DockerStack, openStack, type Output } from "../helpers/docker-stack.ts";
import { listDrawers } from "../helpers/list-drawers.ts";

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`recreate left out: ${reason}`);

const MODEL_PORT = 18_080;
const RUN_MAX_MS = 300_000;
const FILES_MINED = 400;
const WRITERS = 8;
/** Number of writes that are acknowledged before the action on the stack starts. */
const FIRST_WRITES = 40;
/** Text of a mined file, long enough that the miner does not skip the file. */
const MINED =
  "What the workshop of a small orchestra has to know of an instrument that somebody brought in on a rainy day.";
const MEMORY = { words: "marmalade kettles whistle", mark: "at dawn on shelf four" };
const HISTORY = "~/.zsh_history";

/** Work in progress in the stack. `end` waits until the work has ended, and asserts what must then be true. */
type UnderWay = { end: () => Promise<void> };

describe.skipIf(reason)("the compose stack", () => {
  let stack: DockerStack;
  let workspace: string;
  const acknowledged = new Set<string>();
  let expectedHome: string[] = [];
  let history = 0;
  let cutOff = 0;

  const up = (...args: string[]): Promise<string> =>
    stack.compose("up", "--detach", "--wait", "--wait-timeout", "300", ...args, "devbox");
  const box = (script: string): Promise<Output> => stack.exec("devbox", 1, "sh", "-c", script);
  const good = async (script: string): Promise<string> => {
    const { exitCode, stdout, stderr } = await box(script);
    expect(exitCode, `${script}\n${stdout}\n${stderr}`).toBe(0);
    return stdout;
  };
  const inWing = async (shim: StdioMcp, wing: string): Promise<number> =>
    ((await shim.call("mempalace_list_drawers", { wing, limit: 1 })) as { total: number }).total;

  const ACTIONS: Record<string, (turn: number) => Promise<unknown>> = {
    // `compose restart` does not wait until the broker answers, but `up` does. Without `up` a miner could give up on a busy machine.
    "a restart": async () => {
      await stack.compose("restart");
      await up();
    },
    "down and up": async () => {
      await stack.compose("down");
      await up();
    },
    "a forced recreation": () => up("--force-recreate"),
    "a rebuilt image": async (turn) => {
      await stack.composeWith({ PALACE_REVISION: `turn-${turn}` }, "build");
      await up();
      const { Labels } = (await stack.inspect("broker")).Config;
      expect(Labels["org.opencontainers.image.revision"]).toBe(`turn-${turn}`);
    },
    "a SIGKILL of everything": async () => {
      await execa("docker", ["kill", ...["chroma", "broker", "devbox"].map((name) => `${stack.project}-${name}-1`)]);
      await up();
    },
  };

  const STATES: Record<string, (turn: number) => Promise<UnderWay>> = {
    "under writes": async (turn) => {
      const shim = await stack.shim(1);
      let written = 0;
      const writer = async (name: number): Promise<void> => {
        for (let at = 0; ; at++) {
          const content = `turn ${turn}, writer ${name}, drawer ${at}`;
          await shim.call("mempalace_add_drawer", { wing: "load", room: "matrix", content });
          acknowledged.add(content);
          written++;
        }
      };
      const ended = Promise.allSettled(Array.from({ length: WRITERS }, (_, name) => writer(name)));
      await expect.poll(() => written, { timeout: RUN_MAX_MS }).toBeGreaterThan(FIRST_WRITES);
      return {
        end: async () => {
          // The writers still run if the action did not restart the container. Closing the shim ends them.
          await shim.close();
          await ended;
        },
      };
    },
    "in the middle of a mine": async (turn) => {
      const wing = `mined_${turn}`;
      const mine = `palace mine docs /workspace/${wing} --wing ${wing} --json`;
      const folder = join(workspace, wing);
      mkdirSync(folder);
      for (let file = 0; file < FILES_MINED; file++)
        writeFileSync(
          join(folder, `note-${file}.md`),
          `# Note ${file}\n\n${MINED} It is number ${file} of those of turn ${turn}.\n`,
        );
      let isEnded = false;
      const first = box(mine).finally(() => (isEnded = true));
      const shim = await stack.shim(1);
      await expect.poll(async () => isEnded || (await inWing(shim, wing)) > 0, { timeout: RUN_MAX_MS }).toBe(true);
      await shim.close().catch(() => {});
      return {
        end: async () => {
          if ((await first).exitCode !== 0) cutOff++;
          await good(mine);
          await using after = await stack.shim(1);
          expect(await inWing(after, wing), "files mined once each").toBe(FILES_MINED);
        },
      };
    },
    "in the middle of a backup": async (turn) => {
      // The broker's container writes the backup.
      const at = (script: string): Promise<Output> => stack.exec("broker", 1, "sh", "-c", script);
      const [cut, whole] = [`/var/lib/mempalace/cut-${turn}.tar`, `/var/lib/mempalace/whole-${turn}.tar`];
      const first = at(`palace backup ${cut}`);
      await delay(200);
      return {
        end: async () => {
          if ((await first).exitCode !== 0) cutOff++;
          // The backup's file is whole, or does not exist.
          for (const script of [
            `[ ! -e ${cut} ] || palace verify ${cut}`,
            `palace backup ${whole} && palace verify ${whole} && rm -f ${cut} ${whole}`,
          ])
            expect(await at(script), script).toMatchObject({ exitCode: 0 });
        },
      };
    },
  };

  /** Lists the files of the home, without caches, state and files that change by themselves (WAL, locks, spool, archives). */
  const filesOfHome = async (): Promise<string[]> =>
    (await good("cd ~ && find . -type f -not -path './.cache/*' -not -path './.npm/*' -not -path './.local/state/*'"))
      .split("\n")
      .filter((file) => !/-(wal|shm)$|\.tar|\.zcompdump|\/spool\/|\.lock$/.test(file))
      .sort();

  const ask = (prompt: string): Promise<string[]> =>
    Promise.all(
      AGENTS.map((agent) => {
        const { args, env, input } = runOf(agent, prompt, `http://127.0.0.1:${MODEL_PORT}`);
        return execIn(`${stack.project}-devbox-1`, [agent, ...args], { input, env, timeout: RUN_MAX_MS });
      }),
    );
  const startModel = async (): Promise<void> => {
    await good(`node /workspace/stub-model.ts ${MODEL_PORT} > /tmp/stub-model.log 2>&1 &`);
    await good(
      `curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused http://127.0.0.1:${MODEL_PORT}/seen`,
    );
  };

  beforeAll(async () => {
    workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
    chmodSync(workspace, 0o755);
    copyFileSync(join(ROOT, "test/agents/stub-model.ts"), join(workspace, "stub-model.ts"));
    stack = await openStack(workspace, { isModelTiny: true });
    await up("--build");
    await good(`mkdir -p ~/${dirname(PI_MODELS)}`);
    const models = piModels(`http://127.0.0.1:${MODEL_PORT}`);
    await execIn(`${stack.project}-devbox-1`, ["sh", "-c", `cat > ~/${PI_MODELS}`], { input: models });
    await startModel();
    const drawer = { wing: "agents", room: "one", content: `${MEMORY.words}: ${MEMORY.mark}` };
    const told = await ask(`Remember this:\n@@tool mempalace_add_drawer ${JSON.stringify(drawer)}`);
    for (const answer of told) expect(answer).toMatch(/drawer_id|already/);
    await good("git config --global user.name Ada && mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id");
    expectedHome = await filesOfHome();
  });
  afterAll(async () => {
    await stack?.[Symbol.asyncDispose]();
    if (workspace !== undefined) rmSync(workspace, { recursive: true, force: true });
  });

  const CASES = Object.keys(ACTIONS).flatMap((action) => Object.keys(STATES).map((state) => ({ action, state })));

  test.each(CASES)("a compose stack that is $state loses no data by $action", async ({ action, state }) => {
    const turn = ++history;
    await good(`zsh -ic 'print -s "echo turn ${turn}"; fc -A'`);
    const underWay = await STATES[state]!(turn);
    await ACTIONS[action]!(turn);
    await underWay.end();

    await using shim = await stack.shim(1);
    await expect.poll(() => inWing(shim, "load"), { timeout: RUN_MAX_MS }).toBeGreaterThanOrEqual(acknowledged.size);
    const listed = await listDrawers(shim, "content_preview", "load");
    expect(listed.length, "no drawer twice").toBe(new Set(listed).size);
    expect([...acknowledged].filter((content) => !listed.includes(content))).toEqual([]);
    const home = await filesOfHome();
    expect(expectedHome.filter((file) => !home.includes(file))).toEqual([]);
    expectedHome = home;
    const lines = await good(`grep -oE 'echo turn [0-9]+' ${HISTORY} | sort -u | wc -l`);
    expect(lines.trim()).toBe(String(history));
  });

  test("after all actions each agent in a recreated compose stack finds the memories written before", async () => {
    await startModel();
    const query = { query: MEMORY.words, limit: 1 };
    for (const answer of await ask(`Look it up:\n@@tool mempalace_search ${JSON.stringify(query)}`))
      expect(answer).toContain(MEMORY.mark);
  });

  test("at least one action interrupts work of the compose stack", () => {
    expect(cutOff).toBeGreaterThan(0);
  });
});
