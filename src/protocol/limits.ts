/** Limits that several modules share. The checks at the end ensure that the limits fit together. */

/** Maximum size of a JSON-RPC message on any door, in both directions. */
export const FRAME_SIZE_MAX_BYTES = 16 * 1024 * 1024;
/** Maximum size of a client's request. It is below the limit of a message, because delivery from the spool adds an id and a time. */
export const REQUEST_SIZE_MAX_BYTES = FRAME_SIZE_MAX_BYTES - 1024;
/** Maximum nesting of a JSON message. The broker refuses a deeper message without parsing it. */
export const JSON_DEPTH_MAX = 64;
/** Maximum size of one document: MemPalace's limit, 50,000 drawers of 800 characters. Other writes wait while it is filed. */
export const SOURCE_SIZE_MAX_BYTES = 40 * 1024 * 1024;
/** Maximum size of the text in the call that files a document. The feeder sends a longer text in parts, before that call. */
export const SOURCE_CALL_MAX_BYTES = 5 * 1024 * 1024;
/** Maximum number of characters (UTF-16) of one part of a document. A character may need six bytes in JSON. */
export const SOURCE_PART_MAX = 1024 * 1024;
/** Time after which the broker drops the parts of a document that was never filed. */
export const SOURCE_PARTS_KEPT_MS = 24 * 3_600_000;
/** Maximum number of drawers of one source. With the default drawer sizes no source can reach it. */
export const SOURCE_DRAWERS_MAX = 200_000;
/** Default sizes, characters: a drawer, the overlap of two neighbours in a document, and the minimum drawer. */
export const DRAWER_SIZE = 800;
export const DRAWER_OVERLAP = 100;
export const DRAWER_SIZE_MIN = 50;
/** Maximum drawer size in settings, characters. It is also the longest text that a tool accepts. */
export const DRAWER_SIZE_MAX = 100_000;
/** Maximum number of keywords of all halls together, and of characters of one keyword. */
export const HALL_KEYWORDS_MAX = 2_000;
export const HALL_KEYWORD_LENGTH_MAX = 200;
export const MESSAGES_PART_MAX = 256;
export const SESSIONS_ASKED_MAX = 10_000;
/** Maximum number of drawers of a conversation in one call, and of their characters together. Other writes run between the calls. */
export const CONVERSATION_PART_DRAWERS_MAX = 1000;
export const CONVERSATION_PART_SIZE_MAX = 2 * 1024 * 1024;

/** Maximum number of waiting writes: of all peers, and of one peer. The broker refuses further writes with BROKER_BUSY. */
export const QUEUE_DEPTH_MAX = 4096;
export const QUEUE_DEPTH_PEER_MAX = 1024;
export const QUEUE_SIZE_MAX_BYTES = 128 * 1024 * 1024;
/** Maximum number of names from MemPalace's registry that a feeder sends with one document. */
export const KNOWN_NAMES_MAX = 1_000;
export const LANGUAGES_MAX = 32;
/** Maximum number of links that one call of `link.rebuild` changes. The caller repeats the call for the rest. */
export const LINKS_CHANGED_MAX = 1_000;
/** Maximum number of drawers that one call of `closet.compress` summarises. */
export const COMPRESSED_MAX = 200;
export const CLOSET_SOURCES_MAX = 10;
/** Maximum number of writes in one ledger transaction. */
export const COMMIT_BATCH_MAX = 256;
/** Limits of one stream's open requests. Above them, the broker stops reading from the stream until a request ends. */
export const PEER_IN_FLIGHT_MAX = 512;
export const PEER_IN_FLIGHT_MAX_BYTES = 32 * 1024 * 1024;
/** Maximum size of one peer's unread replies. Above it, the broker stops reading from the peer. */
export const PEER_UNREAD_MAX_BYTES = 4 * 1024 * 1024;
/** Size of unread replies that a peer may always have, even if all peers together have too many. */
export const PEER_UNREAD_FEW_BYTES = 64 * 1024;
/** Time that a peer may leave replies unread. After it, the broker disconnects the peer. */
export const PEER_STALL_MAX_MS = 30_000;
/** Maximum number of requests that wait for the engine's child process. The broker refuses further requests with BROKER_BUSY. */
export const ENGINE_DEPTH_MAX = 1024;
export const ENGINE_DEPTH_PEER_MAX = 128;
/** Maximum size of all peers' incomplete requests. Above it, the broker drops the connection with the oldest incomplete request. */
export const UNFINISHED_MAX_BYTES = 64 * 1024 * 1024;
/** Maximum size of all peers' unread replies. Above it, the broker disconnects peers that do not read. */
export const UNREAD_MAX_BYTES = 64 * 1024 * 1024;
/** Time without reading after which a peer counts as slow. Only slow peers are disconnected because of UNREAD_MAX_BYTES. */
export const SLOW_PEER_MS = 1_000;
/** Maximum number of concurrent reads: of all peers, and of one peer. Further reads wait. */
export const READS_MAX = 16;
export const READS_PEER_MAX = 2;
export const PEERS_MAX = 1024;
/** Maximum number of connections of one process on this machine, or of one token. */
export const PEER_CONNECTIONS_MAX = 256;
/** Number of each door's PEERS_MAX connections that are reserved for the owner's command line. */
export const PEERS_KEPT = 8;
/** Maximum number of a door's connections that have not proved their identity yet. A further connection replaces the oldest. */
export const UNPROVEN_MAX = 256;

