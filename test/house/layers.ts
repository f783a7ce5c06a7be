/**
 * Who may import whom, as one table: imports follow the arrows and never return. oxlint.config.ts turns it into
 * lint rules for the editor; layers.test.ts reads the imports itself and holds the same table, dynamic imports included.
 */

export type Layer = {
  /** Folders of src it may import, besides itself. */
  mayImport: readonly string[];
  /** Files of other folders it may import, although the folder as a whole is closed to it. */
  mayImportFiles: readonly string[];
  /** Node modules it may not touch. */
  closedNode: readonly string[];
};

const FOUNDATION = ["platform", "protocol"];
const CLIENT_SIDE = ["client", "shim", "feeder", "harness", "install", "bridge", "transport"];
const NO_IO = ["node:fs", "node:fs/promises", "node:net", "node:http", "node:child_process", "node:process", "node:os"];

export const LAYERS: Readonly<Record<string, Layer>> = {
  protocol: layer([]),
  platform: layer(["protocol"]),
  config: layer(FOUNDATION, { closedNode: ["node:net", "node:http", "node:child_process"] }),
  // Shapes and contracts that engine, broker and the stores share; no behaviour.
  port: layer(FOUNDATION, { closedNode: NO_IO }),
  // What makes an acknowledgement true: the one SQLite file.
  ledger: layer([...FOUNDATION, "port"], { closedNode: ["node:net"] }),
  // What makes a search true: words, vectors, the model.
  index: layer([...FOUNDATION, "port", "ledger"], { closedNode: ["node:net"] }),
  // One file of everything that cannot be made again, and a palace put back from it.
  backup: layer([...FOUNDATION, "ledger"], { closedNode: ["node:net"] }),
  // MemPalace's coordination log: one more file of its own, whose only keeper it is. Keys and refusals are as the ledger has them.
  logstream: layer([...FOUNDATION, "port", "ledger"], { closedNode: ["node:net"] }),
  // MemPalace's own files. Delete this folder and the memory is still whole.
  "public-palace": layer([...FOUNDATION, "port", "ledger", "index"], { closedNode: ["node:net"] }),
  // Palace rules only: whatever they need from outside comes in through the port.
  engine: layer([...FOUNDATION, "port"], { closedNode: NO_IO }),
  transport: layer(FOUNDATION),
  broker: layer([...FOUNDATION, "engine", "port", "transport"], {
    // A restore that was killed is finished before anything is opened.
    mayImportFiles: ["backup/swap.ts"],
  }),
  // What a call refuses by its arguments alone, and a drawer's id: for agents while there is no broker.
  client: layer([...FOUNDATION, "transport"], {
    mayImportFiles: ["engine/drawer/drawer.ts", "engine/tools/arguments.ts", "engine/tools/apply.ts"],
  }),
  // Between machines: an SSH connection on one side of it, the client's discovery on the other.
  bridge: layer([...FOUNDATION, "client", "transport"]),
  // `transport` for the line framing: stdio is one more byte stream.
  shim: layer([...FOUNDATION, "client", "transport"]),
  // Text as upstream's Python sees it: transcripts are cut into drawers before they are sent.
  feeder: layer([...FOUNDATION, "client"], {
    // What looks like a name to the engine does so to `init`.
    mayImportFiles: [
      "engine/text/text.ts",
      "engine/closet/common-words.ts",
      "engine/closet/name-words.ts",
      "engine/closet/product-names.ts",
    ],
    closedNode: ["node:net", "node:http"],
  }),
  // Settings of other programs on this machine; nothing of a palace.
  install: layer(FOUNDATION, { closedNode: ["node:net", "node:http", "node:child_process"] }),
  // Inside or beside the agents. What is copied into an agent's folder reads its few variables itself.
  harness: layer([...FOUNDATION, "client"], {
    mayImportFiles: ["config/env.ts", "config/harness.ts", "config/harness-env.ts"],
    closedNode: ["node:net", "node:http"],
  }),
  // The compose stack from outside, through the engine's own API; a copy of its memory is read through as any backup.
  devbox: layer([...FOUNDATION, "backup"], { closedNode: ["node:net", "node:http"] }),
  // Looks into a palace before adoption; reads and writes a Roampal's folder on the user's own machine; marks matching words
  // by the rules of the index; compares a spooled exchange with memories.
  bin: layer([...FOUNDATION, ...CLIENT_SIDE, "backup", "config", "broker", "devbox"], {
    mayImportFiles: [
      "public-palace/adopt/survey.ts",
      "public-palace/adopt/as-ledger.ts",
      "public-palace/roampal/source.ts",
      "public-palace/roampal/target.ts",
      "engine/outcome/exchange.ts",
      "index/lexical/query.ts",
      "index/lexical/stem.ts",
      "index/lexical/tokens.ts",
    ],
  }),
};

/** The rooms of `engine`, from above: a room imports those of later lines alone, and none beside it. */
export const ENGINE_ROOMS: readonly (readonly string[])[] = [
  ["tools"],
  ["hygiene", "import", "search", "source", "events"],
  ["outcome"],
  ["graph", "closet"],
  ["drawer"],
  ["text"],
];

/** Where broker, engine and stores are wired together; nothing else of broker sees an implementation of a store. */
export const COMPOSITION_ROOTS: readonly string[] = [
  "broker/palace/palace.ts",
  "broker/palace/ledger.ts",
  "broker/palace/indexes.ts",
  "broker/palace/public-palace.ts",
  "broker/palace/driver.ts",
  "broker/palace/maintenance.ts",
  "broker/palace/backups.ts",
  "broker/palace/model.ts",
  "broker/palace/writer-thread.ts",
  "broker/palace/logstream.ts",
  "broker/palace/logstream-thread.ts",
];
export const COMPOSITION_ROOTS_MAY_IMPORT: readonly string[] = [
  "ledger",
  "logstream",
  "index",
  "public-palace",
  "backup",
];

/** Called by entry points alone; everybody else may import its types, which leave nothing behind at run time. */
export const TYPES_FOR_ALL = "config";

function layer(
  mayImport: readonly string[],
  { mayImportFiles = [], closedNode = [] }: Partial<Omit<Layer, "mayImport">> = {},
): Layer {
  return { mayImport, mayImportFiles, closedNode };
}
