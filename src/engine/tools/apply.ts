/**
 * The table of writes: name of a tool or method → what it does to the ledger. Called on the writer thread, inside the
 * transaction.
 */
import { invariant } from "../../platform/invariant.ts";
import type { LedgerTx, WriteCall } from "../../port/ledger.ts";
import type { LogstreamTx } from "../../port/logstream.ts";
import { DRAWER_SIZE } from "../../protocol/limits.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";
import { compressDrawers } from "../closet/compress.ts";
import { deleteBySource, deleteDrawers } from "../drawer/batch.ts";
import { checkpoint } from "../drawer/checkpoint.ts";
import { writeDiary } from "../drawer/diary.ts";
import { addDrawer, deleteDrawer, updateDrawer } from "../drawer/drawer.ts";
import { addFact, invalidateFact, supersedeFact } from "../graph/facts.ts";
import { rebuildLinks } from "../graph/hallways.ts";
import { createTunnel, deleteHallway, deleteTunnel } from "../graph/tunnels.ts";
import { forget, undo } from "../hygiene/hygiene.ts";
import { importPart } from "../import/merge.ts";
import { ageMemories } from "../outcome/retention.ts";
import { answering, SAID } from "../outcome/answer.ts";
import { ofDefault, ofProfile } from "../outcome/apart.ts";
import { addToBank, archiveFact, recordTakeaway, updateFact } from "../outcome/bank.ts";
import { importGraph } from "../outcome/carried-graph.ts";
import { importMemories } from "../outcome/import.ts";
import { ingestBook, removeBook } from "../outcome/library.ts";
import { rewriteMemory } from "../outcome/rewrite.ts";
import { judgeTurn } from "../outcome/judged.ts";
import { scoreMemories } from "../outcome/score.ts";
import { beginTurn, endTurn } from "../outcome/turn.ts";
import { asTyped } from "../text/validate.ts";
import { applyToLog, isLogWrite, logRefusal } from "../events/log-tools.ts";
import { rebuildClosets } from "../source/closet-writes.ts";
import { replaceConversation } from "../source/conversation.ts";
import { addPart } from "../source/source-parts.ts";
import { removeSource, replaceSource } from "../source/source.ts";
import { addMessages } from "../source/sweep.ts";
import { sync } from "../source/sync.ts";
import { Looked, NOTHING } from "./nothing.ts";

/** Settings of the broker's machine for all writes. */
export type WriteSettings = Readonly<{
  /** Characters of a row: longer text of an agent is cut. */
  drawerSize: number;
}>;

const USUAL: WriteSettings = { drawerSize: DRAWER_SIZE };

type Write = (tx: LedgerTx, call: WriteCall, settings: WriteSettings) => unknown;

const TOOLS: Readonly<Record<ToolsWith<{ kind: "write"; keeper: "palace" }>, Write>> = {
  add_drawer: addDrawer,
  update_drawer: updateDrawer,
  delete_drawer: deleteDrawer,
  delete_drawers: deleteDrawers,
  delete_by_source: deleteBySource,
  checkpoint,
  sync,
  diary_write: writeDiary,
  kg_add: addFact,
  kg_invalidate: invalidateFact,
  kg_supersede: supersedeFact,
  create_tunnel: createTunnel,
  delete_tunnel: deleteTunnel,
  delete_hallway: deleteHallway,
  add_to_memory_bank: ofDefault(answering(addToBank, SAID.added)),
  update_memory: ofDefault(answering(updateFact, SAID.updated)),
  delete_memory: ofDefault(answering(archiveFact, SAID.archived)),
  record_response: ofDefault(answering(recordTakeaway, SAID.recorded)),
  score_memories: ofDefault(answering(scoreMemories, SAID.scored)),
};

const METHODS = {
  "source.replace": replaceSource,
  "source.part": addPart,
  "source.remove": removeSource,
  "conversation.replace": replaceConversation,
  "closet.rebuild": rebuildClosets,
  "closet.compress": compressDrawers,
  "link.rebuild": rebuildLinks,
  "memory.forget": forget,
  "memory.undo": undo,
  "memory.import": importPart,
  "message.add": addMessages,
  "book.ingest": ofProfile(ingestBook),
  "book.remove": ofProfile(removeBook),
  "outcome.import": ofProfile(importMemories),
  "outcome.importGraph": ofDefault(importGraph),
  "turn.begin": ofProfile(beginTurn),
  "turn.end": ofProfile(endTurn),
  "turn.judge": typed(ofProfile(judgeTurn)),
  "fact.add": typed(ofProfile(addToBank)),
  "fact.update": typed(ofProfile(updateFact)),
  "fact.archive": typed(ofProfile(archiveFact)),
  "outcome.record": typed(ofProfile(recordTakeaway)),
  "outcome.score": typed(ofProfile(scoreMemories)),
  "outcome.rewrite": typed(ofProfile(rewriteMemory)),
} satisfies Partial<Record<MethodName, Write>>;

/** Wraps a write that is also an agent's tool, for a method of our own: its clients expect error codes. Errors: PROTOCOL_BAD_PARAMS. */
function typed(write: Write): Write {
  return (tx, call, settings) => {
    try {
      return write(tx, call, settings);
    } catch (error) {
      throw asTyped(error);
    }
  };
}

export type WriteMethod = keyof typeof METHODS;

/** Writes that only the broker itself makes; no peer can ask for them. */
const OWN: Readonly<Record<string, Write>> = { "memory.age": ofProfile(ageMemories) };

const WRITES: Readonly<Record<string, Write>> = { ...TOOLS, ...METHODS, ...OWN };

/** For our own methods only; a tool's row in the table tells its kind. */
export function isWriteMethod(method: string): boolean {
  return Object.hasOwn(METHODS, method);
}

/** Errors: InvalidValue and whatever the transaction throws; the caller then rolls the write back. */
export function applyWrite(tx: LedgerTx, call: WriteCall, settings: WriteSettings = USUAL): unknown {
  const write = Object.hasOwn(WRITES, call.method) ? WRITES[call.method] : undefined;
  invariant(write, `${call.method} is not a write`);
  return write(tx, call, settings);
}

/**
 * Returns the answer that this write gives for any palace, from its arguments alone; `undefined` if it depends on the palace. The code of
 * the write itself decides. Errors: InvalidValue, WrongType.
 */
export function answerWithoutPalace(call: WriteCall): { value: unknown } | undefined {
  const isForLog = isLogWrite(call.method);
  try {
    return { value: isForLog ? applyToLog(NO_LOG, call) : applyWrite(NO_PALACE, call) };
  } catch (error) {
    if (error instanceof Looked) return undefined;
    const refusal = isForLog ? logRefusal(error) : undefined;
    if (refusal !== undefined) return { value: refusal };
    throw error;
  }
}

const NO_PALACE = NOTHING as LedgerTx;
const NO_LOG = NOTHING as LogstreamTx;
