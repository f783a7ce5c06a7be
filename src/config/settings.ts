/** Reads `settings.json` (JSON with comments) and merges it into the environment. A bad value becomes a fault and counts as not set. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { badValue } from "../base/errors.ts";
import { withoutPassword } from "../base/without-password.ts";
import { type Env, readVariable, secretOf } from "./env.ts";
import {
  isSettingKey,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type SettingVariable,
  type TakesEffect,
  variableOf,
} from "./settings-table.ts";
import { asText, asVariable, parseValue, type SettingValue } from "./settings-value.ts";

export const SETTINGS_FILE = "settings.json";
/** Maximum size of the settings file, bytes. A larger file is a fault. */
const SIZE_MAX = 262_144;

/** Problem in the file. Kind `unknown`: the key is not a setting; it may be a secret, or a setting of a newer version. */
export type Fault = Readonly<{ kind: "file" | "value" | "unknown"; key: string; message: string; hint: string }>;

export type FileSettings = Readonly<{
  path: string;
  isThere: boolean;
  values: ReadonlyMap<SettingKey, SettingValue>;
  faults: readonly Fault[];
}>;

/** Source of a value. `remembered`: the value with which the broker last started (`listen` and `outcome-port` only). */
export type Source = "environment" | "file" | "remembered" | "default";

export type Told = Readonly<{
  key: SettingKey;
  value: string;
  source: "environment" | "file";
  /** Name of the environment variable that sets the value; absent if the file sets it. */
  variable?: string;
  takesEffect: TakesEffect;
}>;

export type Settings = ReturnType<typeof readSettings>;

export function readSettings(home: string, env: Env) {
  const file = readSettingsFile(home, env);
  return {
    file,
    /** Environment, plus the file's values for variables that the environment does not set. */
    env: withFile(env, file),
    /** Variables that the file sets and the environment does not. */
    fileOnly: onlyFile(env, file),
    faults: file.faults,
    /** Lists the settings that the environment or the file sets, without passwords. */
    told: () => toldSettings(file, env),
  };
}

export function readSettingsFile(home: string, env: Env): FileSettings {
  const path = join(home, SETTINGS_FILE);
  const empty = { path, isThere: false, values: new Map<SettingKey, SettingValue>(), faults: [] };
  let text: string;
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return empty;
    // Reading a pipe or a device would never end.
    if (!stat.isFile() || stat.size > SIZE_MAX)
      return { ...empty, isThere: true, faults: [fileFault(path, "is not a settings file")] };
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return empty;
    return { ...empty, isThere: true, faults: [fileFault(path, `cannot be read (${code ?? String(error)})`)] };
  }
  return { path, isThere: true, ...parseSettings(text, path, readVariable(env, "HOME") ?? "/") };
}

function parseSettings(text: string, path: string, home: string): Pick<FileSettings, "values" | "faults"> {
  const values = new Map<SettingKey, SettingValue>();
  const faults: Fault[] = [];
  let content: unknown;
  try {
    content = parseJsonc(text);
  } catch (error) {
    return { values, faults: [fileFault(path, `is not JSON: ${(error as Error).message}`)] };
  }
  if (typeof content !== "object" || content === null || Array.isArray(content))
    return { values, faults: [fileFault(path, "does not contain a JSON object")] };
  for (const [key, given] of Object.entries(content)) {
    if (isSettingKey(key)) {
      const value = parseValue(SETTINGS[key].kind, given, home);
      if (value === undefined) faults.push(valueFault(path, key, given));
      else values.set(key, value);
    } else if (key !== "$schema") faults.push(unknownFault(path, key));
  }
  return { values, faults };
}

/** Settings with the address of a service, each with the secret that we send to that address. */
const SENT_TO = [
  ["judge-url", "MEMPALACE_JUDGE_KEY"],
  ["chroma-url", "MEMPALACE_CHROMA_TOKEN"],
] as const;

/** Adds the file's values to the environment. Removes a secret if the file sets the address for it: the file may be another person's. */
export function withFile(env: Env, file: Pick<FileSettings, "values">): Env {
  const added = onlyFile(env, file);
  const secrets = SENT_TO.filter(([key]) => variableOf(key) in added).map(([, name]) => [name, undefined]);
  return { ...env, ...added, ...Object.fromEntries(secrets) };
}

function onlyFile(env: Env, { values }: Pick<FileSettings, "values">): Env {
  const own = [...values].filter(([key]) => namedByEnv(env, key) === undefined);
  return Object.fromEntries(own.map(([key, value]) => [variableOf(key), asVariable(SETTINGS[key].kind, value)]));
}

function namedByEnv(env: Env, key: SettingKey): SettingVariable | "MEMPAL_ENTITY_LANGUAGES" | undefined {
  const name = variableOf(key);
  if (readVariable(env, name) !== undefined) return name;
  const older = "MEMPAL_ENTITY_LANGUAGES";
  return key === "entity-languages" && readVariable(env, older) !== undefined ? older : undefined;
}

function valueFault(path: string, key: SettingKey, given: unknown): Fault {
  const shown = JSON.stringify(given).slice(0, 80);
  return {
    kind: "value",
    key,
    message: `${path}: ${key} is ${shown}, and takes ${SETTINGS[key].kind.takes}`,
    hint: `palace config set ${key} VALUE, or: palace config unset ${key}`,
  };
}

function unknownFault(path: string, key: string): Fault {
  const secret = secretOf(key);
  const what =
    secret === undefined
      ? "not a setting of this version, and is not used"
      : "a secret, and is not read from this file";
  const hint = secret ?? "palace config list shows all";
  return { kind: "unknown", key, message: `${path}: ${key.slice(0, 80)} is ${what}`, hint };
}

function fileFault(path: string, problem: string): Fault {
  return {
    kind: "file",
    key: "",
    message: `${path} ${problem}`,
    hint: "correct that file, or move it away; then: palace config list",
  };
}

const TOKENS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
const COMMAS = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;

/** Parses JSON with comments and trailing commas. Replaces both by blanks, so that errors have the right position. */
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

/** Throws the file's first fault, but allows unknown keys. Errors: CONFIG_BAD_VALUE. */
export function assertSettings({ faults }: Pick<Settings, "faults">): void {
  const fault = faults.find(({ kind }) => kind !== "unknown");
  if (fault !== undefined) throw badValue(fault.message, fault.hint);
}

function toldSettings({ values }: FileSettings, env: Env): Told[] {
  return SETTING_KEYS.flatMap((key): Told[] => {
    const { kind, takesEffect } = SETTINGS[key];
    const [variable, value] = [namedByEnv(env, key), values.get(key)];
    if (variable !== undefined)
      return [{ key, value: withoutPassword(env[variable] ?? ""), source: "environment", variable, takesEffect }];
    if (value === undefined) return [];
    return [{ key, value: withoutPassword(asText(kind, value)), source: "file", takesEffect }];
  });
}
