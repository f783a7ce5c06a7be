/** Tools and methods that write the palace, by name. They run inside the transaction on the writer thread. */
import { invariant } from "../../base/invariant.ts";
import type { LedgerTx, WriteCall } from "../port/ledger.ts";
import { deleteBySource, deleteDrawers } from "../drawer/batch.ts";
import { checkpoint } from "../drawer/checkpoint.ts";
import { writeDiary } from "../drawer/diary.ts";
import { addDrawer, deleteDrawer, type RowSize, updateDrawer } from "../drawer/drawer.ts";
import { addFact, invalidateFact, supersedeFact } from "../graph/facts.ts";
import { rebuildLinks } from "../graph/hallways.ts";
import { createTunnel, deleteHallway, deleteTunnel } from "../graph/tunnels.ts";
import { importPart } from "../import/merge.ts";
import { rebuildClosets } from "../source/closet-writes.ts";
import { replaceConversation } from "../source/conversation.ts";
import { addPart } from "../source/source-parts.ts";
import { removeSource, replaceSource } from "../source/source.ts";
import { addMessages } from "../source/sweep.ts";
import { sync } from "../source/sync.ts";

export type WriteSettings = Readonly<RowSize>;

export type Write = (tx: LedgerTx, call: WriteCall, settings: WriteSettings) => unknown;

export const MEMORY_WRITES = {
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
} satisfies Record<string, Write>;

export const MEMORY_METHODS = {
  "source.replace": replaceSource,
  "source.part": addPart,
  "source.remove": removeSource,
  "conversation.replace": replaceConversation,
  "closet.rebuild": rebuildClosets,
  "link.rebuild": rebuildLinks,
  "memory.import": importPart,
  "message.add": addMessages,
} satisfies Record<string, Write>;

/** Returns a function that applies the write with the name of the call's method. */
export function applying(writes: ReadonlyMap<string, Write>, settings: WriteSettings) {
  return (tx: LedgerTx, call: WriteCall): unknown => {
    const write = writes.get(call.method);
    invariant(write, `${call.method} is not a write`);
    return write(tx, call, settings);
  };
}
