/**
 * Reads and changes settings of a broker in a Docker container on this machine. The settings file is in the container's volume, so `palace
 * config` runs in the container.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parseJson } from "../../base/parse-json.ts";
import { isErrorCode, PalaceError } from "../../base/errors.ts";
import type { BrokerBox } from "../docker/owner.ts";
import type { SettingRow } from "./sources.ts";

type Answer = { error?: { code: string; message: string; hint: string } };

/** Returns the document of --json. Errors: the errors of the command in the container; STORE_UNAVAILABLE if it does not answer. */
export async function configInBox({ container, options }: BrokerBox, args: readonly string[]): Promise<object> {
  const argv = [...options, "exec", container, "palace", "config", "--json", ...args];
  const { stdout, stderr } = await promisify(execFile)("docker", argv).catch(
    (error: Error & { stdout?: string; stderr?: string }) => ({
      stdout: error.stdout ?? "",
      stderr: error.stderr || error.message,
    }),
  );
  const { error, ...answer } = (parseJson(stdout) as Answer | undefined) ?? {
    error: {
      code: "STORE_UNAVAILABLE",
      message: `${container} does not answer: ${stderr.trim()}`,
      hint: "docker ps --all",
    },
  };
  if (error === undefined) return answer;
  const { code, message, hint } = error;
  throw new PalaceError(isErrorCode(code) ? code : "STORE_UNAVAILABLE", message, hint);
}

/** Returns the settings that the container's broker reads. */
export async function rowsInBox(box: BrokerBox): Promise<SettingRow[]> {
  const { settings } = (await configInBox(box, ["list"])) as { settings?: SettingRow[] };
  return (settings ?? []).filter(({ takesEffect }) => takesEffect === "start");
}
