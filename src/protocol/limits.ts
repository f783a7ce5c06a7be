/**
 * Every bound that both sides, or two modules, must agree on. The arithmetic between them is asserted at the end.
 * Imported from anywhere; imports nothing.
 */

/** Largest JSON-RPC message on any door, either way. */
export const FRAME_SIZE_MAX_BYTES = 16 * 1024 * 1024;
/** Largest request of a client: a broker's message minus the id and time that the spool adds on delivery. */
export const REQUEST_SIZE_MAX_BYTES = FRAME_SIZE_MAX_BYTES - 1024;
/** Nesting of one JSON message; deeper is refused before it is parsed. */
export const JSON_DEPTH_MAX = 64;
/**
 * Largest document a feeder files as one source: as long as the 50,000 drawers of 800 characters that MemPalace files of one. It is
 * filed in one transaction, which others' writes wait for.
 */
export const SOURCE_SIZE_MAX_BYTES = 40 * 1024 * 1024;
/** Largest text in the call that files a document; a longer one is sent before, in parts. */
export const SOURCE_CALL_MAX_BYTES = 5 * 1024 * 1024;
/** Characters (UTF-16) of such a part: any of them may become six bytes of JSON. */
export const SOURCE_PART_MAX = 1024 * 1024;
/** Parts of a document that was never filed are dropped after this. */
export const SOURCE_PARTS_KEPT_MS = 24 * 3_600_000;
/**
 * The most drawers of one source, if settings ask for small ones: more than the largest source has at the usual size.
 */
export const SOURCE_DRAWERS_MAX = 200_000;
/** Defaults: characters of a drawer, overlap of two neighbours of a document, and the least size of a drawer. */
export const DRAWER_SIZE = 800;
export const DRAWER_OVERLAP = 100;
export const DRAWER_SIZE_MIN = 50;
/** Largest drawer that settings may ask for, characters: as much as a tool accepts. */
export const DRAWER_SIZE_MAX = 100_000;
/** Keywords of all halls that a document may be sent with, and characters of one. */
export const HALL_KEYWORDS_MAX = 2_000;
export const HALL_KEYWORD_LENGTH_MAX = 200;
/** Messages of a sweep in one call. */
export const MESSAGES_PART_MAX = 256;
/** The most sessions in one request. */
export const SESSIONS_ASKED_MAX = 10_000;
/** Drawers of a conversation in one call, and characters of them: others' writes go in between the calls. */
export const CONVERSATION_PART_DRAWERS_MAX = 1000;
export const CONVERSATION_PART_SIZE_MAX = 2 * 1024 * 1024;

/** Writes waiting in the broker, of all peers together; one more is BROKER_BUSY. */
export const QUEUE_DEPTH_MAX = 4096;
/** Writes waiting of one peer. */
export const QUEUE_DEPTH_PEER_MAX = 1024;
/** Bytes of arguments waiting in the queue. */
export const QUEUE_SIZE_MAX_BYTES = 128 * 1024 * 1024;
/** Names of MemPalace's registry that one document may be sent with. */
export const KNOWN_NAMES_MAX = 1_000;
/** Languages whose names are looked for. */
export const LANGUAGES_MAX = 32;
/** Links that one write of a mine creates or deletes; the next write does the rest. */
export const LINKS_CHANGED_MAX = 1_000;
/** Drawers that are summarised in one call. */
export const COMPRESSED_MAX = 200;
/** Sources whose closets are rebuilt in one write. */
export const CLOSET_SOURCES_MAX = 10;
/** Writes committed in one ledger transaction. */
export const COMMIT_BATCH_MAX = 256;
/** Requests of one stream that are being answered; the stream is not read further until one ends. */
export const PEER_IN_FLIGHT_MAX = 512;
/** Bytes of those requests. */
export const PEER_IN_FLIGHT_MAX_BYTES = 32 * 1024 * 1024;
/** Reply bytes a peer may leave unread before we stop reading from it. */
export const PEER_UNREAD_MAX_BYTES = 4 * 1024 * 1024;
/** Reply bytes a peer may leave unread while all peers together leave too many. */
export const PEER_UNREAD_FEW_BYTES = 64 * 1024;
/** Time a peer may leave its replies unread before it is disconnected. */
export const PEER_STALL_MAX_MS = 30_000;
/** Requests that wait for the child of engine `command`, which serves one at a time; one more is BROKER_BUSY. */
export const ENGINE_DEPTH_MAX = 1024;
/** Requests waiting of one peer. */
export const ENGINE_DEPTH_PEER_MAX = 128;
/** Bytes of all peers' requests that have begun to arrive and have not ended; beyond it the one that waited longest is cut. */
export const UNFINISHED_MAX_BYTES = 64 * 1024 * 1024;
/** Reply bytes that all peers together may leave unread before those that do not read are cut. */
export const UNREAD_MAX_BYTES = 64 * 1024 * 1024;
/** A peer that has read nothing for this long may be cut when that much is unread. */
export const SLOW_PEER_MS = 1_000;
/** Reads under way: of all peers, and of one. The others wait for their turn. */
export const READS_MAX = 16;
export const READS_PEER_MAX = 2;
/** Connections of one door that were admitted. */
export const PEERS_MAX = 1024;
/** Connections of one peer: a process of this machine, or a token. */
export const PEER_CONNECTIONS_MAX = 256;
/** Places of a door that only the owner's command line gets. */
export const PEERS_KEPT = 8;
/** Connections of one door that have proven nothing yet; one more drops the oldest. */
export const UNPROVEN_MAX = 256;

