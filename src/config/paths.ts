/**
 * Resolves every path from the environment (docs/reference/files.md) and, where a user has moved the palace, from upstream's
 * config.json.
 */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { PalaceError } from "../base/errors.ts";
import { SOCKET_PATH_MAX_BYTES } from "../protocol/limits.ts";
import { type Env, readVariable } from "./env.ts";
import { namedPalace } from "./mempalace-config.ts";

export type Paths = ReturnType<typeof resolvePaths>;

const GRAPH_NAME = "knowledge_graph.sqlite3";

/** `palace` is the --palace argument. Errors: CONFIG_BAD_VALUE for a relative XDG folder. */
export function resolvePaths(env: Env, palace?: string) {
  // Node's own homedir() is empty where HOME is set and empty.
  const user = readVariable(env, "HOME") ?? os().userInfo().homedir;
  const stateDir = ownFolder(env, "XDG_STATE_HOME", join(user, ".local/state"));
  const cacheDir = ownFolder(env, "XDG_CACHE_HOME", join(user, ".cache"));
  const places = whichPalace(env, user, palace);
  // Hashing loads node:crypto, a tenth of a shim's start; a shim that finds its broker needs no path that contains the tag.
  let known: string | undefined;
  const tag = (): string => (known ??= tagOf(places.home));
  return Object.freeze({
    ...filesOf(places),
    // Source: upstream-latest.md 2.2 and palace.md 10.1; neither MEMPALACE_CONFIG_DIR nor XDG moves it.
    upstreamLocksDir: join(classicHome(user), "locks"),
    /** Names and topics that upstream's init was given, wherever the palace is. */
    knownEntitiesFile: join(classicHome(user), "known_entities.json"),
    /** Folder of one small file per palace, outside of it: "a ledger existed here", and the sticky stop. */
    stateDir,
    cacheDir,
    /** Folders with one of each palace: spools; settings and key of an SSH bridge to a broker elsewhere. */
    spoolRoot: join(stateDir, "spool"),
    bridgeRoot: join(stateDir, "bridge"),
    get tag() {
      return tag();
    },
    get socketPath() {
      return socketPath(env, cacheDir, `${tag()}.sock`);
    },
    /** The broker's second socket, where connections over an SSH gate end, with fewer rights. */
    get gatePath() {
      return socketPath(env, cacheDir, `${tag()}.gate`);
    },
    /** The broker's end of the connections that the process at `outcomePort` passes on. */
    get outcomeSocketPath() {
      return socketPath(env, cacheDir, `${tag()}.api`);
    },
    /** The local end of an SSH bridge. */
    get bridgeSocketPath() {
      return socketPath(env, cacheDir, `${tag()}.bridge`);
    },
    get bridgeDir() {
      return join(stateDir, "bridge", tag());
    },
    get spoolDir() {
      return join(stateDir, "spool", tag());
    },
    get logFile() {
      return join(stateDir, `broker-${tag()}.log`);
    },
  });
}

function filesOf({ home, palaceDir, graphDir, settingsDir }: Places) {
  return {
    /** The folder that users call the palace; it holds ledger, lock and broker.json. */
    home,
    /** Upstream's palace directory (Chroma's files); equal to `home` when a palace directory was named. */
    palaceDir,
    /** Home of upstream's settings and hook state: config.json, hook_state/. */
    settingsDir,
    ledgerFile: join(home, "ledger.sqlite3"),
    /** Upstream's graph, and its links between rooms and between entities (palace.md 3.1, upstream-latest.md 2.2). */
    graphFile: join(graphDir, GRAPH_NAME),
    /** The path of the graph that upstream uses with `--palace`; undefined when that is `graphFile`. */
    otherGraphFile: graphDir === palaceDir ? undefined : join(palaceDir, GRAPH_NAME),
    tunnelsFile: join(dirname(palaceDir), "tunnels.json"),
    hallwaysFile: join(dirname(palaceDir), "hallways.json"),
    lockFile: join(home, "broker.lock"),
    brokerFile: join(home, "broker.json"),
    /** By this file a broker that is meant to stay asks one that was started on demand to make way. */
    wantedFile: join(home, "broker.wanted"),
    /** Tokens of the TCP door, and its address. */
    tokensFile: join(home, "tokens.json"),
    listenFile: join(home, "listen.json"),
    /** The port of the last door for programs that speak Roampal's HTTP API. */
    outcomeDoorFile: join(home, "outcome-door.json"),
  };
}

