/**
 * Sets up the bridge at a devbox's first start, and retries until it works. If the host's user must act, it prints the command to type
 * there.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { $ } from "zx";
import { type ErrorCode, PalaceError } from "../src/base/errors.ts";
import { ROOT, type RunOptions, runAsMain } from "./main.ts";

const USAGE = `usage: devbox-setup [ssh://user@host[:port]] [--host-key SHA256:…] [--once]
  Makes the bridge to the host (default: MEMPALACE_BROKER), and retries until the bridge works.
  --host-key  the fingerprint of the host's key (default: DEVBOX_BRIDGE_HOST_KEY)
  --once      try once; the exit code says whether the bridge works`;

/** Pause after a refused key. At this pace sshd, which penalises refused keys, does not lock us out. */
const REFUSED_WAIT_MS = 15_000;
const AWAY_WAIT_MS = 5_000;

type Wanted = Readonly<{ target: string; port: string | undefined; hostKey: string | undefined }>;
type Failure = Readonly<{ code: ErrorCode; message: string; hint: string }>;

export async function run(options: RunOptions): Promise<number> {
  const { env, print, signal } = options;
  const { values, positionals } = readFlags(options.argv);
  if (values.help) {
    print(USAGE);
    return 0;
  }
  const endpoint = positionals[0] ?? env["MEMPALACE_BROKER"] ?? "";
  if (!endpoint.startsWith("ssh:")) {
    print("no bridge to set up: MEMPALACE_BROKER is not an address of the form ssh://user@host");
    return 0;
  }
  const wanted = readWanted(endpoint, values["host-key"] ?? env["DEVBOX_BRIDGE_HOST_KEY"]);
  if (await stands(wanted, options)) {
    print(`The bridge to ${wanted.target} works.`);
    return 0;
  }
  for (let before = ""; ;) {
    const failure = await tryOnce(wanted, options);
    if (failure === undefined) {
      print(`The bridge to ${wanted.target} works. The next call delivers the writes that agents spooled meanwhile.`);
      return 0;
    }
    if (failure.message !== before) await explain(wanted, failure, options);
    before = failure.message;
    if (failure.code.startsWith("CONFIG_") || values.once)
      throw new PalaceError(failure.code, `no bridge to ${wanted.target}: ${failure.message}`, failure.hint);
    await sleep(failure.code === "BROKER_DENIED" ? REFUSED_WAIT_MS : AWAY_WAIT_MS, undefined, { signal });
  }
}

function readFlags(argv: readonly string[]) {
  const boolean = { type: "boolean", default: false } as const;
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { "host-key": { type: "string" }, once: boolean, help: boolean },
    });
  } catch (error) {
    throw new PalaceError("CONFIG_USAGE", (error as Error).message, "devbox-setup --help");
  }
}

function readWanted(endpoint: string, hostKey: string | undefined): Wanted {
  const [, target, port] =
    /^ssh:\/\/((?:\w[\w.+-]*@)?(?:\[[\da-fA-F:]+\]|\w[\w.-]*))(?::(\d+))?\/?$/.exec(endpoint) ?? [];
  if (target === undefined)
    throw new PalaceError(
      "CONFIG_BAD_VALUE",
      `${endpoint} names no host`,
      "write ssh://user@host or ssh://user@host:port",
    );
  return { target: target.replace(/[[\]]/g, ""), port, hostKey: hostKey === "" ? undefined : hostKey };
}

/** Returns true if the bridge works. It checks only a bridge that is already set up, because the check starts the bridge's process. */
async function stands({ target, port }: Wanted, options: RunOptions): Promise<boolean> {
  const { bridge, through } = (await palace(options, "bridge", "status")) as {
    bridge?: { target: string; port: number } | null;
    through?: { ok: boolean };
  };
  return bridge?.target === target && (port === undefined || Number(port) === bridge.port) && through?.ok === true;
}

async function tryOnce({ target, port, hostKey }: Wanted, options: RunOptions): Promise<Failure | undefined> {
  const more = [
    ...(port === undefined ? [] : ["--port", port]),
    ...(hostKey === undefined ? [] : ["--host-key", hostKey]),
  ];
  return ((await palace(options, "bridge", "setup", target, ...more)) as { error?: Failure }).error;
}

async function explain(wanted: Wanted, { code, message, hint }: Failure, options: RunOptions): Promise<void> {
  const { log } = options;
  log(`no bridge yet: ${message}`);
  if (code !== "BROKER_DENIED" || hint.includes("--new-host-key")) {
    const isAway = code.startsWith("TRANSPORT_");
    return log(`  ${isAway ? "is the host up, and its sshd?" : `${hint};`} It is tried again here until it works.`);
  }
  if (hint.includes("--host-key")) {
    const fingerprint = /SHA256:\S+/.exec(message)?.[0] ?? "SHA256:…";
    log("  compare it with what the host says of itself:  ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub");
    log(`  if it is the same, start this container with:  DEVBOX_BRIDGE_HOST_KEY=${fingerprint}`);
  }
  const { publicKey = "" } = (await palace(options, "bridge", "key")) as { publicKey?: string };
  log(`  type this on the host, as ${wanted.target}; it goes on here by itself:`);
  // Omits the key's comment, which is only this container's name.
  log(`  palace gate authorize '${publicKey.split(" ").slice(0, 2).join(" ")}'`);
}

/** Runs `palace ARGS --json` and returns its document, even after a failure. */
async function palace({ env, signal }: RunOptions, ...args: string[]): Promise<object> {
  const own = join(ROOT, "dist", "bin", "palace.js");
  const command = existsSync(own) ? [process.execPath, own] : ["palace"];
  // The working directory may be a mounted project that the devbox's user cannot read.
  const done = await $({ cwd: "/", env, signal, quiet: true, nothrow: true })`${command} ${args} --json`;
  signal.throwIfAborted();
  try {
    return JSON.parse(done.stdout) as object;
  } catch (cause) {
    throw new PalaceError("CONFIG_USAGE", `palace ${args.join(" ")}: ${done.message}`, "is `palace` installed?", {
      cause,
    });
  }
}

if (import.meta.main) await runAsMain(run);
