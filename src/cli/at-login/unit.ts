/** Makes the file that starts the broker at login: a systemd user unit on Linux, a launchd agent on macOS. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../config/config.ts";
import { type Env, readVariable } from "../../config/env.ts";
import { resolvePaths } from "../../config/paths.ts";
import { wrongUsage } from "../../base/errors.ts";
import { withoutPassword } from "../../base/without-password.ts";
import { executable } from "../executable.ts";

/** Pause before a failed broker is started again, s. launchd does not limit the number of starts, so its pause is longer. */
const AGAIN_S = { systemd: 5, launchd: 60 };
/** Number of failed starts in `WITHIN_S` seconds after which systemd gives up. */
const STARTS_MAX = 5;
const WITHIN_S = 300;
/** Time that a broker has to finish its calls, s. It is longer than all steps of the broker's shutdown. */
const END_MAX_S = 60;

/** Text by which we recognise our own file. The launchd file has it in an XML comment, which may not contain two hyphens. */
const MARK = "Written by palace-devbox";

/** Variables, apart from settings, that a broker needs. */
const PASSED_ON = [
  ...["MEMPALACE_PATH", "MEMPALACE_PALACE_PATH", "MEMPALACE_CONFIG_DIR"],
  ...["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MEMPALACE_ENGINE", "MEMPALACE_TRUST_MOUNT"],
  ...["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS"],
];
/** Variable that turns the idle exit off: a service that exited when it was idle would be missing until the next login. */
const STAYS: [name: string, value: string] = ["MEMPALACE_IDLE_EXIT_MINUTES", "0"];
/** Matches a proxy with a user name, and a URL with a query. Both may contain a secret. */
const MAY_HOLD_SECRET = /^[a-z]*_proxy=.*@|:\/\/[^\s]*\?/i;
const SECRET = ["MEMPALACE_CHROMA_TOKEN", "MEMPALACE_BACKUP_PASSPHRASE"];

export type Manager = "systemd" | "launchd";

export type Unit = Readonly<{
  manager: Manager;
  name: string;
  file: string;
  content: string;
  /** Variables that are set here but are left out of the file, because their value is a secret. */
  left: readonly string[];
}>;

export function hasManager(platform: NodeJS.Platform): boolean {
  return platform === "linux" || platform === "darwin";
}

/** Returns the service manager of a platform. Errors: CONFIG_USAGE, with the command to type on another platform. */
export function managerOf(platform: NodeJS.Platform, config: Config): Manager {
  if (platform === "linux") return "systemd";
  if (platform === "darwin") return "launchd";
  throw wrongUsage(
    `palace-devbox writes login services for Linux and macOS, not for ${platform}`,
    `let your system run this at login: ${brokerCommand(config).join(" ")}`,
  );
}

/** Returns the command line of the broker that the service runs. All its paths are absolute. */
export function brokerCommand(config: Config): string[] {
  return [...executable("mempalace-broker"), "--at-login", ...config.handedOn().palace];
}

export function makeUnit(manager: Manager, config: Config): Unit {
  const argv = brokerCommand(config);
  const { kept, left } = variablesOf(config);
  const isUsual = resolvePaths({ HOME: config.env["HOME"] }).home === config.paths.home;
  const tag = isUsual ? "" : config.paths.tag;
  const user = readVariable(config.env, "HOME") ?? homedir();
  if (manager === "launchd") {
    const name = ["palace-devbox.broker", tag].filter(Boolean).join(".");
    const file = join(user, "Library/LaunchAgents", `${name}.plist`);
    return { manager, name, file, content: plist(name, argv, kept), left };
  }
  const name = ["palace-broker", tag].filter(Boolean).join("-");
  const file = join(
    readVariable(config.env, "XDG_CONFIG_HOME") ?? join(user, ".config"),
    "systemd/user",
    `${name}.service`,
  );
  return { manager, name, file, content: systemdUnit(name, argv, kept), left };
}

export function isOurs(content: string): boolean {
  return content.includes(MARK);
}

type Variables = [name: string, value: string][];

/** Selects the variables that a broker started without a shell would miss. Leaves out secrets, because people often share such files. */
function variablesOf(config: Config): { kept: Variables; left: string[] } {
  const { env } = config.handedOn();
  const settings = config.settings.told().flatMap(({ variable }) => variable ?? []);
  const isSet = ([name, value]: [string, string]): boolean => value !== "" && name !== STAYS[0];
  const set = [...PASSED_ON, ...settings, ...SECRET]
    .map((name): [string, string] => [name, absolute(name, env, config)])
    .filter(isSet);
  const isSecret = ([name, value]: [string, string]): boolean =>
    SECRET.includes(name) || withoutPassword(value) !== value || MAY_HOLD_SECRET.test(`${name}=${value}`);
  return { kept: [...set.filter((one) => !isSecret(one)), STAYS], left: set.filter(isSecret).map(([name]) => name) };
}

/** Returns a variable's value. Makes the path in MEMPALACE_PATH absolute, because the service starts in another folder. */
function absolute(name: string, env: Env, { paths }: Config): string {
  const value = env[name] ?? "";
  return name === "MEMPALACE_PATH" && value !== "" ? paths.settingsDir : value;
}

function systemdUnit(name: string, argv: readonly string[], variables: Variables): string {
  const [command = "", ...args] = argv;
  // systemd expands $NAME in the arguments, but not in the command.
  const line = [inQuotes(command), ...args.map((arg) => inQuotes(arg).replaceAll("$", "$$$$"))].join(" ");
  return `# ${MARK}: palace start --at-login writes this file, palace stop --at-login removes it.
# To change it: systemctl --user edit ${name}
[Unit]
Description=Memory of coding agents (palace-devbox)
StartLimitIntervalSec=${WITHIN_S}
StartLimitBurst=${STARTS_MAX}

[Service]
${variables.map(([key, value]) => `Environment=${inQuotes(`${key}=${value}`)}\n`).join("")}ExecStart=${line}
Restart=on-failure
RestartSec=${AGAIN_S.systemd}
TimeoutStopSec=${END_MAX_S}

[Install]
WantedBy=default.target
`;
}

/** Quotes one word of a systemd unit. `%` begins a specifier. */
function inQuotes(word: string): string {
  const escaped = word.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%").replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  return `"${escaped}"`;
}

function plist(name: string, argv: readonly string[], variables: Variables): string {
  const rows = variables.map(([key, value]) => `    <key>${inXml(key)}</key>\n    <string>${inXml(value)}</string>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${MARK}: palace start writes this file with its option at-login, palace stop removes it with the same option. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${inXml(name)}</string>
  <key>ProgramArguments</key>
  <array>
${argv.map((word) => `    <string>${inXml(word)}</string>\n`).join("")}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${rows.join("")}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>${AGAIN_S.launchd}</integer>
  <key>ExitTimeOut</key>
  <integer>${END_MAX_S}</integer>
</dict>
</plist>
`;
}

function inXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
