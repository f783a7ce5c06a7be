/** Limits that both sides, or two modules, must agree on. The checks at the end compare them with each other. Imports nothing. */

/** Largest JSON-RPC message on any door, in either direction. */
export const FRAME_SIZE_MAX_BYTES = 16 * 1024 * 1024;
/** Largest request of a client. It is smaller than a message, because the spool adds an id and a time on delivery. */
export const REQUEST_SIZE_MAX_BYTES = FRAME_SIZE_MAX_BYTES - 1024;
/** Deepest nesting of a JSON message; a deeper one is refused before it is parsed. */
export const JSON_DEPTH_MAX = 64;
/**
 * Largest document that a feeder files as one source: as large as MemPalace allows, 50,000 drawers of 800 characters. One transaction files
 * it, and other writes wait for that.
 */
export const SOURCE_SIZE_MAX_BYTES = 40 * 1024 * 1024;
/** Largest text in the call that files a document. The feeder sends a longer text before that call, in parts. */
export const SOURCE_CALL_MAX_BYTES = 5 * 1024 * 1024;
/** Characters (UTF-16) of such a part. A character may become six bytes of JSON. */
export const SOURCE_PART_MAX = 1024 * 1024;
/** Time after which the broker drops the parts of a document that was not filed. */
export const SOURCE_PARTS_KEPT_MS = 24 * 3_600_000;
/** Most drawers of one source when settings ask for small drawers: more than the largest source has at the usual size. */
export const SOURCE_DRAWERS_MAX = 200_000;
/** Default sizes, characters: a drawer, the overlap of two neighbours in a document, and the smallest drawer. */
export const DRAWER_SIZE = 800;
export const DRAWER_OVERLAP = 100;
export const DRAWER_SIZE_MIN = 50;
/** Largest drawer that settings may ask for, characters: the largest text that a tool accepts. */
export const DRAWER_SIZE_MAX = 100_000;
/** Most keywords in all halls sent with a document, and characters of one keyword. */
export const HALL_KEYWORDS_MAX = 2_000;
export const HALL_KEYWORD_LENGTH_MAX = 200;
/** Messages of a sweep in one call. */
export const MESSAGES_PART_MAX = 256;
/** Most sessions in one request. */
export const SESSIONS_ASKED_MAX = 10_000;
/** Drawers of a conversation in one call, and their characters. Other writes run between the calls. */
export const CONVERSATION_PART_DRAWERS_MAX = 1000;
export const CONVERSATION_PART_SIZE_MAX = 2 * 1024 * 1024;

/** Writes of all peers that wait in the broker; one more is refused with BROKER_BUSY. */
export const QUEUE_DEPTH_MAX = 4096;
/** Writes of one peer that wait. */
export const QUEUE_DEPTH_PEER_MAX = 1024;
/** Bytes of the waiting writes' arguments. */
export const QUEUE_SIZE_MAX_BYTES = 128 * 1024 * 1024;
/** Names of MemPalace's registry in one document's request. */
export const KNOWN_NAMES_MAX = 1_000;
/** Most languages to look for names in. */
export const LANGUAGES_MAX = 32;
/** Links that one write of a mine creates or deletes; the next write continues. */
export const LINKS_CHANGED_MAX = 1_000;
/** Drawers that one call summarises. */
export const COMPRESSED_MAX = 200;
/** Sources whose closets one write rebuilds. */
export const CLOSET_SOURCES_MAX = 10;
/** Writes committed in one ledger transaction. */
export const COMMIT_BATCH_MAX = 256;
/** Open requests of one stream; the broker reads no further until one of them ends. */
export const PEER_IN_FLIGHT_MAX = 512;
/** Bytes of those open requests. */
export const PEER_IN_FLIGHT_MAX_BYTES = 32 * 1024 * 1024;
/** Unread reply bytes of one peer before the broker stops reading from it. */
export const PEER_UNREAD_MAX_BYTES = 4 * 1024 * 1024;
/** Unread reply bytes that a peer may have even when all peers together have too many. */
export const PEER_UNREAD_FEW_BYTES = 64 * 1024;
/** Time that a peer may leave replies unread before the broker disconnects it. */
export const PEER_STALL_MAX_MS = 30_000;
/** Requests that wait for the child of engine `command`, which serves one at a time; one more is refused with BROKER_BUSY. */
export const ENGINE_DEPTH_MAX = 1024;
/** Requests of one peer that wait for the child. */
export const ENGINE_DEPTH_PEER_MAX = 128;
/** Bytes of all peers' requests that have arrived in part. Beyond it the broker drops the connection of the oldest one. */
export const UNFINISHED_MAX_BYTES = 64 * 1024 * 1024;
/** Unread reply bytes of all peers together. Beyond it the broker disconnects peers that do not read. */
export const UNREAD_MAX_BYTES = 64 * 1024 * 1024;
/** Time without reading after which a peer counts as one that does not read. */
export const SLOW_PEER_MS = 1_000;
/** Most reads that run at the same time: of all peers, and of one peer. Further reads wait. */
export const READS_MAX = 16;
export const READS_PEER_MAX = 2;
/** Admitted connections of one door. */
export const PEERS_MAX = 1024;
/** Connections of one peer: a process on this machine, or a token. */
export const PEER_CONNECTIONS_MAX = 256;
/** Connections of a door that are reserved for the owner's command line. */
export const PEERS_KEPT = 8;
/** Connections of one door that have not proven who they are; one more drops the oldest. */
export const UNPROVEN_MAX = 256;

