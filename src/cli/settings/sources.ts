/** Lists every setting with its value and source. */
import { recallAddress } from "../../broker/door/listen.ts";
import type { Config } from "../../config/config.ts";
import type { Source } from "../../config/settings.ts";
import { SETTING_KEYS, SETTINGS, type SettingKey, type TakesEffect } from "../../config/settings-table.ts";

export type SettingRow = {
  key: SettingKey;
  /** Null if the setting has its default. */
  value: string | null;
  source: Source;
  /** Name of the variable, if the environment sets it. */
  variable?: string;
  default: string;
  takesEffect: TakesEffect;
};

export function settingRows(config: Config): SettingRow[] {
  const told = new Map(config.settings.told().map((one) => [one.key, one]));
  return SETTING_KEYS.map((key) => {
    const { defaultText: usual, takesEffect } = SETTINGS[key];
    const more = { default: usual, takesEffect };
    const one = told.get(key);
    if (one !== undefined) {
      const { value, source, variable } = one;
      return { key, value, source, ...(variable !== undefined && { variable }), ...more };
    }
    const remembered = rememberedValue(config, key);
    if (remembered !== undefined) return { key, value: remembered, source: "remembered", ...more };
    return { key, value: null, source: "default", ...more };
  });
}

export function sourceText({ source, variable }: Pick<SettingRow, "source" | "variable">): string {
  return variable === undefined ? source : `${source} (${variable})`;
}

/** Returns the address of a door that an earlier broker's environment requested: the broker stored it, and later brokers open it, too. */
function rememberedValue({ paths }: Config, key: SettingKey): string | undefined {
  const file = { listen: paths.listenFile, "outcome-port": paths.outcomeDoorFile }[key as string];
  const address = file === undefined ? undefined : recallAddress(file);
  if (address === undefined) return undefined;
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return key === "listen" ? `tcp://${host}:${address.port}` : String(address.port);
}
