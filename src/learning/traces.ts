/** Lists for `forget` the data about drawers and texts that src/learning stores. */
import type { Traces } from "../memory/port/ledger.ts";
import { fileOfEntry } from "./import/roampal-graph.ts";
import { concepts } from "./question/concepts.ts";
import { conceptNumber } from "./question/question.ts";
import { findShown } from "./memory/as-drawer.ts";

export const LEARNING_TRACES: Traces = {
  idNow: (tx, id) => findShown(tx, id)?.id,
  conceptsOf: (text) => {
    const words = concepts(text);
    return { words, concepts: words.map(conceptNumber) };
  },
  fileOf: fileOfEntry,
};
