/** The settings file for `palace doctor`: its faults, where values come from, and whether the running broker uses them. Imported by doctor.ts. */
import { isBridged } from "../../wire/client/bridge.ts";
import { connectClient } from "../../wire/client/client.ts";
import type { Config } from "../../config/config.ts";
import type { StatusReport } from "../../protocol/spec.ts";
import { sourceText } from "../settings/sources.ts";
import { printable } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const NAME = "settings file";

/** Starts nothing and never throws. */
export async function checkSettingsFile(config: Config): Promise<Check[]> {
  const { file, faults } = config.settings;
  const checks = faults.map(({ kind, message, hint }) =>
    (kind === "unknown" ? warn : fail)(NAME, printable(message), hint),
  );
  const used = config.settings
    .told()
    .map((one) => `${one.key} from ${one.source === "file" ? "the file" : sourceText(one)}`);
  const what = used.length === 0 ? "all defaults" : used.join(", ");
  if (checks.length === 0) checks.push(ok(NAME, `${file.path}${file.isThere ? "" : ", not there"}: ${what}`));
  // A broker elsewhere reads a file of its own.
  if (config.endpoint !== undefined || isBridged(config)) return checks;
  const status = await brokerStatus(config);
  return [...checks, ...checkUse(config, status?.settings), ...checkDoor(status)];
}

/** A door of the file that cannot be opened keeps no broker from starting. */
function checkDoor(status: StatusReport | undefined): Check[] {
  const listen = status?.settings?.find(({ key, source }) => key === "listen" && source === "file");
  if (listen === undefined || listen.value === "off" || status?.doors.some(({ kind }) => kind === "tcp") === true)
    return [];
  return [warn("listen", `the door ${printable(listen.value)} of the file is shut`, "palace status logs says why")];
}

/** Compares the file with what the running broker has read. An older broker does not tell. */
function checkUse({ settings }: Config, inUse: StatusReport["settings"]): Check[] {
  if (inUse === undefined) return [];
  const wanted = settings.told().filter(({ takesEffect }) => takesEffect === "start");
  return wanted.flatMap(({ key, value, source }) => {
    const used = inUse.find((one) => one.key === key);
    if (source !== "file" || used?.value === value) return [];
    const { variable } = used ?? {};
    return variable === undefined
      ? [warn(key, `the running broker does not use the file's ${printable(value)} yet`, "palace restart")]
      : [
          warn(
            key,
            `the running broker was started with ${variable}=${printable(used?.value ?? "")}, which wins over the file's ${printable(value)}`,
            `to use the file: unset ${variable} where the agents start, then palace restart`,
          ),
        ];
  });
}

async function brokerStatus(config: Config): Promise<StatusReport | undefined> {
  try {
    const client = await connectClient({ config, agent: "palace doctor", start: "never" });
    const status = await client.call("palace.status", {});
    client.close();
    return status;
  } catch {
    return undefined;
  }
}