/** A kernel `sun_path` holds 108 bytes with its final zero on Linux, 104 on macOS. */
export const SOCKET_PATH_MAX_BYTES = process.platform === "darwin" ? 103 : 107;

export const DIAL_TIMEOUT_MS = 2_000;
/** A cold machine under load needs this long; a start that fails reports so itself and ends the wait. */
export const START_TIMEOUT_MS = 30_000;
/** A command waits this long for a broker that only others can start: long enough for a restart. */
export const ABSENT_TIMEOUT_MS = 500;
export const REQUEST_TIMEOUT_MS = 60_000;
/** A mine that takes longer is answered with its progress. */
export const MINE_WAIT_MS = 45_000;

/** The longest that event_wait waits for an event, as MemPalace has it; its request is given up a moment later. */
export const EVENT_WAIT_MAX_MS = 300_000;
export const EVENT_WAIT_GIVEN_UP_MS = EVENT_WAIT_MAX_MS + 30_000;
/** Waits for events of all peers, and of one peer: one more is BROKER_BUSY. */
export const EVENT_WAITS_MAX = 1024;
export const EVENT_WAITS_PEER_MAX = 64;

/** Bound of the child's start, up to its answer to `initialize`: it may import, and read its palace first. */
export const ENGINE_START_TIMEOUT_MS = 60_000;

/** Idempotency keys are kept at least this long: longer than any client spools a write. */
export const IDEMPOTENCY_KEPT_MS = 30 * 24 * 3_600_000;
/** A write that was spooled longer than this is not sent any more: its key may have expired. */
export const SPOOL_AGE_MAX_MS = 29 * 24 * 3_600_000;

/**
 * Most characters (UTF-16 units) that are kept of what the user, and of what the agent, said in a turn. Sessions are filed whole
 * elsewhere.
 */
export const SAID_MAX = 40_000;
/** Signals of one turn. */
export const SIGNALS_MAX = 8;
/** Longest id of a conversation, and longest name of a project, characters. */
export const CONVERSATION_ID_MAX = 200;
/** Memories of a Roampal in one call, and bytes of them as JSON. A memory larger than that is sent alone. */
export const CARRIED_MAX = 100;
export const CARRIED_PART_MAX_BYTES = 2 * 1024 ** 2;
/** Largest memory, as JSON. */
export const CARRIED_MAX_BYTES = 8 * 1024 ** 2;
/** Items of another memory in one call: rows of one kind, each drawer with all its slices. */
export const IMPORT_ITEMS_MAX = 200;
/** Entries of a Roampal's graphs in one call (with the same bound in bytes as memories), and nesting of lists and objects in one entry. */
export const CARRIED_ENTRIES_MAX = 1_000;
export const CARRIED_LEVELS_MAX = 100;
/** Notes in one checkpoint: each may have matches in the answer, and all must fit a message. */
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
