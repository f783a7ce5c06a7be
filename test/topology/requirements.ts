/**
 * Requirements: what is required, in which topologies, and which test shows it. The grid runs each scenario in every topology it names and
 * prints the table at its end. Other requirements name the test file that shows them. A unit test checks that every requirement has a
 * proof.
 */
export const TOPOLOGIES = [
  "native-only",
  "mixed-gate",
  "mixed-streamlocal",
  "mixed-tcp",
  "container-only-bridged",
  "container-only-compose",
  "container-only-alone",
] as const;
export type TopologyName = (typeof TOPOLOGIES)[number];

export type Requirement = {
  id: string;
  sentence: string;
  topologies: readonly TopologyName[];
  /** Test file that shows it, if it is not a scenario of the grid. */
  shownBy?: string;
};

const WITH_CONTAINERS = TOPOLOGIES.filter((name) => name !== "native-only");
const OVER_SSH = ["mixed-gate", "mixed-streamlocal", "container-only-bridged"] as const;
/** Topologies in which a client may start the broker itself. */
const STARTED_BY_CLIENTS = ["native-only", "mixed-gate", "container-only-bridged", "container-only-alone"] as const;

export const REQUIREMENTS: readonly Requirement[] = [
  {
    id: "storm",
    sentence:
      "writes, moves, deletions and facts of twelve agents: each acknowledged one is there once, in its agent's order; graph and index agree",
    topologies: TOPOLOGIES,
  },
  {
    id: "broker-killed",
    sentence: "the same while the broker is killed three times",
    topologies: TOPOLOGIES,
  },
  {
    id: "restarted",
    sentence: "the same while the broker is stopped and started twice, as for an update",
    topologies: TOPOLOGIES,
  },
  {
    id: "sshd-killed",
    sentence: "the same while sshd and its sessions are killed; what was spooled arrives",
    topologies: OVER_SSH,
  },
  {
    id: "network-gone",
    sentence: "the same while a container's network is taken away; what was spooled arrives",
    topologies: ["mixed-gate", "mixed-streamlocal", "mixed-tcp", "container-only-bridged"],
  },
  {
    id: "paused",
    sentence: "the same while a container is frozen for 20 s",
    topologies: WITH_CONTAINERS,
  },
  {
    id: "recreated",
    sentence: "a container is killed and made again on its volumes: what it had written or spooled is there",
    topologies: WITH_CONTAINERS,
  },
  {
    id: "twenty-at-once",
    sentence: "twenty clients start at once with no broker: there is one broker, and all are connected",
    topologies: STARTED_BY_CLIENTS,
  },
  {
    id: "twenty-write",
    sentence:
      "twenty agents of all places write at once and the broker is killed: each acknowledged write is there once",
    topologies: ["mixed-streamlocal", "container-only-compose"],
  },
  {
    id: "read-fails-fast",
    sentence: "with no way to a broker a read is refused while the agent looks, a write is kept, both say why",
    topologies: TOPOLOGIES,
  },
  {
    id: "stale-everything",
    sentence:
      "socket, broker.json of another boot, recycled pid, lock file of a dead process, a clock stepped back: it starts",
    topologies: TOPOLOGIES,
  },
  {
    id: "hostile-places",
    sentence: "a mount where chmod fails, a path longer than a socket's may be: it works through the runtime folder",
    topologies: ["native-only"],
    shownBy: "test/process/life/hostile-places.test.ts",
  },
  {
    id: "foreign-mount",
    sentence: "a palace on a mount whose locks do not cohere is never opened from there; its agents bridge, or spool",
    topologies: ["container-only-bridged"],
    shownBy: "test/topology/foreign-mount.test.ts",
  },
  {
    id: "alone-hands-over",
    sentence: "alone, then a broker that is meant to stay appears: it takes over, never two writers, nothing lost",
    topologies: ["container-only-alone"],
  },
  {
    id: "host-takes-over",
    sentence:
      "alone, then a broker of the host comes to the same folder, and ends: it takes over and gives back, never two writers",
    topologies: ["container-only-alone"],
  },
  {
    id: "upstream-mines",
    sentence:
      "a MemPalace 3.11 mines through a second mount path and under a second HOME, amid a storm: nothing lost, named",
    topologies: ["native-only"],
    shownBy: "test/process/write/foreign-writers.test.ts",
  },
  {
    id: "strangers",
    sentence:
      "port squatter, wrong, revoked or expired token, writing reader, foreign origin: refused, logged, nothing leaked",
    topologies: ["mixed-tcp"],
    shownBy: "test/process/doors/tcp-door.test.ts",
  },
  {
    id: "foreign-uid",
    sentence: "another user of the machine is refused at the socket",
    topologies: ["native-only"],
    shownBy: "test/process/doors/foreign-user.test.ts",
  },
  {
    id: "gate-key",
    sentence: "a bridge's key gets no shell, no command, no file transfer and no forwarding",
    topologies: ["mixed-gate", "container-only-bridged"],
  },
  {
    id: "full-disk",
    sentence: "a full disk is a typed error, reads go on, writes go on when there is space again",
    topologies: ["native-only"],
    shownBy: "test/process/write/full-disk.test.ts",
  },
  {
    id: "spool",
    sentence: "agents and brokers killed while writes are kept and delivered: each is there once, in order",
    topologies: ["native-only"],
    shownBy: "test/process/write/spool.test.ts",
  },
  {
    id: "spool-in-container",
    sentence: "a container killed in the middle of keeping a write: the next on its volume delivers each, once",
    topologies: ["mixed-tcp"],
    shownBy: "test/topology/spool-kill.test.ts",
  },
  {
    id: "life",
    sentence: "idle exit while a client connects, stop while one starts: no lost write, no zombie, no start loop",
    topologies: ["native-only"],
    shownBy: "test/process/life/life-races.test.ts",
  },
  {
    id: "public-palace",
    sentence:
      "after all of it MemPalace's own Chroma reads what the ledger holds, row by row and vector by vector; nothing was moved away as damaged",
    topologies: TOPOLOGIES,
  },
];
