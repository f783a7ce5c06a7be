/**
 * The real pi, opencode and Claude Code, wired as a devbox wires them, against a stub model: on this machine and in the image.
 * Each writes one memory once, then each looks for all three; what it answers is what its user sees.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Agent, AGENTS } from "../../scripts/agents.ts";
import { engineMissing } from "../../scripts/engine.ts";
import type { StdioMcp } from "../../src/bin/proof/stdio-mcp.ts";
import { openStack } from "../helpers/docker-stack.ts";
import { openAgentsHome } from "./on-host.ts";
import { MODEL_OF, PI_MODELS, piModels, PREFIX_OF, type Run, runOf } from "./real-agents.ts";
import { type Seen, startStubModel } from "./stub-model.ts";

type Place = AsyncDisposable & {
  url: string;
  run: (agent: Agent, run: Run) => Promise<string>;
  seen: () => Promise<Seen>;
  shim: () => Promise<StdioMcp>;
  /** Makes the container anew, as `docker compose up --force-recreate` does; `sh` runs a script in it. In a devbox alone. */
  box?: { recreate: () => Promise<void>; sh: (script: string) => Promise<{ stdout: string }> };
};

const RUN_MAX_MS = 300_000;
const BOX_PORT = 18_080;
const WAKE_UP_TRIES = 8;
/** Of a user's, beside the agents: the root folder is read-only, so that whatever works writes to a volume or to /tmp. */
const A_DAY = `set -e
git config --global user.name Ada
mkdir -p ~/.ssh && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
git init -q ~/tool && cd ~/tool && git -c user.email=ada@example.org commit -q --allow-empty -m first
npm init -y > /dev/null && npm install --global --offline . > /dev/null
zsh -ic 'print -s "echo a line of history"; fc -W'`;
/** Without what is a cache by its name. */
const FILES_OF_HOME =
  "cd ~ && find . -type f -not -path './.cache/*' -not -path './.npm/*' -not -name '*-wal' -not -name '*-shm' | sort";
const PAIRS = AGENTS.flatMap((writer) => AGENTS.map((reader) => ({ writer, reader })));

/** The words are asked for; the mark is not, so that it can only come from the memory. */
const MEMORIES: Record<Agent, { words: string; mark: string }> = {
  pi: { words: "marmalade kettles whistle", mark: randomUUID() },
  opencode: { words: "glaciers polish granite", mark: randomUUID() },
  claude: { words: "violins remember orchards", mark: randomUUID() },
};

