/** Table of writes by the name of the tool or method. They run on the writer thread, inside the transaction. */
import { LEARNING_METHODS, LEARNING_OWN_WRITES, LEARNING_WRITES } from "../../learning/tools.ts";
import { LEARNING_TRACES } from "../../learning/traces.ts";
import { forget, undo } from "../../memory/hygiene/hygiene.ts";
import type { LedgerTx, WriteCall } from "../../memory/port/ledger.ts";
import { applying, MEMORY_METHODS, MEMORY_WRITES, type Write, type WriteSettings } from "../../memory/tools/writes.ts";
import { AAAK_METHODS } from "../../mempalace/tools.ts";
import { asTyped } from "../../memory/text/validate.ts";
import { DRAWER_SIZE } from "../../protocol/limits.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";

const TOOLS: Readonly<Record<ToolsWith<{ kind: "write"; keeper: "palace" }>, Write>> = {
  ...MEMORY_WRITES,
  ...LEARNING_WRITES,
};

const METHODS = {
  ...MEMORY_METHODS,
  ...LEARNING_METHODS,
  ...AAAK_METHODS,
  "memory.forget": (tx: LedgerTx, call: WriteCall) => forget(tx, call, LEARNING_TRACES),
  "memory.undo": (tx: LedgerTx, call: WriteCall) => undo(tx, call, LEARNING_TRACES),
} satisfies Partial<Record<MethodName, Write>>;

export type WriteMethod = keyof typeof METHODS;

/** Tools that answer only after their fact is in MemPalace's graph file, unless other writes wait in the queue. */
export const FACT_WRITES: ReadonlySet<string> = new Set<keyof typeof TOOLS>([
  "kg_add",
  "kg_invalidate",
  "kg_supersede",
]);

/** Returns true for a method of our own that writes; for tools, see `kind` in the tool table. */
export function isWriteMethod(method: string): boolean {
  return Object.hasOwn(METHODS, method);
}

/** Makes a write throw PROTOCOL_BAD_PARAMS, as our own methods do, in place of InvalidValue, which tools throw. */
function typed(write: Write): Write {
  return (...given) => {
    try {
      return write(...given);
    } catch (error) {
      throw asTyped(error);
    }
  };
}

const WRITES: ReadonlyMap<string, Write> = new Map([
  ...Object.entries<Write>({ ...TOOLS, ...LEARNING_OWN_WRITES }),
  ...Object.entries<Write>(METHODS).map(([name, write]): [string, Write] => [name, typed(write)]),
]);

/** Returns the function that applies any write. The caller rolls back a write that throws an error. */
export const writesWith = (settings: WriteSettings) => applying(WRITES, settings);

export const applyWrite = writesWith({ drawerSize: DRAWER_SIZE });
