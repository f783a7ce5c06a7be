/** Defines the context of one run of a hook. */
import type { Config } from "../../config/config.ts";
import type { Env } from "../../config/env.ts";
import { type Client, withClient } from "../../wire/client/client.ts";

/** Functions from folders that this wing may not import. The command line passes them to a hook. */
export type Host = Readonly<{
  palace: readonly string[];
  hasPalace: (config: Config) => boolean;
  /** Files the new part of a session. Errors: any error that prevented this. */
  mineSession: (config: Config, harness: string, session: string) => Promise<void>;
  /** Returns the user's messages in a session of opencode; undefined if the session is deleted. Errors: errors of opencode's database. */
  saidInOpencode: (config: Config, session: string) => Promise<{ texts: string[]; wing: string } | undefined>;
}>;

export type Scene = Readonly<{ config: Config; env: Env; log: (line: string) => void; agent: string; host: Host }>;

export type Values = Partial<Record<"session" | "cwd" | "within" | "from", string | undefined>> &
  Partial<Record<"resumed" | "fresh" | "compacted", boolean | undefined>>;

/** Calls `ask` with a client whose searches prefer `project`. Returns undefined if no palace exists, and does not create one. */
export async function withHookClient<T>(
  { config, agent, host }: Scene,
  ask: (client: Client) => Promise<T>,
  project: readonly string[] = [],
): Promise<T | undefined> {
  return host.hasPalace(config) ? withClient({ config, agent, start: "auto", project }, ask) : undefined;
}
