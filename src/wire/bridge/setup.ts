/** Sets up a bridge over SSH: makes a key, pins the host's key, authorises our key on the host and tests the gate. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import type { Client } from "ssh2";
import { isRecord, parseJson } from "../../base/parse-json.ts";
import { denied, PalaceError } from "../../base/errors.ts";
import { shellWord } from "./authorized-keys.ts";
import { inTime } from "./channel.ts";
import { connectSsh, openGate, type Target } from "./ssh-connection.ts";
import { ensureKey } from "./key.ts";
import { type BridgePaths, type BridgeSettings, keyFile, readSettings, writeSettings } from "./settings.ts";
import { sshArguments } from "./ssh-command.ts";

/** Options of `palace bridge setup`. `onStep`: called with one line for people after each step. */
export type SetupOptions = {
  paths: BridgePaths;
  /** Destination for `ssh`: host, user@host, or an alias in the user's configuration. */
  target: string;
  port?: number;
  kind: BridgeSettings["kind"];
  /** Fingerprint SHA256:… of the host's key, from a trusted source. */
  fingerprint?: string;
  /** True to ignore the pinned host key, for example after the host was reinstalled. */
  newHostKey: boolean;
  sshConfig?: string;
  /** Command that runs `palace` on the host. */
  remotePalace: string;
  remoteDir?: string;
  /** Broker's socket on the host. If absent, the set-up asks the host for it. */
  remoteSocket?: string;
  onStep: (text: string) => void;
};

/** Sets up a bridge, and writes its settings when everything else has worked. Errors: CONFIG_BAD_VALUE, BROKER_DENIED, TRANSPORT_*. */
export async function setUpBridge(options: SetupOptions): Promise<BridgeSettings> {
  const { paths, kind, onStep } = options;
  const where = await lookUp(options);
  if (kind === "command") {
    const remoteSocket = await findSocket(options);
    const settings = { ...settingsOf(options, where, ""), remoteSocket };
    writeSettings(paths, settings);
    return settings;
  }
  const publicKey = ensureKey(paths);
  onStep(`key: ${keyFile(paths)}`);
  const pinned = options.newHostKey ? undefined : pinnedFor(paths, where);
  const hostKey = await findHostKey(options, where, pinned);
  onStep(`host key: ${fingerprintOf(hostKey)}${pinned === undefined ? ", pinned now" : ", as pinned"}`);
  const isKnown = (key: Buffer): boolean => key.equals(hostKey);
  const streamlocal = kind === "streamlocal" ? ["--streamlocal"] : [];
  let remoteSocket: string | undefined;
  let client: Client;
  const before = readSettings(paths)?.kind;
  try {
    client = await connectSsh(where, readFileSync(keyFile(paths)), isKnown);
    // Another kind of channel needs other rights for our key on the host.
    if (before !== undefined && before !== kind) await askHost(options, "authorize", [publicKey, ...streamlocal]);
    if (kind === "streamlocal") remoteSocket = await findSocket(options);
    onStep("entry on the host: it exists already");
  } catch (error) {
    if (!(error instanceof PalaceError && error.code === "BROKER_DENIED")) throw error;
    const remote = await askHost(options, "authorize", [publicKey, ...streamlocal]);
    remoteSocket = remote.gateSocket;
    onStep(`entry on the host: ${remote.file ?? "made"}`);
    client = await connectSsh(where, readFileSync(keyFile(paths)), isKnown);
  }
  try {
    if (kind === "gate") (await inTime(openGate(client), loginHint(options))).destroy();
  } finally {
    client.end();
  }
  const settings = {
    ...settingsOf(options, where, hostKey.toString("base64")),
    ...(kind === "streamlocal" && remoteSocket !== undefined && { remoteSocket }),
  };
  writeSettings(paths, settings);
  return settings;
}

/** Returns a hint about the login shell: sshd runs the gate through it, so a shell that waits delays the gate. */
function loginHint({ target }: SetupOptions): string {
  return `on the host: see that its login shell ends by itself (ssh ${target} true), and look at ~/.local/state/palace/gate.log; then again: palace bridge setup ${target}`;
}

/** Maximum number of characters of the host's unexpected answer that the error quotes. */
const SAID_MAX_CHARS = 80;

type Remote = { file?: string; gateSocket: string };

async function findSocket(options: SetupOptions): Promise<string> {
  return options.remoteSocket ?? (await askHost(options, "socket", [])).gateSocket;
}

function settingsOf({ kind, target, sshConfig }: SetupOptions, where: Target, hostKey: string): BridgeSettings {
  return { schema: 1, target, ...where, hostKey, kind, ...(sshConfig !== undefined && { sshConfig }) };
}

/** Resolves `target` with the user's ssh. If that fails, the host is `target` itself, without the user. */
async function lookUp({ target, port, sshConfig }: SetupOptions): Promise<Target> {
  const [, named, bare = target] = /^(?:([^@]+)@)?(.+)$/.exec(target) ?? [];
  const said = await run("ssh", [...sshArguments(sshConfig), "-G", target]).catch(() => "");
  const of = (key: string): string | undefined => new RegExp(`^${key} (.*)$`, "m").exec(said)?.[1];
  return {
    host: of("hostname") ?? bare,
    port: port ?? Number(of("port") ?? 22),
    user: named ?? of("user") ?? userInfo().username,
  };
}

