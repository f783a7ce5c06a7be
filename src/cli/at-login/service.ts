/** Makes the machine's service manager start the broker at login, and undoes that. Never changes a file that is not ours. */
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { isElsewhere } from "../docker/served-by-stack.ts";
import { START_MARK_MS } from "../../wire/client/start.ts";
import type { Config } from "../../config/config.ts";
import { type Env, readVariable } from "../../config/env.ts";
import { assertSettings } from "../../config/settings.ts";
import { writeUserFile } from "../../base/atomic-file.ts";
import { PalaceError, wrongUsage } from "../../base/errors.ts";
import { quoted } from "../../base/shell-word.ts";
import { dropStarting, takeStarting, writeFailure } from "../../base/state-files.ts";
import type { Output } from "../terminal/output.ts";
import { brokerCommand, hasManager, isOurs, makeUnit, managerOf, type Unit } from "./unit.ts";

export type AtLogin = Readonly<{
  unit: Unit;
  action: "write" | "keep" | "remove";
  /** Commands that make the service manager read the changed file. */
  commands: readonly (readonly string[])[];
}>;

/** `failed`: why a command failed, and the commands to type; undefined if none failed. */
export type Done = Readonly<{ failed?: Readonly<{ why: string; type: string }> }>;

/** Plans the start at login without changing anything. Errors: CONFIG_USAGE if no start at login is possible here, CONFIG_BAD_VALUE. */
export function planStart(config: Config, platform = process.platform): AtLogin {
  if (isElsewhere(config))
    throw wrongUsage(
      `the broker does not run on this machine${config.endpoint === undefined ? "" : ` (MEMPALACE_BROKER is ${config.endpoint})`}`,
      "type this command on the broker's machine; the containers of `palace devbox up` start with the Docker engine",
    );
  assertSettings(config.settings);
  const { dir, passphrase } = config.backup;
  const given = readVariable(config.env, "MEMPALACE_BACKUP_PASSPHRASE");
  if (dir !== undefined && given !== undefined && passphrase() === given)
    throw wrongUsage(
      "at login the broker has no passphrase for its backups, and would not encrypt them",
      "write it into a file, then: palace config set backup-passphrase-file FILE",
    );
  const unit = makeUnit(managerOf(platform, config), config);
  const there = readUnit(unit);
  assertManager(unit, config);
  const action = there === unit.content ? "keep" : "write";
  return { unit, action, commands: startCommands(unit, action === "write") };
}

/** Plans the removal; undefined if the file is missing. Errors: CONFIG_USAGE for a file that is not ours. */
export function planStop(config: Config, platform = process.platform): AtLogin | undefined {
  if (!hasManager(platform)) return undefined;
  const unit = makeUnit(managerOf(platform, config), config);
  if (readUnit(unit) === undefined) return undefined;
  return { unit, action: "remove", commands: stopCommands(unit) };
}

/** Writes or removes the service's file and tells the service manager. Errors: STORE_DISK_FULL, STORE_READ_ONLY. */
export function apply({ unit, action, commands }: AtLogin, env: Env): Done {
  const { file, content } = unit;
  try {
    if (action === "write") {
      mkdirSync(dirname(file), { recursive: true });
      writeUserFile(file, content);
    }
    // systemd needs the file to disable its unit. So the first command runs, then the file is removed, then systemd reloads the folder.
    const last = action === "remove" ? commands.slice(0, 1) : commands;
    const failed = runAll(last, commands, env);
    if (action !== "remove") return failed;
    rmSync(file);
    const after = runAll(commands.slice(1), commands, env);
    return failed.failed === undefined ? after : failed;
  } catch (cause) {
    throw cause instanceof PalaceError ? cause : writeFailure(dirname(file), cause);
  }
}

/**
 * Starts the service of `plan`, or else an installed service, and runs `ensure`, which waits for its broker. Until that broker answers, no
 * client starts another one. If the service fails, `ensure` starts a broker. `done`: outcome of the plan. `stale`: file of a service that
 * was not started, because it has other settings or another program than this command.
 */
