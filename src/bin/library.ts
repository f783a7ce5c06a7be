/** The typed client for other programs: `import { connectClient } from "palace-devbox"`. */
import { type Client, connectClient as connect } from "../wire/client/client.ts";
import { loadConfig } from "../config/config.ts";

export type { CallOptions, Client, ToolInfo } from "../wire/client/client.ts";
export { type ErrorCode, PalaceError } from "../base/errors.ts";

/** Palace to connect to, and the connecting program's name. */
export type ConnectOptions = {
  /** Name of this program in the journal, which `palace history` shows. */
  agent: string;
  /** Folder of the palace. By default the palace that the command `palace` uses, from the same environment variables. */
  palace?: string;
  /** If no broker runs, `never` fails, and `auto` (the default) starts one. */
  start?: "auto" | "never";
};

/** Connects to the broker of a palace. Errors: PalaceError, with a code and a hint. */
export function connectClient({ agent, palace, start = "auto" }: ConnectOptions): Promise<Client> {
  return connect({ config: loadConfig(process.env, { palace }), agent, start });
}
