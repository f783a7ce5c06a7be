/**
 * Merges the settings file into the environment of an agent, for the extensions in it. It is part of the files that are
 * copied into agents' folders, so it never throws.
 */
import type { Env } from "./env.ts";
import { resolvePaths } from "./paths.ts";
import { readSettingsFile, withFile } from "./settings-file.ts";

/** `palace` is the --palace argument of the hook's command. */
export function harnessEnv(env: Env, palace?: string): Env {
  try {
    return withFile(env, readSettingsFile(resolvePaths(env, palace).home, env));
  } catch {
    return env;
  }
}
