/** `palace config` reads and changes the settings in `settings.json` in the palace's folder. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isLoopback, resolveListenHost } from "../../broker/door/listen.ts";
import { readTokens } from "../../broker/door/tokens.ts";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { findBroker } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import { secretOf, VARIABLES } from "../../config/env.ts";
import { isSettingKey, type Setting, SETTING_KEYS, type SettingKey, SETTINGS } from "../../config/settings-table.ts";
import { asText, LISTEN, parseValue, type SettingValue } from "../../config/settings-value.ts";
import { armFault } from "../../base/fault-point.ts";
import { quoted } from "../../base/shell-word.ts";
import { badValue, isErrorCode, PalaceError, wrongUsage } from "../../base/errors.ts";
import { withoutPassword } from "../../base/without-password.ts";
import { type BrokerBox, brokerBox } from "../docker/owner.ts";
import { editSettings } from "../settings/edit.ts";
import { type SettingRow, settingRows, sourceText } from "../settings/sources.ts";
import { nearestWord } from "../../base/nearest.ts";
import type { Output } from "../terminal/output.ts";
import { defineVerb, usageError } from "../define-verb.ts";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parseJson } from "../../base/parse-json.ts";

const USAGE = `palace config [list]
palace config get KEY
palace config set KEY VALUE
palace config unset KEY
palace config path

Reads and changes settings.json in the palace's folder. Every broker of this palace reads the file. The environment variable
of a setting wins over the file (MEMPALACE_MODEL_DIR over model-dir). list shows every key, its value and where the value comes from.
You may edit the file by hand: a JSON object, with comments if you like.

  palace config set model-dir ~/models/all-MiniLM-L6-v2
  palace config set idle-exit-minutes 0`;

export const verb = defineVerb({
  usage: USAGE,
  args: [0, 3],
  place: ({ args }) => (args[0] === "set" ? "anew" : "any"),
  showsSettingsFaults: true,
  run: async ({ args, config, out }) => {
    armFault(config.fault);
    const [action = "list", name, value] = args;
    if (action === "list" && args.length <= 1) await list(config, out);
    else if (action === "path" && args.length === 1) path(config, out);
    else if (action === "get" && name !== undefined && args.length === 2) await get(config, known(name, "get"), out);
    else if (action === "set" && name !== undefined && value !== undefined)
      await set(config, known(name, "set"), value, out);
    else if (action === "unset" && name !== undefined && args.length === 2) await unset(config, name, out);
    else if (action === "set" && name !== undefined) {
      const key = known(name, "set");
      throw wrongUsage(
        `a value is missing: ${key} takes ${SETTINGS[key].kind.takes}`,
        `palace config set ${key} VALUE`,
      );
    } else throw usageError(USAGE, `palace config ${args.join(" ")} is not a command`);
    return 0;
  },
});

/** Lists the settings. If the broker is in a Docker container on this machine, takes the broker's settings from that container. */
async function allRows(config: Config): Promise<SettingRow[]> {
  const box = brokerBox(config);
  const asked = new Map((box === undefined ? [] : await rowsInBox(box)).map((row) => [row.key, row]));
  return settingRows(config).map((row) => asked.get(row.key) ?? row);
}

async function list(config: Config, out: Output): Promise<void> {
  const { file, faults } = config.settings;
  const rows = await allRows(config);
  if (out.isJson) return void out.document({ file: file.path, exists: file.isThere, settings: rows, faults });
  out.table(rows.map((row) => [row.key, row.value ?? (row.default || "not set"), sourceText(row)]));
  for (const { message, hint } of faults) {
    out.notice(`palace: ${message}`);
    out.notice(`  ${out.spelled(hint)}`);
  }
  const box = brokerBox(config);
  if (box !== undefined) out.notice(`The broker runs in ${box.container} and reads the settings there.`);
  else if (isElsewhere(config)) out.notice("The broker runs on another machine and reads the settings there.");
}

function path({ settings: { file } }: Config, out: Output): void {
  out.answer({ file: file.path, exists: file.isThere }, file.path);
}

async function get(config: Config, key: SettingKey, out: Output): Promise<void> {
  const row = (await allRows(config)).find((one) => one.key === key);
  if (row === undefined) return;
  if (out.isJson) return void out.document(row);
  if (row.value !== null) out.text(row.value);
  else out.notice(row.default === "" ? `${key} is not set.` : `${key} is not set. The default: ${row.default}`);
}

/** Sets a key. An error means that nothing has changed. Errors: CONFIG_BAD_VALUE, STORE_READ_ONLY. */
async function set(config: Config, key: SettingKey, text: string, out: Output): Promise<void> {
  const box = boxOf(config, key);
  if (box !== undefined) return changeInBox(box, ["set", key, text], out);
  assertHere(config, key, `set ${key} ${quoted(text)}`);
  const value = checked(config, key, text);
  const { path: file } = config.settings.file;
  const isChanged = await editSettings(file, key, value);
  const { kind, takesEffect }: Setting = SETTINGS[key];
  const variable = config.settings.told().find((one) => one.key === key)?.variable;
  const effect = await effectText(config, key);
  if (out.isJson)
    return void out.document({ key, value, file, changed: isChanged, takesEffect, overriddenBy: variable ?? null });
  out.text(`${key} is ${withoutPassword(asText(kind, value))} (${file}).${isChanged ? ` ${out.spelled(effect)}` : ""}`);
  if (variable !== undefined) out.notice(`In this environment ${variable} wins: unset ${variable}`);
  if (key === "listen" && lacksToken(config, value))
    out.notice(`The door stays shut until there is a token: ${out.spelled("palace bridge token add NAME")}`);
  if (kind.isPath === true && !existsSync(String(value))) {
    const make = key === "backup-dir" ? ` To make the folder: mkdir -p ${quoted(String(value))}` : "";
    out.notice(`There is nothing at ${String(value)} yet.${make}`);
  }
}

