/** Table of reads: the function for each tool's name. The functions run on the broker's main thread. */
import { LEARNING_FINDINGS, LEARNING_READS } from "../../learning/tools.ts";
import type { OwnSearches, Searches } from "../../learning/search/recent-searches.ts";
import { InvalidValue } from "../../memory/text/validate.ts";
import { MEMORY_FINDINGS, MEMORY_READS, type MemoryContext, withAdoption } from "../../memory/tools/reads.ts";
import { PALACE_FILE_READS, type SettingsStore } from "../../mempalace/tools.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";

export type ReadContext = MemoryContext & {
  settings: SettingsStore;
  searches: Searches;
};

/** Context of one call. `own`: recent searches of the calling agent. */
export type AgentContext = ReadContext & { own: OwnSearches };

type Arguments = Record<string, unknown>;
type ReadTool = (context: AgentContext, values: Arguments) => unknown;
type PalaceRead = ToolsWith<{ kind: "read"; keeper: "palace" }>;

const TOOLS: Readonly<Record<PalaceRead, ReadTool>> = { ...MEMORY_READS, ...LEARNING_READS, ...PALACE_FILE_READS };

/** Runs a read. Errors: any; the caller answers with -32000. */
export async function runReadTool(context: AgentContext, name: PalaceRead, values: Arguments): Promise<unknown> {
  try {
    return withAdoption(context, await TOOLS[name](context, values));
  } catch (error) {
    if (error instanceof InvalidValue) return { error: error.message };
    throw error;
  }
}

type Prepared = ToolsWith<{ isPrepared: true }> | Extract<MethodName, "fact.update" | "fact.archive" | "outcome.score">;

/** Functions that run on this thread before a write, for the few writes that need their results. */
const FINDINGS: Readonly<Record<Prepared, ReadTool>> = { ...MEMORY_FINDINGS, ...LEARNING_FINDINGS };

export function needsFindings(method: string): method is Prepared {
  return Object.hasOwn(FINDINGS, method);
}

export async function prepareWrite(context: AgentContext, method: Prepared, values: Arguments): Promise<unknown> {
  return FINDINGS[method](context, values);
}