/** Longest socket path. The kernel's `sun_path` has 108 bytes on Linux and 104 on macOS, with the final zero. */
export const SOCKET_PATH_MAX_BYTES = process.platform === "darwin" ? 103 : 107;

export const DIAL_TIMEOUT_MS = 2_000;
/** Time to wait for a broker's start: a cold machine under load needs it. A failed start reports its error and ends the wait. */
export const START_TIMEOUT_MS = 30_000;
/** Time a command waits for a broker that only others can start: long enough for a restart. */
export const ABSENT_TIMEOUT_MS = 500;
export const REQUEST_TIMEOUT_MS = 60_000;
/** Time after which the broker answers with the progress of a mine that still runs. */
export const MINE_WAIT_MS = 45_000;

/** Longest wait of event_wait, as in MemPalace. The client gives up a little later. */
export const EVENT_WAIT_MAX_MS = 300_000;
export const EVENT_WAIT_GIVEN_UP_MS = EVENT_WAIT_MAX_MS + 30_000;
/** Most waits for events: of all peers, and of one peer. One more is refused with BROKER_BUSY. */
export const EVENT_WAITS_MAX = 1024;
export const EVENT_WAITS_PEER_MAX = 64;

/** Time limit for a child's start, up to its answer to `initialize`: the child may import and read its palace first. */
export const ENGINE_START_TIMEOUT_MS = 60_000;

/** Least time that idempotency keys are kept: longer than any client spools a write. */
export const IDEMPOTENCY_KEPT_MS = 30 * 24 * 3_600_000;
/** Age after which a spooled write is not sent: its key may have expired. */
export const SPOOL_AGE_MAX_MS = 29 * 24 * 3_600_000;

/** Most characters (UTF-16) that a turn keeps of the user's text, and of the agent's text. Miners file whole sessions. */
export const SAID_MAX = 40_000;
/** Most signals of one turn. */
export const SIGNALS_MAX = 8;
/** Longest id of a conversation and longest name of a project, characters. */
export const CONVERSATION_ID_MAX = 200;
/** Roampal memories in one call, and their bytes as JSON. A larger memory is sent alone. */
export const CARRIED_MAX = 100;
export const CARRIED_PART_MAX_BYTES = 2 * 1024 ** 2;
/** Largest Roampal memory, bytes of JSON. */
export const CARRIED_MAX_BYTES = 8 * 1024 ** 2;
/** Items of another memory in one call: rows of one kind, each drawer with all its slices. */
export const IMPORT_ITEMS_MAX = 200;
/** Entries of a Roampal's graphs in one call (their bytes are limited as for memories), and depth of lists and objects in one entry. */
export const CARRIED_ENTRIES_MAX = 1_000;
export const CARRIED_LEVELS_MAX = 100;
/** Notes in one checkpoint. The answer may have matches for each, and must fit a message. */
export const CHECKPOINT_ITEMS_MAX = 1_000;
/** Largest text of a book. */
export const BOOK_MAX_BYTES = 10 * 1024 ** 2;

if (SPOOL_AGE_MAX_MS >= IDEMPOTENCY_KEPT_MS) throw new Error("a spooled write must be recognised when it comes again");
if (SOURCE_CALL_MAX_BYTES * 3 > FRAME_SIZE_MAX_BYTES) throw new Error("a source must fit a frame after JSON escaping");
if (SOURCE_PART_MAX * 6 >= FRAME_SIZE_MAX_BYTES) throw new Error("a part must fit a frame, whatever it holds");
if (CONVERSATION_PART_DRAWERS_MAX * DRAWER_SIZE > CONVERSATION_PART_SIZE_MAX)
  throw new Error("parts of usual drawers are cut by their number");
if (SOURCE_SIZE_MAX_BYTES / (DRAWER_SIZE / 2 - DRAWER_OVERLAP) > SOURCE_DRAWERS_MAX)
  throw new Error("a source of usual drawers must not have too many");
if (CARRIED_PART_MAX_BYTES + CARRIED_MAX_BYTES >= FRAME_SIZE_MAX_BYTES)
  throw new Error("a part must fit a frame with one memory more");
if (DRAWER_SIZE_MAX > CONVERSATION_PART_SIZE_MAX) throw new Error("a part must hold at least one drawer");
if (FRAME_SIZE_MAX_BYTES > UNFINISHED_MAX_BYTES) throw new Error("one unfinished request must fit");
if (FRAME_SIZE_MAX_BYTES > QUEUE_SIZE_MAX_BYTES) throw new Error("the queue must hold at least one frame");
if (PEER_CONNECTIONS_MAX + PEERS_KEPT > PEERS_MAX) throw new Error("one peer's share is part of all places");
if (QUEUE_DEPTH_PEER_MAX > QUEUE_DEPTH_MAX) throw new Error("one peer's share is part of the whole queue");
if (MINE_WAIT_MS >= REQUEST_TIMEOUT_MS) throw new Error("a long mine must be answered before its request is given up");
if (ENGINE_DEPTH_PEER_MAX > ENGINE_DEPTH_MAX) throw new Error("one peer's share is part of the whole line");
