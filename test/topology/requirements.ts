/** Table of requirements: what is required, in which topologies, and which test proves it: a scenario of the grid or `shownBy`. */
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
  /** Test file that proves the requirement, if the requirement is not a scenario of the grid. */
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
      "twelve agents write at once: the palace has every acknowledged change once and in order, and graph and index agree",
    topologies: TOPOLOGIES,
  },
  {
    id: "broker-killed",
    sentence: "agents lose and double no acknowledged change while the broker is killed three times",
    topologies: TOPOLOGIES,
  },
  {
    id: "restarted",
    sentence: "agents lose and double no acknowledged change while the broker is restarted twice, as for an update",
    topologies: TOPOLOGIES,
  },
  {
    id: "sshd-killed",
    sentence: "agents lose and double no acknowledged change while sshd and its sessions are killed",
    topologies: OVER_SSH,
  },
  {
    id: "network-gone",
    sentence: "agents lose and double no acknowledged change while a container has no network",
    topologies: ["mixed-gate", "mixed-streamlocal", "mixed-tcp", "container-only-bridged"],
  },
  {
    id: "paused",
    sentence: "agents lose and double no acknowledged change while a container is frozen for 20 s",
    topologies: WITH_CONTAINERS,
  },
  {
    id: "recreated",
    sentence: "a container made again on its volumes after a kill has every written and spooled change",
    topologies: WITH_CONTAINERS,
  },
  {
    id: "twenty-at-once",
    sentence: "twenty clients that start at once without a broker start one broker and all connect",
    topologies: STARTED_BY_CLIENTS,
  },
  {
    id: "twenty-write",
    sentence: "twenty agents in all places lose and double no acknowledged write while the broker is killed",
    topologies: ["mixed-streamlocal", "container-only-compose"],
  },
  {
    id: "read-fails-fast",
    sentence: "without a way to the broker a read fails at once and a write is spooled, both with the reason",
    topologies: TOPOLOGIES,
  },
  {
    id: "stale-everything",
    sentence:
      "the broker starts despite a dead broker's socket, broker.json, recycled pid and lock file, and a clock set back",
    topologies: TOPOLOGIES,
  },
  {
    id: "hostile-places",
    sentence: "a mount without chmod and a path too long for a socket work through the runtime folder",
    topologies: ["native-only"],
    shownBy: "test/process/life/hostile-places.test.ts",
  },
  {
    id: "foreign-mount",
    sentence: "a container never opens a palace on a mount without shared locks, and bridges or spools instead",
    topologies: ["container-only-bridged"],
    shownBy: "test/topology/foreign-mount.test.ts",
  },
  {
    id: "alone-hands-over",
    sentence: "a lasting broker takes over from an agent's own broker without a second writer or a lost write",
    topologies: ["container-only-alone"],
  },
  {
    id: "host-takes-over",
    sentence: "a broker of the host takes over the container's folder and gives it back, without a second writer",
    topologies: ["container-only-alone"],
  },
  {
    id: "upstream-mines",
    sentence:
      "the palace loses no drawer to a MemPalace 3.11 that mines through a second mount and HOME, and names this writer",
    topologies: ["native-only"],
    shownBy: "test/process/write/foreign-writers.test.ts",
  },
  {
    id: "strangers",
    sentence:
      "the broker refuses and logs bad tokens, writing readers and foreign origins, and a port squatter gets no token",
    topologies: ["mixed-tcp"],
    shownBy: "test/process/doors/tcp-door.test.ts",
  },
  {
    id: "foreign-uid",
    sentence: "the socket refuses another user of the machine",
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
    sentence: "a full disk gives a typed error, reads continue, and writes work again when there is space",
    topologies: ["native-only"],
    shownBy: "test/process/write/full-disk.test.ts",
  },
  {
    id: "spool",
    sentence: "every spooled write is delivered once and in order although agents and brokers are killed",
    topologies: ["native-only"],
    shownBy: "test/process/write/spool.test.ts",
  },
  {
    id: "spool-in-container",
    sentence: "the next container delivers every write once after a container was killed while it spooled",
    topologies: ["mixed-tcp"],
    shownBy: "test/topology/spool-kill.test.ts",
  },
  {
    id: "life",
    sentence:
      "a broker that ends while clients connect or start loses no write, leaves no zombie and causes no start loop",
    topologies: ["native-only"],
    shownBy: "test/process/life/life-races.test.ts",
  },
  {
    id: "public-palace",
    sentence:
      "after all scenarios MemPalace's Chroma reads every row and vector of the ledger, and no file was moved away as damaged",
    topologies: TOPOLOGIES,
  },
];
