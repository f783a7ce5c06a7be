/**
 * Reads `settings.json` in the palace's folder: an object of keys (settings-table.ts), JSON with comments and trailing
 * commas. It never throws: whatever cannot be used is a fault, and the key counts as not set. Every process of ours reads
 * it, the shim too, so it costs one small synchronous read. Imported by config.ts and what is copied into agents' folders.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Env, readVariable } from "./env.ts";
import { secretOf } from "./secrets.ts";
import {
  isSettingKey,
  kindText,
  SETTINGS,
  type SettingKey,
  type SettingVariable,
  variableOf,
} from "./settings-table.ts";
import { asVariable, parseValue, type SettingValue } from "./settings-value.ts";

export const SETTINGS_FILE = "settings.json";
/** A larger file is not ours. */
const SIZE_MAX = 262_144;

/** `file`: nothing of it can be read. `value`: one key is not used. `unknown`: the key may be of a newer version. */
export type Fault = Readonly<{ kind: "file" | "value" | "unknown"; key: string; message: string; hint: string }>;

export type FileSettings = Readonly<{
  path: string;
  isThere: boolean;
  values: ReadonlyMap<SettingKey, SettingValue>;
  faults: readonly Fault[];
}>;

export function readSettingsFile(home: string, env: Env): FileSettings {
  const path = join(home, SETTINGS_FILE);
  const empty = { path, isThere: false, values: new Map<SettingKey, SettingValue>(), faults: [] };
  let text: string;
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return empty;
    // Reading a pipe of that name would wait for its writer.
    if (!stat.isFile() || stat.size > SIZE_MAX)
      return { ...empty, isThere: true, faults: [fileFault(path, "is no settings file")] };
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return empty;
    return { ...empty, isThere: true, faults: [fileFault(path, `cannot be read (${code ?? String(error)})`)] };
  }
  return { path, isThere: true, ...parseSettings(text, path, readVariable(env, "HOME") ?? "/") };
}

export function parseSettings(text: string, path: string, home: string): Pick<FileSettings, "values" | "faults"> {
  const values = new Map<SettingKey, SettingValue>();
  const faults: Fault[] = [];
  let content: unknown;
  try {
    content = parseJsonc(text);
  } catch (error) {
    return { values, faults: [fileFault(path, `is no JSON: ${(error as Error).message}`)] };
  }
  if (typeof content !== "object" || content === null || Array.isArray(content))
    return { values, faults: [fileFault(path, "holds no JSON object")] };
  for (const [key, given] of Object.entries(content)) {
    if (isSettingKey(key)) {
      const value = parseValue(SETTINGS[key].kind, given, home);
      if (value === undefined) faults.push(valueFault(path, key, given));
      else values.set(key, value);
    } else if (key !== "$schema") faults.push(unknownFault(path, key));
  }
  return { values, faults };
}

/** Secrets of the environment, by the setting that says where they are sent. */
const SENT_TO = [
  ["judge-url", "MEMPALACE_JUDGE_KEY"],
  ["chroma-url", "MEMPALACE_CHROMA_TOKEN"],
] as const;

/**
 * Returns the environment with the file's values where it does not set them itself. A secret is left out if the file names
 * its address: a palace's folder may be somebody else's.
 */
export function withFile(env: Env, { values }: Pick<FileSettings, "values">): Env {
  if (values.size === 0) return env;
  const added: Record<string, string> = {};
  for (const [key, value] of values)
    if (namedByEnv(env, key) === undefined) added[variableOf(key)] = asVariable(SETTINGS[key].kind, value);
  const secrets = SENT_TO.filter(([key]) => variableOf(key) in added).map(([, name]) => [name, undefined]);
  return { ...env, ...added, ...Object.fromEntries(secrets) };
}

/** Returns the variable that sets a key in this environment; undefined: none does. */
export function namedByEnv(env: Env, key: SettingKey): SettingVariable | "MEMPAL_ENTITY_LANGUAGES" | undefined {
  const name = variableOf(key);
  if (readVariable(env, name) !== undefined) return name;
  const older = "MEMPAL_ENTITY_LANGUAGES";
  return key === "entity-languages" && readVariable(env, older) !== undefined ? older : undefined;
}

export function valueFault(path: string, key: SettingKey, given: unknown): Fault {
  const { kind } = SETTINGS[key];
  const shown = JSON.stringify(given).slice(0, 80);
  return {
    ...{ kind: "value", key },
    message: `${path}: ${key} is ${shown}, and takes ${kindText(kind)}`,
    hint: `palace config set ${key} VALUE, or: palace config unset ${key}`,
  };
}

function unknownFault(path: string, key: string): Fault {
  const secret = secretOf(key);
  const shown = key.slice(0, 80);
  return secret === undefined
    ? {
        ...{ kind: "unknown", key },
        message: `${path}: ${shown} is not a setting of this version, and is not used`,
        hint: "palace config list shows all",
      }
    : { kind: "unknown", key, message: `${path}: ${shown} is a secret, and is not read from this file`, hint: secret };
}

function fileFault(path: string, problem: string): Fault {
  return {
    ...{ kind: "file", key: "" },
    message: `${path} ${problem}`,
    hint: "correct that file, or move it away; then: palace config list",
  };
}

const TOKENS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const COMMAS = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;

/** Most files have neither comments nor trailing commas. Cut-out text becomes blanks, so positions in errors stay right. */
function parseJsonc(text: string): unknown {
  const bare = text.replace(/^\uFEFF/, "");
  if (bare.trim() === "") return {};
  try {
    return JSON.parse(bare);
  } catch {
    const blank = (part: string): string => (part.startsWith('"') ? part : part.replace(/[^\n]/g, " "));
    const plain = bare.replace(TOKENS, blank).replace(COMMAS, blank);
    return plain.trim() === "" ? {} : JSON.parse(plain);
  }
}
