/**
 * The table of writes: name of a tool or method → what it does to the ledger. Called on the writer thread, inside the
 * transaction.
 */
import { invariant } from "../../base/invariant.ts";
import type { LedgerTx, WriteCall } from "../../memory/port/ledger.ts";
import { DRAWER_SIZE } from "../../protocol/limits.ts";
import type { MethodName } from "../../protocol/spec.ts";
import type { ToolsWith } from "../../protocol/tools/table.ts";
import { compressDrawers } from "../../mempalace/aaak/compress.ts";
import { deleteBySource, deleteDrawers } from "../../memory/drawer/batch.ts";
import { checkpoint } from "../../memory/drawer/checkpoint.ts";
import { writeDiary } from "../../memory/drawer/diary.ts";
import { addDrawer, deleteDrawer, updateDrawer } from "../../memory/drawer/drawer.ts";
import { addFact, invalidateFact, supersedeFact } from "../../memory/graph/facts.ts";
import { rebuildLinks } from "../../memory/graph/hallways.ts";
import { createTunnel, deleteHallway, deleteTunnel } from "../../memory/graph/tunnels.ts";
import { forget, undo } from "../../memory/hygiene/hygiene.ts";
import { importPart } from "../../memory/import/merge.ts";
import { ageMemories } from "../../learning/retention.ts";
import { answering, SAID } from "../../learning/answer.ts";
import { ofDefault, ofProfile } from "../../learning/apart.ts";
import { addToBank, archiveFact, recordTakeaway, updateFact } from "../../learning/bank.ts";
import { importGraph } from "../../learning/carried-graph.ts";
import { importMemories } from "../../learning/import.ts";
import { ingestBook, removeBook } from "../../learning/library.ts";
import { rewriteMemory } from "../../learning/rewrite.ts";
import { judgeTurn } from "../../learning/judged.ts";
import { scoreMemories } from "../../learning/score.ts";
import { beginTurn, endTurn } from "../../learning/turn.ts";
import { asTyped } from "../../memory/text/validate.ts";
import { rebuildClosets } from "../../memory/source/closet-writes.ts";
import { replaceConversation } from "../../memory/source/conversation.ts";
import { addPart } from "../../memory/source/source-parts.ts";
import { removeSource, replaceSource } from "../../memory/source/source.ts";
import { addMessages } from "../../memory/source/sweep.ts";
import { sync } from "../../memory/source/sync.ts";

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