export async function ensureByService<T>(
  config: Config,
  plan: AtLogin | undefined,
  ensure: () => Promise<T>,
): Promise<{ found: T; done?: Done; stale?: string | undefined }> {
  const { command, stale } = plan === undefined ? serviceOf(config) : {};
  if (plan === undefined && command === undefined) return { found: await ensure(), stale };
  const isMarked = takeStarting(config.paths, START_MARK_MS);
  try {
    const done = plan === undefined ? runAll(command ?? [], [], config.env) : apply(plan, config.env);
    if (isMarked && done.failed !== undefined) dropStarting(config.paths);
    const found = await ensure();
    return plan === undefined ? { found } : { found, done };
  } finally {
    if (isMarked) dropStarting(config.paths);
  }
}

/** Returns the command that starts the service of an earlier `palace start --at-login`, or the service's file if it is stale. */
function serviceOf(config: Config): { command?: AtLogin["commands"]; stale?: string } {
  if (!hasManager(process.platform)) return {};
  const unit = makeUnit(managerOf(process.platform, config), config);
  const content = contentOf(unit.file) ?? "";
  if (content === unit.content) return { command: startCommands(unit, false).slice(-1) };
  return isOurs(content) ? { stale: unit.file } : {};
}

export function noticeStale(stale: string | undefined, out: Output): void {
  if (stale === undefined) return;
  out.notice(`${stale} is for other settings or another program; the broker was started without it`);
  out.hint("  to write it again: palace start --at-login");
}

/** Returns the text of our own file; undefined if the file is missing. Errors: CONFIG_USAGE if the file is not ours. */
function readUnit({ file }: Unit): string | undefined {
  const content = contentOf(file);
  if (content === undefined || isOurs(content)) return content;
  throw wrongUsage(
    `${file} is not a file of palace-devbox; it was left as it is`,
    `move it away, then type the command again: mv ${quoted(file)} ${quoted(`${file}.mine`)}`,
  );
}

/** Reads a file's text; undefined if the file is missing. A link counts as empty, because a write would replace it. */
function contentOf(file: string): string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  return stat.isFile() ? readFileSync(file, "utf8") : "";
}

function assertManager({ manager }: Unit, config: Config): void {
  const program = manager === "systemd" ? "systemctl" : "launchctl";
  if (run([program, "--version"], config.env)?.code !== "ENOENT") return;
  throw wrongUsage(
    `${program} is not on the PATH, so ${manager} cannot start the broker`,
    `let your system run this at login: ${brokerCommand(config).map(quoted).join(" ")}`,
  );
}

function startCommands(unit: Unit, isNew: boolean): string[][] {
  const { manager, name, file } = unit;
  if (manager === "launchd")
    return isNew
      ? [bootout(unit), ["launchctl", "bootstrap", domain(), file]]
      : [["launchctl", "kickstart", target(unit)]];
  const systemctl = ["systemctl", "--user"];
  return [
    [...systemctl, "daemon-reload"],
    [...systemctl, "enable", name],
    // After the file has changed, restarts the broker, which may still run with the old file.
    [...systemctl, isNew ? "restart" : "start", name],
  ];
}

function stopCommands(unit: Unit): string[][] {
  if (unit.manager === "launchd") return [bootout(unit)];
  return [
    ["systemctl", "--user", "disable", "--now", unit.name],
    ["systemctl", "--user", "daemon-reload"],
  ];
}

/** Returns the command that makes launchd end an agent and forget it. */
function bootout(unit: Unit): string[] {
  return ["launchctl", "bootout", target(unit)];
}

function domain(): string {
  return `gui/${process.getuid?.() ?? ""}`;
}

function target({ name }: Unit): string {
  return `${domain()}/${name}`;
}

/** Runs the commands until one fails. `all`: the commands that a user types instead. */
function runAll(commands: AtLogin["commands"], all: AtLogin["commands"], env: Env): Done {
  for (const command of commands) {
    const failed = run(command, env);
    // At the first start, launchd has nothing to end, so this failure is normal.
    if (failed !== undefined && command[1] !== "bootout") return { failed: { why: failed.why, type: shown(all) } };
  }
  return {};
}

export function shown(commands: AtLogin["commands"]): string {
  return commands.map((words) => words.map(quoted).join(" ")).join(" && ");
}

/** Returns why the command failed; undefined if it succeeded. */
function run(
  [program = "", ...args]: readonly string[],
  env: Env,
): { code?: string | undefined; why: string } | undefined {
  const { error, status, stderr } = spawnSync(program, args, {
    env,
    encoding: "utf8",
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (error !== undefined) return { code: (error as NodeJS.ErrnoException).code, why: error.message };
  return status === 0 ? undefined : { why: stderr.trim().split("\n")[0] || `${program} failed` };
}
