/** Measures the time from a headless agent's start to its answer, with and without the memory. The model answers at once. */
import { once } from "node:events";
import { type Agent, AGENTS } from "../../scripts/agents.ts";
import { type AgentsHome, openAgentsHome } from "../agents/on-host.ts";
import { MODEL_OF, runOf } from "../agents/real-agents.ts";
import { ANSWER, type Seen, startStubModel, type StubModel } from "../agents/stub-model.ts";
import { atMost, median, type Row } from "./measure.ts";

const COLD_ROUNDS = 3;
const WARM_ROUNDS = 7;
/** Maximum ratios of the time with the memory to the time without. Claude Code starts fast and runs two hooks, so its ratio is large. */
const BARS: Record<Agent, { cold: number; warm: number }> = {
  pi: { cold: 5, warm: 2.5 },
  opencode: { cold: 2, warm: 1.5 },
  claude: { cold: 6, warm: 4 },
};

type Times = { memory: number[]; bare: number[] };

export async function bench(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const agent of AGENTS) rows.push(...(await benchAgent(agent)));
  return rows;
}

async function benchAgent(agent: Agent): Promise<Row[]> {
  await using model = await startStubModel();
  const cold: Times = { memory: [], bare: [] };
  const warm: Times = { memory: [], bare: [] };
  for (let round = 0; round < COLD_ROUNDS; round++) {
    const url = `http://127.0.0.1:${model.port}`;
    await using memory = await openAgentsHome(url, { isWired: true, built: true });
    await using bare = await openAgentsHome(url, { isWired: false, built: true });
    const both = async (times: Times): Promise<void> => {
      times.memory.push(await ask(agent, memory, model, true));
      times.bare.push(await ask(agent, bare, model, false));
    };
    await both(cold);
    if (round === COLD_ROUNDS - 1) for (let later = 0; later < WARM_ROUNDS; later++) await both(warm);
  }
  return [
    row(`${agent}: first prompt in a home`, cold, BARS[agent].cold),
    row(`${agent}: first prompt of a session`, warm, BARS[agent].warm),
  ];
}

/** Returns the time until the answer, ms. */
async function ask(agent: Agent, home: AgentsHome, model: StubModel, hasMemory: boolean): Promise<number> {
  const url = `http://127.0.0.1:${model.port}`;
  const startedAt = performance.now();
  const run = home.start(agent, runOf(agent, "Say hello", url));
  if (run.stdout === null) throw new Error("stdout is not piped");
  await once(run.stdout, "data");
  const tookMs = performance.now() - startedAt;
  const { stdout } = await run;
  if (!String(stdout).includes(ANSWER)) throw new Error(`${agent} said: ${String(stdout)}`);
  const seen = (await (await fetch(`${url}/seen`)).json()) as Seen;
  const tools = seen.tools[MODEL_OF[agent]] ?? [];
  if (tools.some(({ name }) => name.endsWith("mempalace_search")) !== hasMemory)
    throw new Error(`${agent} ${hasMemory ? "had no" : "had a"} memory`);
  return tookMs;
}

function row(name: string, times: Times, bar: number): Row {
  const [memory, bare] = [median(times.memory), median(times.bare)];
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  return atMost(`${name}, with the memory / without`, memory / bare, bar, `${seconds(memory)} / ${seconds(bare)}`);
}
