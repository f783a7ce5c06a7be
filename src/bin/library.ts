/** `import { connectClient } from "palace-devbox"`: the typed client for programs of others. */
import { type Client, connectClient as connect } from "../wire/client/client.ts";
import { loadConfig } from "../config/config.ts";

export type { CallOptions, Client, ToolInfo } from "../wire/client/client.ts";
export { type ErrorCode, PalaceError } from "../base/errors.ts";

/** The palace that a program connects to, and the program's name. */
export type ConnectOptions = {
  /** Name under which the audit log keeps the writes of this program. */
  agent: string;
  /** The palace's folder; by default the one that `palace` uses, from the same variables. */
  palace?: string;
  /** `never` fails where no broker runs; `auto`, the default, starts one. */
  start?: "auto" | "never";
};

/** Connects to the broker of a palace. Errors: PalaceError, which carries a code and a hint. */
export function connectClient({ agent, palace, start = "auto" }: ConnectOptions): Promise<Client> {
  return connect({ config: loadConfig(process.env, { palace }), agent, start });
}
