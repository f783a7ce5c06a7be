/** Functions with which `forget` finds the data that src/learning stores about drawers and texts. */
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
