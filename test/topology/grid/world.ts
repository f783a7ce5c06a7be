/**
 * What a topology is to a scenario: places where agents start, all with the same configuration, a broker that can be killed,
 * a ledger that can be read afterwards, and what can be done to it.
 */
import type { StdioMcp } from "../../../src/cli/proof/stdio-mcp.ts";
import type { TopologyName } from "../requirements.ts";

/** The agents' configuration, byte for byte the same in all of them. */
export const MCP_CONFIG = `{ "mcpServers": { "palace": { "command": "mp-shim" } } }\n`;

export type World = AsyncDisposable & {
  readonly name: TopologyName;
  /** The palace's folder, by a path of this machine; the engine's volumes are folders here. */
  readonly home: string;
  /** Where agents are: the host, or containers by number. */
  readonly places: readonly Place[];
  /** A shim as the configuration at that place starts it. */
  agent(place: Place): Promise<StdioMcp>;
  /**
   * SIGKILL. A broker that a client may start is started by the next one, another by whoever looks after it; before that,
   * `script` (for Node, run where the palace lies, as its user) may do something to what the dead one left.
   */
  killBroker(script?: string): Promise<void>;
  /** Brokers that run for this palace. */
  brokers(): Promise<number>;
  /** Ends the broker as its user would; whether clients may start the next one. */
  stopBroker(): Promise<void>;
  startBroker(): Promise<void>;
  /** Ends the broker and, where there is one, its Chroma: nobody has the palace open any more. */
  stopWriters(): Promise<void>;
  /** What `palace status --json` prints. */
  status(): Promise<string>;
  /** A folder with a copy of what the palace keeps: ledger, knowledge graph, tunnels. */
  copy(): Promise<string>;
  killSshd?: () => Promise<void>;
  startSshd?: () => Promise<void>;
  /** `ssh ARGS HOST COMMAND` in the last container, with the key of its bridge. */
  sshWithBridgeKey?: (args: readonly string[], ...command: string[]) => Promise<{ exitCode: number; stdout: string }>;
  /** Where agents have a broker of their own: one that is meant to stay comes and wants the palace. */
  startService?: () => Promise<void>;
  /** The same of this machine, through the volume's own folder; resolves once it holds the palace, ends when it is disposed of. */
  startHostService?: () => Promise<AsyncDisposable>;
  /** Of the last container. */
  container?: {
    disconnect(): Promise<void>;
    connect(): Promise<void>;
    pause(): Promise<void>;
    unpause(): Promise<void>;
    killAndRecreate(): Promise<void>;
  };
};

export type Place = "host" | number;
