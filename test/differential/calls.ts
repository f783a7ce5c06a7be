/** Makes the seeded calls of the differential test. `@<step>@` in a call means the id from that step's answer. */
import { Chooser } from "../fuzz/chooser.ts";
import type { MempalaceVersion } from "../helpers/python-mempalace.ts";
import { seededRandom } from "../helpers/random.ts";
import { closing, graphCalls, opening } from "./fixed-calls.ts";
import { GRAPH_ROWS } from "./graph-rows.ts";
import { LOG_ROWS } from "./log-rows.ts";
import { ROWS } from "./tool-rows.ts";

export type Call = {
  step: number;
  tool: string;
  args: unknown;
  /** Additional arguments for our server only. */
  own?: Record<string, unknown>;
  /** Text of the notice that a hook wrote just before the call, for memories_filed_away. */
  notice?: string;
};

export type Filed = { ref: string; isSplit: boolean; slices: number };

/** Expected state after the calls made so far. All calls are made before the first answer exists, so this state is a guess. */
export class World {
  readonly choose: Chooser;
  readonly version: MempalaceVersion;
  /** Valid calls of add_drawer, including those whose drawer was deleted later. */
  readonly filed: Filed[] = [];
  readonly diaries: string[] = [];
  readonly contents: string[] = [];
  /** Ids of tunnels that earlier calls may have made. */
  readonly tunnels: string[] = [];
  /** Ids of events, artifacts and tasks that earlier calls have probably made. */
  readonly events: string[] = [];
  readonly artifacts: string[] = [];
  readonly tasks: string[] = [];
  step = 0;

  constructor(seed: number, version: MempalaceVersion) {
    this.choose = new Chooser(seededRandom(seed));
    this.version = version;
  }

  get isNew(): boolean {
    return this.version !== "3.3.6";
  }
}

/**
 * Row of ROWS (tool-rows.ts) for one tool. `weight`: how often the tool is called relative to others. `since`: first version with the tool.
 */
export type ToolRow = {
  weight: number;
  since?: "3.11.0";
  make: (world: World) => Record<string, unknown>;
  own?: (world: World) => Record<string, unknown>;
};

/** Makes invalid arguments: an unknown key, a missing required key, or a value that is not an object. */
function bend(world: World, args: Record<string, unknown>): unknown {
  const { choose } = world;
  const keys = Object.keys(args);
  const without = (key: string): object => Object.fromEntries(Object.entries(args).filter(([name]) => name !== key));
  switch (choose.below(5)) {
    case 0:
      return { ...args, bogus: 1 };
    case 1:
      return { ...args, "x y": null, zz: [] };
    case 2:
      return { ...args, wait_for_previous: true };
    case 3:
      return keys.length === 0 ? args : without(choose.pick(keys));
    default:
      return null;
  }
}

/** Makes `count` calls of drawers, searches and diaries, then a third as many each of the graph and of the coordination log. */
export function makeCalls(seed: number, count: number, version: MempalaceVersion): Call[] {
  const world = new World(seed, version);
  const calls: Call[] = opening(version).map((call, index) => ({ ...call, step: index }));
  const last = closing(version);
  // Drawers of the opening calls, for which later calls may ask.
  world.filed.push({ ref: "@2@", isSplit: false, slices: 1 }, { ref: "@4@", isSplit: true, slices: 3 });
  const isOf = (rows: object) => (row: [string, ToolRow]) => Object.hasOwn(rows, row[0]);
  const [isGraph, isLog] = [isOf(GRAPH_ROWS), isOf(LOG_ROWS)];
  const rows = Object.entries(ROWS);
  draw(
    world,
    calls,
    rows.filter((row) => !isGraph(row) && !isLog(row)),
    count - calls.length - last.length,
  );
  draw(world, calls, rows.filter(isGraph), Math.ceil(count / 3));
  if (world.isNew) draw(world, calls, rows.filter(isLog), Math.ceil(count / 3));
  const graph = graphCalls().map((call, index) => ({ ...call, step: calls.length + index }));
  calls.push(...graph);
  return [...calls, ...last.map((call, index) => absolute({ ...call, step: calls.length + index }))];
}

function draw(world: World, calls: Call[], all: readonly [string, ToolRow][], count: number): void {
  const rows = all.filter(([, row]) => world.isNew || row.since === undefined);
  const weights = rows.flatMap(([tool, { weight }]) => Array.from({ length: weight }, () => tool));
  for (const end = calls.length + count; calls.length < end;) {
    world.step = calls.length;
    const tool = world.choose.chance(0.01) ? "no_such_tool" : world.choose.pick(weights);
    const args = ROWS[tool]?.make(world) ?? {};
    const own = ROWS[tool]?.own?.(world) ?? {};
    const notice =
      tool === "memories_filed_away"
        ? world.choose.pick([undefined, '{"msgs":7,"ts":"2026-11-22T10:00:00"}', "{}", "no json"])
        : undefined;
    calls.push({
      step: world.step,
      tool,
      args: world.choose.chance(0.04) ? bend(world, args) : args,
      ...(Object.keys(own).length > 0 && { own }),
      ...(notice !== undefined && { notice }),
    });
  }
}

function absolute(call: Call): Call {
  const text = JSON.stringify(call).replaceAll(/@-(\d+)@/g, (_, back: string) => `@${call.step - Number(back)}@`);
  return JSON.parse(text) as Call;
}
