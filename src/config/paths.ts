/** Resolves all paths (docs/reference/files.md) from the environment and, for a moved palace, upstream's config.json. */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { badValue } from "../base/errors.ts";
import { SOCKET_PATH_MAX_BYTES } from "../protocol/limits.ts";
import { type Env, readVariable } from "./env.ts";
import { namedPalace } from "./mempalace-config.ts";

export type Paths = ReturnType<typeof resolvePaths>;

const GRAPH_NAME = "knowledge_graph.sqlite3";

/** `palace`: the --palace argument. Errors: CONFIG_BAD_VALUE for a relative XDG folder. */
export function resolvePaths(env: Env, palace?: string) {
  // Node's own homedir() returns "" if HOME is empty.
  const user = readVariable(env, "HOME") ?? os().userInfo().homedir;
  const stateDir = ownFolder(env, "XDG_STATE_HOME", join(user, ".local/state"));
  const cacheDir = ownFolder(env, "XDG_CACHE_HOME", join(user, ".cache"));
  const places = whichPalace(env, user, palace);
  // Computed on demand: loading node:crypto takes a tenth of a shim's start, and most shims do not need the tag.
  let known: string | undefined;
  const tag = (): string => (known ??= tagOf(places.home));
  return Object.freeze({
    ...filesOf(places),
    // MEMPALACE_CONFIG_DIR and the XDG variables do not move this folder. Source: upstream-latest.md 2.2 and palace.md 10.1.
    upstreamLocksDir: join(classicHome(user), "locks"),
    /** File with the names and topics that the user gave to upstream's `init`; all palaces share it. */
    knownEntitiesFile: join(classicHome(user), "known_entities.json"),
    /** Folder outside the palace with small files for each palace, such as the marker of `palace stop`. */
    stateDir,
    cacheDir,
    /** Folder with the spools of all palaces. */
    spoolRoot: join(stateDir, "spool"),
    /** Folder with the settings and keys of the SSH bridges of all palaces. */
    bridgeRoot: join(stateDir, "bridge"),
    get tag() {
      return tag();
    },
    get socketPath() {
      return socketPath(env, cacheDir, `${tag()}.sock`);
    },
    /** Socket for connections through an SSH gate, which have fewer rights than those of `socketPath`. */
    get gatePath() {
      return socketPath(env, cacheDir, `${tag()}.gate`);
    },
    /** Socket on which the broker gets connections of `outcomePort` that another process accepted. */
    get outcomeSocketPath() {
      return socketPath(env, cacheDir, `${tag()}.api`);
    },
    get bridgeSocketPath() {
      return socketPath(env, cacheDir, `${tag()}.bridge`);
    },
    get bridgeDir() {
      return join(stateDir, "bridge", tag());
    },
    get spoolDir() {
      return join(stateDir, "spool", tag());
    },
    /** File with the counters of `palace stats`. */
    get usageFile() {
      return join(stateDir, `${tag()}.usage`);
    },
    get logFile() {
      return join(stateDir, `broker-${tag()}.log`);
    },
  });
}

function filesOf({ home, palaceDir, graphDir, settingsDir }: Places) {
  return {
    /** Folder that users call the palace, with ledger, lock and broker.json. */
    home,
    /** Upstream's palace directory with Chroma's files. It is `home` itself if the user named a palace directory. */
    palaceDir,
    /** Upstream's home, with config.json and hook_state/. */
    settingsDir,
    ledgerFile: join(home, "ledger.sqlite3"),
    /** Upstream's knowledge graph. Source: upstream-latest.md 2.2. */
    graphFile: join(graphDir, GRAPH_NAME),
    /** Path of the graph if upstream is started with `--palace`; undefined if it is `graphFile`. */
    otherGraphFile: graphDir === palaceDir ? undefined : join(palaceDir, GRAPH_NAME),
    tunnelsFile: join(dirname(palaceDir), "tunnels.json"),
    hallwaysFile: join(dirname(palaceDir), "hallways.json"),
    lockFile: join(home, "broker.lock"),
    brokerFile: join(home, "broker.json"),
    /** File by which a permanent broker asks a broker that was started on demand to end. */
    wantedFile: join(home, "broker.wanted"),
    tokensFile: join(home, "tokens.json"),
    listenFile: join(home, "listen.json"),
    /** File with the last port of the door for programs that speak Roampal's HTTP API. */
    outcomeDoorFile: join(home, "outcome-door.json"),
  };
}

/** Returns the first 8 hex digits of the home's SHA-256, which name the palace in runtime and state folders. */
function tagOf(home: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(home).digest("hex").slice(0, 8);
}

