/** Doors of one broker: its user's socket, the socket behind the SSH gate and, if asked for, TCP and the port of Roampal's HTTP API. */
import type { Config } from "../../config/config.ts";
import { peerCredentials } from "../../base/libc.ts";
import type { Log } from "../../base/log.ts";
import type { Door, OutcomeDoorReport, StatusReport } from "../../protocol/spec.ts";
import { API_PATHS, type DoorOptions, type OpenDoor, openDoor } from "../door/door.ts";
import { Guard } from "../door/guard.ts";
import { recallAddress, rememberAddress, requireToken, resolveListenHost } from "../door/listen.ts";
import { Starts } from "../door/starts.ts";
import { TokenBook } from "../door/tokens.ts";
import { Page } from "../page/page.ts";
import { OUTCOME_HOST, OutcomeDoor } from "./outcome-door.ts";

export type DoorsOptions = Omit<DoorOptions, "at" | "onPeers" | "starts"> & {
  config: Config;
  status: () => StatusReport;
};

export class Doors {
  readonly #options: DoorsOptions;
  readonly #open: OpenDoor[] = [];
  readonly #starts = new Starts();
  readonly #tokens: TokenBook;
  readonly #outcome: OutcomeDoor | undefined;
  readonly page: Page;
  readonly published: Door[] = [];
  /** Time of the last connection, request or disconnection. */
  lastUsedMs = performance.now();

  constructor(options: DoorsOptions) {
    this.#options = options;
    const { config, log, dispatch, held, status } = options;
    this.#tokens = tokenBook(config, log);
    this.page = new Page({
      isValidToken: (id) => this.#tokens.find(id) !== undefined,
      ...{ dispatch, held, status, onUsed: () => void (this.lastUsedMs = performance.now()) },
      open: (guard, routes) =>
        openDoor({ ...this.#doorAt({ kind: "tcp", name: "ui", host: "127.0.0.1", port: 0, guard }), routes }),
    });
    const port = outcomePort(config);
    if (port === undefined) return;
    const tokens = this.#tokens;
    const path = config.paths.outcomeSocketPath;
    const own = config.outcomeLocal ? { host: OUTCOME_HOST, port, paths: API_PATHS } : undefined;
    const at = { kind: "tcp", host: OUTCOME_HOST, port, forwarded: path } as const;
    this.#outcome = new OutcomeDoor({
      ...{ port, path, log, isLocal: config.outcomeLocal, tokens: () => tokens.size },
      open: () => openDoor(this.#doorAt({ ...at, guard: new Guard(tokens, "loopback", { own }) })),
    });
  }

  peers(): number {
    return this.#open.reduce((total, door) => total + door.peers, (this.#outcome?.peers ?? 0) + this.page.peers);
  }

  /** Returns when a token was used last; null if it was not used since the broker's start. */
  tokenUsedAtMs(id: string): number | null {
    return this.#tokens.usedAtMs(id);
  }

  /** True if the broker has no TCP door and no Roampal door. Only then may it exit when idle: their clients cannot start a broker. */
  get isSocketOnly(): boolean {
    return this.published.length === 1 && this.#outcome === undefined;
  }

  /** Returns the report of the door at Roampal's port; undefined if nobody asked for that door. */
  outcomeDoor(): OutcomeDoorReport | undefined {
    return this.#outcome?.report();
  }

  async openAll(): Promise<void> {
    const { config, log } = this.#options;
    const { socketPath, gatePath } = config.paths;
    const publish = async (door: Door): Promise<void> => {
      await this.#openAt(placeOf(config, door, this.#tokens));
      this.published.push(door);
    };
    await publish({ kind: "unix", path: socketPath });
    // broker.json does not name the gate's socket: only `palace gate` uses it, for users of other machines who come by ssh.
    await this.#openAt({ kind: "unix", path: gatePath, role: "agent", name: "gate", credentials: peerCredentials });
    await openTcp(config, publish, log);
    // Not awaited, because finding out which process has the port may take a while.
    void this.#outcome?.open();
  }

  async close(): Promise<void> {
    const doors = [...this.#open, this.page, ...(this.#outcome === undefined ? [] : [this.#outcome])];
    await Promise.all(doors.map((door) => door.close()));
  }

  async #openAt(at: DoorOptions["at"]): Promise<void> {
    this.#open.push(await openDoor(this.#doorAt(at)));
  }

  #doorAt(at: DoorOptions["at"]): DoorOptions {
    const { config: _config, status: _status, ...options } = this.#options;
    // `palace ui` on another machine gets the page over a bridge, which ends at one of these sockets. So the sockets serve the page.
    const routes = at.kind === "unix" ? new Map([...options.routes, this.page.route()]) : options.routes;
    return { ...options, routes, at, starts: this.#starts, onPeers: () => void (this.lastUsedMs = performance.now()) };
  }
}

/** Returns Roampal's port, if set. Stores a port from the environment, because the next broker's environment may lack the variable. */
function outcomePort({
  outcomePort: asked,
  lastingDoors,
  paths: { outcomeDoorFile: file },
}: Config): number | undefined {
  if (asked !== undefined) {
    rememberAddress(file, asked === "off" ? undefined : { host: OUTCOME_HOST, port: asked });
    return asked === "off" ? undefined : asked;
  }
  const lasting = lastingDoors.outcomePort ?? recallAddress(file)?.port;
  return lasting === "off" ? undefined : lasting;
}

/** Opens the TCP door, if set. A failure is an error only if the environment asked for the door; else the broker runs without it. */
async function openTcp(
  { paths, listen, lastingDoors }: Config,
  openAt: (door: Door) => Promise<void>,
  log: Log,
): Promise<void> {
  if (listen === "off") return rememberAddress(paths.listenFile, undefined);
  const address = listen ?? lastingDoors.listen ?? recallAddress(paths.listenFile);
  if (address === undefined || address === "off") return;
  try {
    await openAt({ kind: "tcp", host: resolveListenHost(address.host), port: address.port });
    if (listen !== undefined) rememberAddress(paths.listenFile, listen);
  } catch (error) {
    if (listen !== undefined) throw error;
    log.error("the TCP door stays shut", {
      why: (error as Error).message,
      hint:
        lastingDoors.listen === undefined
          ? "MEMPALACE_LISTEN=off palace restart"
          : "palace config set listen off, then palace restart",
    });
  }
}

function placeOf(config: Config, door: Door, tokens: TokenBook): DoorOptions["at"] {
  if (door.kind === "unix") return { ...door, role: "admin", name: "unix", credentials: peerCredentials };
  requireToken(door, tokens.size);
  return { ...door, guard: new Guard(tokens, config.allowedHosts) };
}

function tokenBook({ paths }: Config, log: Log): TokenBook {
  return new TokenBook(paths.tokensFile, (error) => log.error("no token is valid", { why: String(error) }));
}
