/**
 * Table of writes: the function for each tool's or method's name, which changes the ledger. Each wing has its own functions. Runs on the
 * writer thread, inside the transaction.
 */
import { invariant } from "../../base/invariant.ts";
import { LEARNING_METHODS, LEARNING_OWN_WRITES, LEARNING_WRITES } from "../../learning/tools.ts";
import { LEARNING_TRACES } from "../../learning/traces.ts";
import { forget, undo } from "../../memory/hygiene/hygiene.ts";
import type { LedgerTx, WriteCall } from "../../memory/port/ledger.ts";
import { MEMORY_METHODS, MEMORY_WRITES, type WriteSettings } from "../../memory/tools/writes.ts";
import { AAAK_METHODS } from "../../mempalace/tools.ts";
import { asTyped } from "../../memory/text/validate.ts";
import { DRAWER_SIZE } from "../../protocol/limits.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";

const USUAL: WriteSettings = { drawerSize: DRAWER_SIZE };

type Write = (tx: LedgerTx, call: WriteCall, settings: WriteSettings) => unknown;

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

const WRITES: Readonly<Record<string, Write>> = { ...TOOLS, ...METHODS, ...LEARNING_OWN_WRITES };

/** Returns true if one of our own methods is a write. The kind of a tool is in its row of the tool table. */
export function isWriteMethod(method: string): boolean {
  return Object.hasOwn(METHODS, method);
}

/**
 * Applies a write. Errors: InvalidValue of a tool, PROTOCOL_BAD_PARAMS of a method of our own, and any error of the transaction. The caller
 * then rolls the write back.
 */
export function applyWrite(tx: LedgerTx, call: WriteCall, settings: WriteSettings = USUAL): unknown {
  const write = Object.hasOwn(WRITES, call.method) ? WRITES[call.method] : undefined;
  invariant(write, `${call.method} is not a write`);
  try {
    return write(tx, call, settings);
  } catch (error) {
    throw isWriteMethod(call.method) ? asTyped(error) : error;
  }
}
