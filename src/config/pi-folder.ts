/** Locates the folder of pi. Imported by the files of config that read settings or sessions of pi. */
import { type Env, readVariable } from "./env.ts";

/** Returns pi's folder in the home `user`; pi expands a tilde in this variable, which no shell has expanded. */
export function piFolder(env: Env, user: string): string {
  const folder = readVariable(env, "PI_CODING_AGENT_DIR") ?? "~/.pi/agent";
  return folder === "~" || folder.startsWith("~/") ? `${user}${folder.slice(1)}` : folder;
}