function ownFolder(env: Env, name: "XDG_STATE_HOME" | "XDG_CACHE_HOME", fallback: string): string {
  const value = readVariable(env, name) ?? fallback;
  if (!isAbsolute(value)) throw badValue(`${name} is not an absolute path: ${value}`, `unset ${name}`);
  return join(value, "palace");
}

type Places = Readonly<{ home: string; palaceDir: string; settingsDir: string; graphDir: string }>;

/** Finds the palace's folders. The argument wins over the environment, which wins over upstream's config.json. */
function whichPalace(env: Env, user: string, palace: string | undefined): Places {
  const given =
    palace ??
    readVariable(env, "MEMPALACE_PALACE_PATH") ??
    readVariable(env, "MEMPALACE_PALACE") ??
    readVariable(env, "MEMPAL_PALACE_PATH");
  const settingsDir = settingsHome(env, user);
  // MEMPALACE_PATH is our own variable: its folder has all files of the palace.
  const isOwnHome = readVariable(env, "MEMPALACE_PATH") !== undefined;
  const moved = isOwnHome ? undefined : namedPalace(settingsDir, (path) => expand(path, user));
  const usual = moved ?? join(settingsDir, "palace");
  const named = given === undefined ? undefined : real(resolve(expand(given, user)));
  // MemPalace's users may also name the default folder. They mean the home's memory, not a second memory inside the home.
  const isTaken = named === real(usual) && !existsSync(join(usual, "ledger.sqlite3"));
  // If MemPalace's palace is the home itself, the user means the public palace of the home's ledger.
  const isHome = named === real(settingsDir) && !existsSync(join(settingsDir, "chroma.sqlite3"));
  const isOther = named !== undefined && !isTaken && !isHome;
  const home = isOther ? named : real(settingsDir);
  const palaceDir = isOther ? home : moved === undefined ? join(home, "palace") : real(moved);
  const classic = classicHome(user);
  // Upstream keeps the graph in its own home, except for a palace that --palace names.
  const hasOwnGraph = isOwnHome || (isOther && palace !== undefined) || home === real(classic);
  return { home, palaceDir, settingsDir, graphDir: hasOwnGraph ? home : classic };
}

function classicHome(user: string): string {
  return join(user, ".mempalace");
}

/** Returns arguments and environment with which another palace command finds the same palace. */
export function handedOn({ home, palaceDir, graphFile }: Paths, env: Env): { palace: string[]; env: Env } {
  const { MEMPALACE_PALACE_PATH: _path, MEMPALACE_PALACE: _short, MEMPAL_PALACE_PATH: _old, ...others } = env;
  // A palace folder that is not the home is not passed: after --palace, a folder with its own ledger is the home of another palace.
  if (palaceDir !== home) return { palace: [], env: others };
  // A command with --palace looks for the graph in the palace's folder, so --palace is passed only if the graph is there.
  if (dirname(graphFile) === home) return { palace: ["--palace", home], env: others };
  return { palace: [], env: { ...others, MEMPALACE_PALACE_PATH: home } };
}

/** Loads node:os only when needed: a shim with HOME set does not need it. */
const os = (): typeof import("node:os") => process.getBuiltinModule("node:os");

function settingsHome(env: Env, user: string): string {
  const own = readVariable(env, "MEMPALACE_PATH") ?? readVariable(env, "MEMPALACE_CONFIG_DIR");
  if (own !== undefined) return resolve(expand(own, user));
  const classic = classicHome(user);
  const newer = join(readVariable(env, "XDG_CONFIG_HOME") ?? join(user, ".config"), "mempalace");
  // The newer folder is used only if it has files and the classic folder has none. Source: upstream-latest.md 2.2.
  const holds = (home: string): boolean =>
    ["config.json", "people_map.json", "palace/chroma.sqlite3", "ledger.sqlite3"].some((name) =>
      existsSync(join(home, name)),
    );
  return !holds(classic) && holds(newer) ? newer : classic;
}

function socketPath(env: Env, cacheDir: string, name: string): string {
  const runtime = readVariable(env, "XDG_RUNTIME_DIR");
  const wanted = runtime !== undefined && existsSync(runtime) ? join(runtime, "palace") : join(cacheDir, "run");
  const path = join(wanted, name);
  if (Buffer.byteLength(path) <= SOCKET_PATH_MAX_BYTES) return path;
  return join(os().tmpdir(), `palace-${os().userInfo().uid}`, name);
}

function expand(path: string, user: string): string {
  return path === "~" || path.startsWith("~/") ? join(user, path.slice(1)) : path;
}

/** Resolves links, so that two spellings of a folder lead to the same broker. The path may be missing. */
function real(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  const parent = dirname(path);
  return parent === path ? path : join(real(parent), basename(path));
}