function pinnedFor(paths: BridgePaths, { host, port }: Target): Buffer | undefined {
  const known = readSettings(paths);
  if (known?.host !== host || known.port !== port || known.hostKey === "") return undefined;
  return Buffer.from(known.hostKey, "base64");
}

/** Returns the host's key if it is pinned, expected by the user or in known_hosts. Errors: BROKER_DENIED with the key's fingerprint. */
async function findHostKey(options: SetupOptions, where: Target, pinned: Buffer | undefined): Promise<Buffer> {
  let shown: Buffer | undefined;
  await connectSsh(where, readFileSync(keyFile(options.paths)), (key) => {
    shown = Buffer.from(key);
    return false;
  }).catch((error: unknown) => {
    if (shown === undefined) throw error;
  });
  if (shown === undefined) throw new PalaceError("TRANSPORT_REFUSED", `${where.host} shows no host key`, "");
  if (pinned !== undefined) {
    if (pinned.equals(shown)) return shown;
    throw denied(
      `${where.host} shows another host key than it did at the set-up: ${fingerprintOf(shown)}`,
      `if the host really has a new key: palace bridge setup ${options.target} --new-host-key`,
    );
  }
  const isExpected =
    options.fingerprint === undefined
      ? await isInKnownHosts(where, shown, options)
      : options.fingerprint === fingerprintOf(shown);
  if (isExpected) return shown;
  throw denied(
    `${where.host} shows a host key that nobody has confirmed: ${fingerprintOf(shown)}`,
    `compare it on the host (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), then: palace bridge setup ${options.target} --host-key ${fingerprintOf(shown)}`,
  );
}

async function isInKnownHosts(
  { host, port }: Target,
  key: Buffer,
  { sshConfig, target }: SetupOptions,
): Promise<boolean> {
  const said = await run("ssh", [...sshArguments(sshConfig), "-G", target]).catch(() => "");
  const files = [...said.matchAll(/^(?:user|global)knownhostsfile (.*)$/gm)].flatMap(([, names = ""]) =>
    names.split(" "),
  );
  const name = port === 22 ? host : `[${host}]:${port}`;
  for (const file of files.map((one) => one.replace(/^~/, homedir())).filter((one) => existsSync(one))) {
    const found = await run("ssh-keygen", ["-F", name, "-f", file]).catch(() => "");
    if (found.split("\n").some((line) => line.split(" ")[2] === key.toString("base64"))) return true;
  }
  return false;
}

/** Runs `palace gate ACTION` on the host through the user's ssh. Errors: BROKER_DENIED with the command to type on the host. */
async function askHost(options: SetupOptions, action: "authorize" | "socket", words: string[]): Promise<Remote> {
  const { target, port, sshConfig, remotePalace, remoteDir } = options;
  const place = remoteDir === undefined ? [] : ["--palace", remoteDir];
  const command = [...remotePalace.split(" "), "gate", action, ...words, ...place, "--json"];
  const ssh = [...sshArguments(sshConfig), ...(port === undefined ? [] : ["-p", String(port)]), target, "--"];
  try {
    return lastObject(await run("ssh", [...ssh, command.map(shellWord).join(" ")]));
  } catch (cause) {
    const typed = ["palace", "gate", action, ...[...words, ...place].map(shellWord)].join(" ");
    throw new PalaceError(
      "BROKER_DENIED",
      `the host could not be asked for an entry: ${(cause as Error).message.split("\n").at(-1) ?? ""}`,
      `on the host: ${typed}   then again: palace bridge setup ${target}`,
      { cause },
    );
  }
}

/**
 * Returns the last line that is a JSON object, because a shell's start files may print other lines. Errors: an Error without such a line.
 */
function lastObject(said: string): Remote {
  const lines = said.trim().split("\n");
  const answer = lines.map(parseJson).findLast(isRecord);
  if (answer !== undefined) return answer as Remote;
  const [first = ""] = lines;
  throw new Error(`another program answered; its answer begins with ${JSON.stringify(first.slice(0, SAID_MAX_CHARS))}`);
}

/** Returns a key's fingerprint, `SHA256:…`. `key`: in SSH's wire format. */
export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash("sha256").update(key).digest("base64").replace(/=+$/, "")}`;
}

/** Returns the command's stdout. Errors: an Error with its stderr. */
function run(command: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stderr.trim() || error.message, { cause: error }));
    });
  });
}

/** Removes our public key from the host's `authorized_keys`. Returns false if that fails, and true if the host has no key of ours. */
export async function forgetOnHost(paths: BridgePaths, remotePalace: string): Promise<boolean> {
  const settings = readSettings(paths);
  if (settings === undefined || ["command", "docker"].includes(settings.kind) || !existsSync(`${keyFile(paths)}.pub`))
    return true;
  const publicKey = readFileSync(`${keyFile(paths)}.pub`, "utf8").trim();
  const command = [...remotePalace.split(" "), "gate", "revoke", publicKey].map(shellWord).join(" ");
  const ssh = [...sshArguments(settings.sshConfig), "-p", String(settings.port), settings.target, "--", command];
  return run("ssh", ssh).then(
    () => true,
    () => false,
  );
}
