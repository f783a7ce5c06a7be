/** Table of the imports that each room of src may have. oxlint.config.ts makes lint rules from it; layers.test.ts checks all imports. */

/** A folder of src with its own import rules. A file belongs to the innermost room that contains it. */
export type Room = {
  /** Rooms that this room may import, besides itself. */
  mayImport: readonly string[];
  /** Single files that this room may import from rooms that it may not import as a whole. */
  mayImportFiles: readonly string[];
  /** Node modules that this room may not use. */
  closedNode: readonly string[];
};

const FOUNDATION = ["base", "protocol"];
const NO_IO = ["node:fs", "node:fs/promises", "node:net", "node:http", "node:child_process", "node:process", "node:os"];

export const ROOMS: Readonly<Record<string, Room>> = {
  base: room([]),
  protocol: room(["base"]),
  config: room(FOUNDATION, { closedNode: ["node:net", "node:http", "node:child_process"] }),

  "wire/transport": room(FOUNDATION),
  "wire/client": room([...FOUNDATION, "wire/transport"]),
  // The SSH bridge to another machine. It finds the broker with the client's code.
  "wire/bridge": room([...FOUNDATION, "wire/client", "wire/transport"]),
  // The shim. It reads stdio with the line framing of `transport`.
  wire: room([...FOUNDATION, "wire/client", "wire/transport"]),

  // Types and interfaces that the memory's logic, the broker and the stores share, without behaviour.
  "memory/port": room(FOUNDATION, { closedNode: NO_IO }),
  // The ledger's SQLite file. A write must be in it before the write is acknowledged.
  "memory/ledger": room([...FOUNDATION, "memory/port"], { closedNode: ["node:net"] }),
  // Words, vectors and the model: everything that a search needs.
  "memory/index": room([...FOUNDATION, "memory/port", "memory/ledger"], { closedNode: ["node:net"] }),
  // Backup of a palace into one file, and restore from this file.
  "memory/backup": room([...FOUNDATION, "memory/ledger"], { closedNode: ["node:net"] }),
  // The logic of the memory. It reaches files and databases only through the interfaces of `memory/port`.
  memory: room([...FOUNDATION, "memory/port"], {
    // Needed to ignore a question that has only stop words.
    mayImportFiles: ["memory/index/lexical/stop-words.ts"],
    closedNode: NO_IO,
  }),

  // Changes settings of other programs on this machine, and does not touch a palace.
  "agents/install": room(FOUNDATION, { closedNode: ["node:net", "node:http", "node:child_process"] }),
  // Code that runs inside or beside the agents. Files that are copied into an agent's folder read the environment themselves.
  agents: room([...FOUNDATION, "wire/client"], {
    mayImportFiles: ["config/env.ts", "config/harness.ts"],
    closedNode: ["node:net", "node:http"],
  }),

  // MemPalace's coordination log. Only this folder writes the log's file, with the ledger's code for SQLite and repeated writes.
  "mempalace/logstream": room([...FOUNDATION, "memory/port", "memory/ledger"], { closedNode: ["node:net"] }),
  "mempalace/events": room([...FOUNDATION, "memory", "memory/port"], { closedNode: NO_IO }),
  "mempalace/aaak": room([...FOUNDATION, "memory", "memory/port"], { closedNode: NO_IO }),
  // Reads and writes MemPalace's own files. The ledger also has every drawer of these files.
  mempalace: room([...FOUNDATION, "memory/port", "memory/ledger", "memory/index", "mempalace/aaak"], {
    closedNode: ["node:net"],
  }),
  // Cuts documents and transcripts into drawers before it sends them to the broker.
  feeders: room([...FOUNDATION, "wire/client"], {
    // `init` recognises names by the same word lists as the memory.
    mayImportFiles: [
      "memory/text/text.ts",
      "memory/closet/common-words.ts",
      "memory/closet/name-words.ts",
      "memory/closet/product-names.ts",
    ],
    closedNode: ["node:net", "node:http"],
  }),
  // Controls the compose stack through Docker, and reads a copy of the stack's memory like any backup.
  devbox: room([...FOUNDATION, "memory/backup"], { closedNode: ["node:net", "node:http"] }),

  // Reads and writes a Roampal folder on the user's machine.
  "learning/roampal": room([...FOUNDATION, "memory/port", "memory/ledger", "mempalace", "wire/client"], {
    closedNode: ["node:net"],
  }),
  learning: room([...FOUNDATION, "memory", "memory/port"], { closedNode: NO_IO }),

  broker: room(
    [...FOUNDATION, "memory", "memory/port", "learning", "mempalace/events", "mempalace/aaak", "wire/transport"],
    {
      // The broker finishes an interrupted restore before it opens anything.
      mayImportFiles: [
        ...["memory/backup/swap.ts", "wire/client/offline-rules.ts", "mempalace/tools.ts"],
        // The owner can list this machine's spooled writes, and send refused writes again.
        ...["wire/client/send-spooled.ts", "wire/client/spool.ts"],
      ],
    },
  ),

  // The commands. They use the single files to inspect a palace before adoption, to mark found words, and to match a spooled exchange with
  // memories.
  cli: room(
    [
      ...FOUNDATION,
      ...["wire", "wire/client", "wire/bridge", "wire/transport", "agents", "agents/install", "feeders", "devbox"],
      ...["memory/backup", "learning/roampal", "config", "broker"],
    ],
    {
      mayImportFiles: [
        "mempalace/adopt/survey.ts",
        "mempalace/adopt/as-ledger.ts",
        "learning/turn/exchange.ts",
        "memory/index/lexical/found-words.ts",
        "memory/search/filter-names.ts",
        "memory/text/headings.ts",
      ],
    },
  ),
  // The web page, a client like any other. It needs only the types of the messages.
  ui: room(["protocol"]),
  // The executables. They pass process.env to the configuration and load one command.
  bin: room([...FOUNDATION, "wire", "wire/client", "config", "broker", "cli"]),
};

