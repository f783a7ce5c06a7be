/**
 * Who may import whom, as one table (style: "imports follow the arrows and never return"). eslint.config.js turns it into
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
const NO_IO = ["node:fs", "node:fs/promises", "node:net", "node:http", "node:child_process", "node:process", "node:os"];

export const LAYERS: Readonly<Record<string, Layer>> = {
  protocol: layer([]),
  platform: layer(["protocol"]),
  config: layer(FOUNDATION, { closedNode: ["node:net", "node:http", "node:child_process"] }),
  store: layer(FOUNDATION, { closedNode: ["node:net"] }),
  // Palace rules only: whatever they need from outside comes in through the port.
  engine: layer(FOUNDATION, { mayImportFiles: ["store/port.ts"], closedNode: NO_IO }),
  transport: layer(FOUNDATION),
  broker: layer([...FOUNDATION, "engine", "transport"], { mayImportFiles: ["store/port.ts"] }),
  // The tools, their parameters, and what a write refuses by its arguments alone: for agents while there is no broker.
  client: layer([...FOUNDATION, "transport"], {
    mayImportFiles: ["engine/tool-table.ts", "engine/tool-profile.ts", "engine/arguments.ts", "engine/apply.ts"],
  }),
  // Between machines: an SSH connection on one side of it, the client's discovery on the other.
  bridge: layer([...FOUNDATION, "client", "transport"]),
  // `transport` for the line framing: stdio is one more byte stream.
  shim: layer([...FOUNDATION, "client", "transport"]),
  // Text as upstream's Python sees it: transcripts are cut into drawers before they are sent.
  feeder: layer([...FOUNDATION, "client"], {
    // What looks like a name to the engine does so to `init`.
    mayImportFiles: ["engine/text.ts", "engine/common-words.ts", "engine/name-words.ts", "engine/product-names.ts"],
    closedNode: ["node:net", "node:http"],
  }),
  // A palace is looked into before anybody opens it.
  bin: layer([...FOUNDATION, "config", "client", "shim", "feeder", "bridge", "broker", "transport"], {
    mayImportFiles: ["store/adopt/survey.ts"],
  }),
};

/** Where broker, engine and store are wired together; nothing else of broker sees an implementation of a store. */
export const COMPOSITION_ROOTS: readonly string[] = [
  "broker/palace.ts",
  "broker/public-palace.ts",
  "broker/maintenance.ts",
  "broker/model.ts",
  "broker/writer-thread.ts",
];
export const COMPOSITION_ROOTS_MAY_IMPORT: readonly string[] = ["store"];

/** Called by entry points alone; everybody else may import its types, which leave nothing behind at run time. */
export const TYPES_FOR_ALL = "config";

function layer(
  mayImport: readonly string[],
  { mayImportFiles = [], closedNode = [] }: Partial<Omit<Layer, "mayImport">> = {},
): Layer {
  return { mayImport, mayImportFiles, closedNode };
}