/** Returns the first 8 hex digits of SHA-256 of the home, which name this palace in runtime and state folders. */
function tagOf(home: string): string {
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(home).digest("hex").slice(0, 8);
}

function ownFolder(env: Env, name: "XDG_STATE_HOME" | "XDG_CACHE_HOME", fallback: string): string {
  const value = readVariable(env, name) ?? fallback;
  if (!isAbsolute(value))
    throw new PalaceError("CONFIG_BAD_VALUE", `${name} is not an absolute path: ${value}`, `unset ${name}`);
  return join(value, "palace");
}

type Places = Readonly<{ home: string; palaceDir: string; settingsDir: string; graphDir: string }>;

/**
 * Resolves our home, the public palace and the graph's folder, from the argument, the environment and upstream's
 * config.json, in that order.
 */
function whichPalace(env: Env, user: string, palace: string | undefined): Places {
  const given =
    palace ??
    readVariable(env, "MEMPALACE_PALACE_PATH") ??
    readVariable(env, "MEMPALACE_PALACE") ??
    readVariable(env, "MEMPAL_PALACE_PATH");
  const settingsDir = settingsHome(env, user);
  // MEMPALACE_PATH is our own variable and names the home of a palace with all its files.
  const isOwnHome = readVariable(env, "MEMPALACE_PATH") !== undefined;
  const moved = isOwnHome ? undefined : namedPalace(settingsDir, (path) => expand(path, user));
  const usual = moved ?? join(settingsDir, "palace");
  const named = given === undefined ? undefined : real(resolve(expand(given, user)));
  // MemPalace's users name the default folder too: that is the same memory, not a second one inside of it.
  const isTaken = named === real(usual) && !existsSync(join(usual, "ledger.sqlite3"));
  // The home's ledger has one public palace; a user who tells MemPalace the home itself means that one.
  const isHome = named === real(settingsDir) && !existsSync(join(settingsDir, "chroma.sqlite3"));
  const isOther = named !== undefined && !isTaken && !isHome;
  const home = isOther ? named : real(settingsDir);
  const palaceDir = isOther ? home : moved === undefined ? join(home, "palace") : real(moved);
  const classic = classicHome(user);
  // Upstream keeps the graph there for every palace that --palace does not name, however else it is named or moved.
  const hasOwnGraph = isOwnHome || (isOther && palace !== undefined) || home === real(classic);
  return { home, palaceDir, settingsDir, graphDir: hasOwnGraph ? home : classic };
}

function classicHome(user: string): string {
  return join(user, ".mempalace");
}

/**
 * Returns arguments and environment by which another command of ours finds the very same palace; variables that could
 * name another are removed. The home's own palace is never named, because naming its folder would mean a separate
 * memory in it. A palace that the environment named stays named by the environment, because its graph is elsewhere than
 * with --palace.
 */
export function handedOn({ home, palaceDir, graphFile }: Paths, env: Env): { palace: string[]; env: Env } {
  const { MEMPALACE_PALACE_PATH: _path, MEMPALACE_PALACE: _short, MEMPAL_PALACE_PATH: _old, ...others } = env;
  if (palaceDir !== home) return { palace: [], env: others };
  if (dirname(graphFile) === home) return { palace: ["--palace", home], env: others };
  return { palace: [], env: { ...others, MEMPALACE_PALACE_PATH: home } };
}

/** Loaded lazily: with HOME set, a shim does not need it. */
const os = (): typeof import("node:os") => process.getBuiltinModule("node:os");

function settingsHome(env: Env, user: string): string {
  const own = readVariable(env, "MEMPALACE_PATH") ?? readVariable(env, "MEMPALACE_CONFIG_DIR");
  if (own !== undefined) return resolve(expand(own, user));
  const classic = classicHome(user);
  const newer = join(readVariable(env, "XDG_CONFIG_HOME") ?? join(user, ".config"), "mempalace");
  // Source: upstream-latest.md 2.2; a newer install counts only when it really holds something.
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

/**
 * Resolves links, so that two spellings of one folder lead to one broker; a missing path keeps its name under its real
 * parent.
 */
function real(path: string): string {
  if (existsSync(path)) return realpathSync.native(path);
  const parent = dirname(path);
  return parent === path ? path : join(real(parent), basename(path));
}