/** Maximum length of a socket path. The kernel's `sun_path` has 108 bytes on Linux and 104 on macOS, with the final zero. */
export const SOCKET_PATH_MAX_BYTES = process.platform === "darwin" ? 103 : 107;

export const DIAL_TIMEOUT_MS = 2_000;
/** Maximum time to wait for a broker's start. It is long for busy machines; a failed start ends the wait at once. */
export const START_TIMEOUT_MS = 30_000;
/** Time that a command waits for a broker that it cannot start itself. */
export const ABSENT_TIMEOUT_MS = 500;
export const REQUEST_TIMEOUT_MS = 60_000;
/** Time after which the broker answers a call of `mine` with the progress so far. */
export const MINE_WAIT_MS = 45_000;

/** Maximum time that a call of `event_wait` waits, as in MemPalace. The client's time limit for the call is longer. */
export const EVENT_WAIT_MAX_MS = 300_000;
export const EVENT_WAIT_GIVEN_UP_MS = EVENT_WAIT_MAX_MS + 30_000;
/** Maximum number of waits for events: of all peers, and of one peer. The broker refuses further waits with BROKER_BUSY. */
export const EVENT_WAITS_MAX = 1024;
export const EVENT_WAITS_PEER_MAX = 64;

/** Time limit for the engine's child process to answer `initialize`: it may load its palace first. */
export const ENGINE_START_TIMEOUT_MS = 60_000;

/** Minimum time for which the broker keeps idempotency keys: longer than any client spools a write. */
export const IDEMPOTENCY_KEPT_MS = 30 * 24 * 3_600_000;
/** Age after which a spooled write is not sent: its idempotency key may have expired. */
export const SPOOL_AGE_MAX_MS = 29 * 24 * 3_600_000;

/** Maximum number of characters (UTF-16) of the user's text, and of the agent's text, that the broker stores for a turn. */
export const SAID_MAX = 40_000;
export const SIGNALS_MAX = 8;
/** Maximum length of a conversation's id and of a project's name, characters. */
export const CONVERSATION_ID_MAX = 200;
/** Limits for importing Roampal memories: number in one call, their size as JSON, and the size of a memory that is sent alone. */
export const CARRIED_MAX = 100;
export const CARRIED_PART_MAX_BYTES = 2 * 1024 ** 2;
export const CARRIED_MAX_BYTES = 8 * 1024 ** 2;
/** Maximum number of items in one call of `memory.import`. A drawer with all its slices is one item. */
export const IMPORT_ITEMS_MAX = 200;
/** Maximum number of entries of Roampal's graphs in one call (at most CARRIED_PART_MAX_BYTES), and maximum depth of one entry's JSON. */
export const CARRIED_ENTRIES_MAX = 1_000;
export const CARRIED_LEVELS_MAX = 100;
/** Maximum number of notes in one checkpoint. The answer, with possible duplicates of each note, must fit into one message. */
export const CHECKPOINT_ITEMS_MAX = 1_000;
export const BOOK_MAX_BYTES = 10 * 1024 ** 2;

if (SPOOL_AGE_MAX_MS >= IDEMPOTENCY_KEPT_MS) throw new Error("a broker must recognise a repeated spooled write");
if (SOURCE_CALL_MAX_BYTES * 3 > FRAME_SIZE_MAX_BYTES) throw new Error("a source must fit a frame after JSON escaping");
if (SOURCE_PART_MAX * 6 >= FRAME_SIZE_MAX_BYTES) throw new Error("a part must fit a frame, whatever its content");
if (CONVERSATION_PART_DRAWERS_MAX * DRAWER_SIZE > CONVERSATION_PART_SIZE_MAX)
  throw new Error("parts with drawers of the default size must reach the maximum number first");
if (SOURCE_SIZE_MAX_BYTES / (DRAWER_SIZE / 2 - DRAWER_OVERLAP) > SOURCE_DRAWERS_MAX)
  throw new Error("a source with drawers of the default size must not exceed the maximum number");
if (CARRIED_PART_MAX_BYTES + CARRIED_MAX_BYTES >= FRAME_SIZE_MAX_BYTES)
  throw new Error("a part and one more memory must fit a frame");
if (DRAWER_SIZE_MAX > CONVERSATION_PART_SIZE_MAX) throw new Error("a part must hold at least one drawer");
if (FRAME_SIZE_MAX_BYTES > UNFINISHED_MAX_BYTES) throw new Error("one unfinished request must fit");
if (FRAME_SIZE_MAX_BYTES > QUEUE_SIZE_MAX_BYTES) throw new Error("the queue must hold at least one frame");
if (PEER_CONNECTIONS_MAX + PEERS_KEPT > PEERS_MAX) throw new Error("a peer's limit must fit the limit of all peers");
if (QUEUE_DEPTH_PEER_MAX > QUEUE_DEPTH_MAX)
  throw new Error("QUEUE_DEPTH_PEER_MAX must not be larger than QUEUE_DEPTH_MAX");
if (MINE_WAIT_MS >= REQUEST_TIMEOUT_MS) throw new Error("a long mine must be answered before its request is given up");
if (ENGINE_DEPTH_PEER_MAX > ENGINE_DEPTH_MAX)
  throw new Error("ENGINE_DEPTH_PEER_MAX must not be larger than ENGINE_DEPTH_MAX");
