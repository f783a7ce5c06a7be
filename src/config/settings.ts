/** Merges the settings file into the environment, and says where each value comes from. Used by config.ts and the extensions. */
import { withoutPassword } from "../base/without-password.ts";
import { PalaceError } from "../base/errors.ts";
import { type Env } from "./env.ts";
import { type Fault, type FileSettings, namedByEnv, readSettingsFile, valueFault, withFile } from "./settings-file.ts";
import { SETTING_KEYS, SETTINGS, type SettingKey, type TakesEffect, variableOf } from "./settings-table.ts";
import { asText } from "./settings-value.ts";

/** `remembered`: the broker keeps the value of its last start (listen, outcome-port). */
export type Source = "environment" | "file" | "remembered" | "default";

export type Settings = Readonly<{
  file: FileSettings;
  /** The environment with the file's values where it does not set them itself. */
  env: Env;
  /** Variables that the file alone sets. */
  fileOnly: Env;
  faults: readonly Fault[];
  /** Lists the settings that environment or file set, in the table's order, to be shown: passwords in addresses are hidden. */
  told: () => Told[];
}>;

export type Told = Readonly<{
  key: SettingKey;
  value: string;
  source: "environment" | "file";
  /** The variable, where the environment sets it. */
  variable?: string;
  takesEffect: TakesEffect;
}>;

/**
 * Reads the file and calls `use` with it. A value of the file that `use` refuses becomes a fault, and counts as not set.
 * Errors: those of `use` about the environment.
 */
export function readSettings<T>(home: string, env: Env, use: (settings: Settings) => T): T {
  return useFile(readSettingsFile(home, env), env, use);
}

/** Does the same with a file that was read before. */
export function useFile<T>(file: FileSettings, env: Env, use: (settings: Settings) => T): T {
  try {
    return use(settingsOf(file, env));
  } catch (error) {
    const key = refusedKey(error, file, env);
    if (key === undefined) throw error;
    const values = new Map([...file.values].filter(([name]) => name !== key));
    const fault = valueFault(file.path, key, file.values.get(key));
    return useFile({ ...file, values, faults: [...file.faults, fault] }, env, use);
  }
}

export function settingsOf(file: FileSettings, env: Env): Settings {
  return {
    ...{ file, env: withFile(env, file), fileOnly: onlyFile(file, env), faults: file.faults },
    told: () => toldSettings(file, env),
  };
}

/** Errors: CONFIG_BAD_VALUE for a file that cannot be used, or a value in it. Unknown keys are allowed. */
export function assertSettings({ faults }: Pick<Settings, "faults">): void {
  const fault = faults.find(({ kind }) => kind !== "unknown");
  if (fault !== undefined) throw new PalaceError("CONFIG_BAD_VALUE", fault.message, fault.hint);
}

function toldSettings(file: FileSettings, env: Env): Told[] {
  return SETTING_KEYS.flatMap((key): Told[] => {
    const { kind, takesEffect } = SETTINGS[key];
    const variable = namedByEnv(env, key);
    if (variable !== undefined)
      return [{ key, value: withoutPassword(env[variable] ?? ""), source: "environment", variable, takesEffect }];
    const value = file.values.get(key);
    return value === undefined
      ? []
      : [{ key, value: withoutPassword(asText(kind, value)), source: "file", takesEffect }];
  });
}

function onlyFile(file: FileSettings, env: Env): Env {
  const own = [...file.values.keys()].filter((key) => namedByEnv(env, key) === undefined).map(variableOf);
  const all = withFile({}, file);
  return Object.fromEntries(own.map((name) => [name, all[name]]));
}

function refusedKey(error: unknown, file: FileSettings, env: Env): SettingKey | undefined {
  if (!(error instanceof PalaceError) || error.code !== "CONFIG_BAD_VALUE") return undefined;
  return [...file.values.keys()].find(
    (key) => namedByEnv(env, key) === undefined && new RegExp(`\\b${variableOf(key)}\\b`).test(error.message),
  );
}