function lacksToken({ paths }: Config, value: SettingValue): boolean {
  const listen = LISTEN.read(String(value));
  if (listen === undefined || listen === "off" || isLoopback(resolveListenHost(listen.host))) return false;
  return readTokens(paths.tokensFile).length === 0;
}

async function unset(config: Config, name: string, out: Output): Promise<void> {
  const key = keyOf(name);
  const { path: file, faults } = config.settings.file;
  // Also removes a key that only another version knows.
  const written = faults.find((fault) => fault.key === name)?.key ?? known(name, "unset");
  const box = isSettingKey(key) ? boxOf(config, key) : undefined;
  if (box !== undefined) return changeInBox(box, ["unset", key], out);
  if (isSettingKey(key)) assertHere(config, key, `unset ${key}`);
  const isChanged = await editSettings(file, written, undefined);
  if (out.isJson) return void out.document({ key: written, file, changed: isChanged });
  if (!isChanged) return out.text(`${written} is not set in ${file}.`);
  const effect = isSettingKey(written) ? ` ${out.spelled(await effectText(config, written))}` : "";
  out.text(`${written} is no longer set in ${file}.${effect}`);
}

function boxOf(config: Config, key: SettingKey): BrokerBox | undefined {
  return SETTINGS[key].takesEffect === "start" ? brokerBox(config) : undefined;
}

async function changeInBox(box: BrokerBox, args: readonly string[], out: Output): Promise<void> {
  const answer = (await configInBox(box, args)) as {
    key: string;
    file: string;
    changed: boolean;
    overriddenBy?: string | null;
  };
  if (out.isJson) return void out.document(answer);
  const [action, , value] = args;
  const what = action === "set" ? `is ${value ?? ""}` : "is not set";
  const effect = answer.changed ? out.spelled(" It takes effect at the next start: palace restart") : "";
  out.text(`${answer.key} ${what} (${answer.file} in ${box.container}).${effect}`);
  if (answer.overriddenBy)
    out.notice(`In ${box.container} ${answer.overriddenBy} wins: docker-compose.yml or .env sets it.`);
}

async function effectText(config: Config, key: SettingKey): Promise<string> {
  const { takesEffect } = SETTINGS[key];
  if (takesEffect === "session") return "It takes effect in an agent's next session.";
  if (takesEffect === "next") return "It takes effect at once.";
  const isRunning = (await findBroker(config).catch(() => undefined)) !== undefined;
  return isRunning ? "It takes effect at the next start: palace restart" : "The broker reads it when it starts.";
}

/** Returns the value as it is written in the file. Errors: CONFIG_BAD_VALUE. */
function checked(config: Config, key: SettingKey, text: string): SettingValue {
  const { kind }: Setting = SETTINGS[key];
  const value = parseValue(kind, text, config.model.userHome);
  if (value !== undefined) return value;
  throw badValue(
    `${key} takes ${kind.takes}, not ${quoted(text)}; nothing was changed`,
    `palace config set ${key} ${kind.isPath === true ? quoted(resolve(text)) : exampleOf(key)}`,
  );
}

function exampleOf(key: SettingKey): string {
  const { kind, defaultText } = SETTINGS[key];
  return parseValue(kind, defaultText, "/") === undefined ? kind.example : defaultText;
}

/** Returns the key for a key's name or for the name of its environment variable. */
function keyOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("_", "-")
    .replace(/^mempalace-/, "");
}

/** Returns the key with this name. Errors: CONFIG_USAGE, with a hint. */
function known(name: string, action: string): SettingKey {
  const key = keyOf(name);
  if (isSettingKey(key)) return key;
  const secret = secretOf(key);
  if (secret !== undefined) throw wrongUsage(`${key} is a secret, and settings.json is not for secrets`, secret);
  const variable = `MEMPALACE_${key.toUpperCase().replaceAll("-", "_")}`;
  if (Object.hasOwn(VARIABLES, variable))
    throw wrongUsage(
      `${key} is not a key of settings.json: set it in each process's environment`,
      `export ${variable}=…`,
    );
  const near = nearestWord(key, SETTING_KEYS);
  throw wrongUsage(
    `there is no setting ${name}`,
    near === undefined ? "palace config list shows all" : `did you mean: palace config ${action} ${near}`,
  );
}

/** Refuses a setting of a broker that runs on another machine. Errors: CONFIG_USAGE. */
function assertHere(config: Config, key: SettingKey, words: string): void {
  if (SETTINGS[key].takesEffect !== "start" || !isElsewhere(config)) return;
  throw wrongUsage(
    `the broker reads ${key}, but the broker is on another machine (${config.endpoint ?? "a bridge leads there"})`,
    `on that machine: palace config ${words}`,
  );
}

type Answer = { error?: { code: string; message: string; hint: string } };

/** Runs `palace config --json` in the container and returns the JSON. Errors: the command's errors; STORE_UNAVAILABLE without an answer. */
async function configInBox({ container, options }: BrokerBox, args: readonly string[]): Promise<object> {
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

async function rowsInBox(box: BrokerBox): Promise<SettingRow[]> {
  const { settings } = (await configInBox(box, ["list"])) as { settings?: SettingRow[] };
  return (settings ?? []).filter(({ takesEffect }) => takesEffect === "start");
}