async function onHost(): Promise<Place> {
  const model = await startStubModel();
  const url = `http://127.0.0.1:${model.port}`;
  const home = await openAgentsHome(url);
  return {
    url,
    run: async (agent, run) => String((await home.start(agent, run)).stdout),
    seen: () => Promise.resolve(model.seen()),
    shim: () => home.palace.shim(),
    [Symbol.asyncDispose]: async () => {
      await home[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

/** With nothing but a loopback: once it stands, the devbox is taken off its network. */
async function inDevbox(): Promise<Place> {
  const workspace = mkdtempSync(join(tmpdir(), "palace-workspace-"));
  chmodSync(workspace, 0o755);
  copyFileSync(join(import.meta.dirname, "stub-model.ts"), join(workspace, "stub-model.ts"));
  const stack = await openStack(workspace);
  const container = `${stack.project}-devbox-1`;
  const url = `http://127.0.0.1:${BOX_PORT}`;
  const sh = (script: string, input = ""): Promise<{ stdout: string }> =>
    execa("docker", ["exec", "-i", container, "sh", "-c", script], { input });
  const close = async (): Promise<void> => {
    await stack[Symbol.asyncDispose]();
    rmSync(workspace, { recursive: true, force: true });
  };
  const start = async (...options: string[]): Promise<void> => {
    await stack.compose("up", "--detach", "--wait", ...options, "devbox");
    await execa("docker", ["network", "disconnect", `${stack.project}_default`, container]);
    await sh(`node /workspace/stub-model.ts ${BOX_PORT} > /tmp/stub-model.log 2>&1 &`);
    await sh(`curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused ${url}/seen`);
  };
  try {
    await start("--build");
    await sh(`cat > ~/${PI_MODELS}`, piModels(url));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url,
    run: async (agent, { args, env, input }) => {
      const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
      const command = ["exec", "-i", ...variables, container, agent, ...args];
      return (await execa("docker", command, { input, timeout: RUN_MAX_MS })).stdout;
    },
    seen: async () => JSON.parse((await sh(`curl --silent --fail ${url}/seen`)).stdout) as Seen,
    shim: () => stack.shim(1),
    box: { sh, recreate: () => start("--force-recreate", "--no-deps") },
    [Symbol.asyncDispose]: close,
  };
}

const reason = engineMissing(process.env);
if (reason !== undefined) console.warn(`agents in the devbox left out: ${reason}`);

describe.each([
  { title: "on this machine", open: onHost, left: undefined },
  { title: "in the devbox, without a network", open: inDevbox, left: reason },
])("the real agents $title", ({ open, left }) => {
  describe.skipIf(left)("share one memory", () => {
    let place: Place;
    const answers = {} as Record<Agent, string>;

    /** All three at once, as they are on a developer's machine. */
    const ask = (lines: (agent: Agent) => string[]): Promise<void[]> =>
      Promise.all(
        AGENTS.map(async (agent) => {
          const prompt = ["Use the memory as told:", ...lines(agent)].join("\n");
          answers[agent] = await place.run(agent, runOf(agent, prompt, place.url));
        }),
      );

    beforeAll(async () => {
      place = await open();
      await ask((agent) => {
        const { words, mark } = MEMORIES[agent];
        const drawer = { wing: "agents", room: agent, content: `${words}: ${mark}` };
        return [`@@tool mempalace_add_drawer ${JSON.stringify(drawer)}`];
      });
      for (const agent of AGENTS) expect(answers[agent], agent).toContain("drawer_id");
      await ask(() =>
        AGENTS.map(
          (writer) => `@@tool mempalace_search ${JSON.stringify({ query: MEMORIES[writer].words, limit: 1 })}`,
        ),
      );
    });
    afterAll(async () => await place?.[Symbol.asyncDispose]());

    test.each(PAIRS)("what $writer wrote, $reader finds", ({ writer, reader }) => {
      expect(answers[reader]).toContain(MEMORIES[writer].mark);
    });

    test.each(AGENTS)("a fresh session of %s is told once what the memory knows", async (agent) => {
      const fences = async (): Promise<number> => {
        await place.run(agent, runOf(agent, "Say hello", place.url));
        return (await place.seen()).fences[MODEL_OF[agent]] ?? 0;
      };
      let told = await fences();
      // A hook that is late says nothing: a slow machine has more than one try.
      for (let again = 0; again < WAKE_UP_TRIES && told === 0; again++) told = await fences();
      expect(told).toBe(1);
    });

    if (open === inDevbox)
      test("what a day leaves behind is there when the box is made anew, and its agents find what they wrote", async () => {
        const { box } = place;
        expect(box).toBeDefined();
        if (box === undefined) return;
        await box.sh(A_DAY);
        const files = async (): Promise<string[]> => (await box.sh(FILES_OF_HOME)).stdout.split("\n");
        const before = await files();
        for (const of of [
          ".zsh_history",
          ".gitconfig",
          ".ssh/id_ed25519",
          ".claude.json",
          ".pi/agent/sessions/",
          "opencode.db",
        ])
          expect(before.join("\n")).toContain(of);
        await box.recreate();
        const after = new Set(await files());
        expect(before.filter((file) => !after.has(file))).toEqual([]);
        const [writer] = AGENTS;
        await ask(() => [`@@tool mempalace_search ${JSON.stringify({ query: MEMORIES[writer].words, limit: 1 })}`]);
        for (const agent of AGENTS) expect(answers[agent], agent).toContain(MEMORIES[writer].mark);
      });

    test.each(AGENTS)("the model of %s sees the server's own tools, each with its schema", async (agent) => {
      await using shim = await place.shim();
      type Listed = { tools: { name: string; description: string; inputSchema: object }[] };
      const { tools } = (await shim.request("tools/list", {})) as Listed;
      expect(tools.length).toBeGreaterThan(20);
      const seen = (await place.seen()).tools[MODEL_OF[agent]] ?? [];
      // opencode closes every schema against properties that it does not name, and changes nothing else.
      const own = agent === "opencode" ? { additionalProperties: false } : {};
      const byName = new Map(seen.map((tool) => [tool.name, tool]));
      for (const { name, inputSchema } of tools)
        expect(byName.get(`${PREFIX_OF[agent]}${name}`)?.schema, name).toEqual({ ...inputSchema, ...own });
      expect((await place.seen()).unknown.filter((path) => !path.startsWith("HEAD "))).toEqual([]);
    });
  });
});