/** Folders of `memory` with its logic, highest layer first. A folder may import only folders of later lines. */
export const MEMORY_ROOMS: readonly (readonly string[])[] = [
  ["tools"],
  ["hygiene", "import", "search", "source"],
  ["graph", "closet"],
  ["drawer"],
  ["text"],
];

/** Files that connect broker, logic and stores. No other file of broker imports an implementation of a store. */
export const COMPOSITION_ROOTS: readonly string[] = [
  "broker/palace/palace.ts",
  "broker/palace/ledger.ts",
  "broker/palace/indexes.ts",
  "broker/palace/public-palace.ts",
  "broker/palace/maintenance.ts",
  "broker/palace/backups.ts",
  "broker/palace/model.ts",
  "broker/palace/writer-thread.ts",
  "broker/palace/logstream.ts",
  "broker/palace/logstream-thread.ts",
];
export const COMPOSITION_ROOTS_MAY_IMPORT: readonly string[] = [
  "memory/ledger",
  "memory/index",
  "memory/backup",
  "mempalace",
  "mempalace/logstream",
];

/** Room whose types every file may import, because types do not exist at run time. */
export const TYPES_FOR_ALL = "config";

/** Returns the room of a file or folder, given by its path below src, or undefined if it is in no room. */
export function roomOf(path: string): string | undefined {
  const parts = path.split("/");
  for (let length = parts.length; length > 0; length--) {
    const name = parts.slice(0, length).join("/");
    if (Object.hasOwn(ROOMS, name)) return name;
  }
  return undefined;
}

function room(
  mayImport: readonly string[],
  { mayImportFiles = [], closedNode = [] }: Partial<Omit<Room, "mayImport">> = {},
): Room {
  return { mayImport, mayImportFiles, closedNode };
}
