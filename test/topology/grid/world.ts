/**
 * Interface of a topology that scenarios use: places where agents start, all with the same configuration; a broker that can be killed; a
 * ledger that can be read afterwards; and the faults that can be caused.
 */
import type { StdioMcp } from "../../../src/wire/proof/stdio-mcp.ts";
import type { TopologyName } from "../requirements.ts";

/** Configuration of the agents, byte for byte the same in all of them. */
export const MCP_CONFIG = `{ "mcpServers": { "palace": { "command": "mp-shim" } } }\n`;

export type World = AsyncDisposable & {
  readonly name: TopologyName;
  /** Folder of the palace, as a path of this machine. Docker's volumes are folders of this machine, too. */
  readonly home: string;
  /** Places where agents run: the host, or containers by number. */
  readonly places: readonly Place[];
  /** Starts a shim at `place`, with the command line that an agent's configuration has there. */
  agent(place: Place): Promise<StdioMcp>;
  /**
   * Sends SIGKILL, then runs `script` in Node as the palace's user: it may change the files that the dead broker left. Then the next client
   * starts a broker, or the broker's supervisor does.
   */
  killBroker(script?: string): Promise<void>;
  brokers(): Promise<number>;
  /** Stops the broker as its user would. In some topologies the next client starts a new broker. */
  stopBroker(): Promise<void>;
  startBroker(): Promise<void>;
  /** Stops the broker and, if there is one, its Chroma, so that no process has the palace open. */
  stopWriters(): Promise<void>;
  /** Returns the output of `palace status --json`. */
  status(): Promise<string>;
  /** Returns a folder with a copy of the palace's ledger, knowledge graph and tunnels. */
  copy(): Promise<string>;
  killSshd?: () => Promise<void>;
  startSshd?: () => Promise<void>;
  /** Runs `ssh ARGS HOST COMMAND` in the last container, with the key of its bridge. */
  sshWithBridgeKey?: (args: readonly string[], ...command: string[]) => Promise<{ exitCode: number; stdout: string }>;
  /** Starts a permanent broker that takes the palace over. Exists only where clients start a broker themselves. */
  startService?: () => Promise<void>;
  /**
   * Starts a permanent broker on this machine, through the volume's own folder. Resolves once it has the palace. Disposing of it stops it.
   */
  startHostService?: () => Promise<AsyncDisposable>;
  /** Faults that a scenario causes in the last container. */
  container?: {
    disconnect(): Promise<void>;
    connect(): Promise<void>;
    pause(): Promise<void>;
    unpause(): Promise<void>;
    killAndRecreate(): Promise<void>;
  };
};

export type Place = "host" | number;
