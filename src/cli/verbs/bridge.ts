/** `palace bridge` manages the connection from this container to its host's broker, over SSH. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { containerOf, setUpDockerBridge } from "../../wire/bridge/docker-setup.ts";
import { endBridge } from "../../wire/bridge/end-resident.ts";
import { ensureKey } from "../../wire/bridge/key.ts";
import { runResident } from "../../wire/bridge/resident.ts";
import { type BridgeSettings, keyFile, readSettings, readState, removeSettings } from "../../wire/bridge/settings.ts";
import { fingerprintOf, forgetOnHost, setUpBridge } from "../../wire/bridge/setup.ts";
import { isHeldOnDemand } from "../../broker/life/lock.ts";
import { withClient } from "../../wire/client/client.ts";
import { readBrokerFile } from "../../wire/client/discover.ts";
import type { Config } from "../../config/config.ts";
import { dockerOptions } from "../docker/one-memory.ts";
import { createLog } from "../../base/log.ts";
import { wrongUsage } from "../../base/errors.ts";
import type { Health } from "../../protocol/spec.ts";
import { logFile } from "../terminal/log-rotation.ts";
import { formatDuration } from "../terminal/output.ts";
import { type Call, defineVerb, options, readCount } from "../define-verb.ts";

const OPTIONS = options(
  "streamlocal through-ssh ssh-config= port= host-key= new-host-key remote-palace= remote-dir= remote-socket=",
);

const OWN_BROKER_MAX_MS = 10_000;
const POLL_MS = 50;

type BridgeCall = Call<typeof OPTIONS>;

export const verb = defineVerb({
  usage: `palace bridge setup HOST [--streamlocal | --through-ssh] [--port N] [--ssh-config FILE]
palace bridge setup docker:CONTAINER
palace bridge status
palace bridge key
palace bridge remove

Lets this container's agents use the broker of HOST (host, user@host or a name of your SSH configuration). HOST starts the
broker on demand. setup makes a key of its own, pins the host's key, lets the host accept that key only for the broker, and proves the round
trip; running it again changes nothing. key prints the public key, and makes it if there is none, for a host
that this container cannot reach with SSH (\`palace gate authorize KEY\` there). remove undoes all of it.

With docker:CONTAINER it is the other way round: this machine's agents use the broker in that container (of the compose stack:
palace-devbox-broker-1), through \`docker exec\`. \`palace up --docker\` sets that up if this machine has no memories of its own.

  --streamlocal       forward to a socket on the host instead of running \`palace gate\` there; its broker must be running
  --through-ssh       forward through your own \`ssh\` (shared connections, jump hosts), which must know the host
  --ssh-config FILE   the configuration your own \`ssh\` uses
  --port N            the host's SSH port
  --host-key SHA256:… the fingerprint of the host's key, if your own ssh does not know the host yet
  --new-host-key      pin the host's present key, because the host was reinstalled
  --remote-palace CMD how the host calls our command line (default: palace)
  --remote-dir DIR    folder of the palace on the host (default: the host's default palace)
  --remote-socket P   where forwarding ends (default: what \`palace gate socket\` prints on the host)`,
  options: OPTIONS,
  args: [1, 2],
  place: "any",
  run: async (call) => {
    const { args, config } = call;
    const [action = "", host] = args;
    if (action === "setup" && host !== undefined) return setup(call, host);
    if (action === "status" && host === undefined) return status(call);
    if (action === "key" && host === undefined) return key(call);
    if (action === "remove" && host === undefined) return remove(call);
    if (action === "run" && host === undefined) return run(config);
    if (action === "setup") throw wrongUsage("the host is missing", "palace bridge setup HOST");
    throw wrongUsage(`palace bridge ${args.join(" ")} is not a command`, "palace bridge --help");
  },
});

async function setup(call: BridgeCall, target: string): Promise<number> {
  const { config, env, out } = call;
  const container = containerOf(target);
  const settings =
    container === undefined
      ? await setUpSsh(call, target)
      : await setUpDockerBridge(config.paths, container, dockerOptions(env));
  await endBridge(config.paths);
  await ownBrokerLeft(config);
  if (existsSync(config.paths.ledgerFile))
    out.notice(
      `${config.paths.home} has memories of its own; they stay there, and no agent reads them while there is a bridge`,
    );
  const { instanceId, version } = await healthOverBridge(config);
  const shown = `The bridge works: the broker of ${settings.target} answers (${version}).`;
  return out.answer({ target, kind: settings.kind, instanceId, version }, shown);
}

function setUpSsh({ values, config, out }: BridgeCall, target: string): Promise<BridgeSettings> {
  const sshConfig = values["ssh-config"];
  return setUpBridge({
    paths: config.paths,
    target,
    kind: values["through-ssh"] === true ? "command" : values.streamlocal === true ? "streamlocal" : "gate",
    newHostKey: values["new-host-key"] === true,
    remotePalace: values["remote-palace"] ?? "palace",
    onStep: (text) => out.isJson || out.notice(text),
    ...(values.port !== undefined && { port: readCount(values.port, "port", 22) }),
    ...(values["host-key"] !== undefined && { fingerprint: values["host-key"] }),
    ...(values["remote-dir"] !== undefined && { remoteDir: values["remote-dir"] }),
    ...(values["remote-socket"] !== undefined && { remoteSocket: values["remote-socket"] }),
    ...(sshConfig !== undefined && { sshConfig }),
  });
}

/** Waits for the exit of a broker that an agent started here on demand. Such a broker exits when it sees the bridge. */
async function ownBrokerLeft({ paths }: Config): Promise<void> {
  const own = readBrokerFile(paths.brokerFile)?.instanceId;
  if (own === undefined || !isHeldOnDemand(paths.lockFile)) return;
  const deadline = performance.now() + OWN_BROKER_MAX_MS;
  while (readBrokerFile(paths.brokerFile)?.instanceId === own && performance.now() < deadline) await sleep(POLL_MS);
}

/** Connects over the bridge, even if MEMPALACE_BROKER names another broker. Errors: as connectClient. */
function healthOverBridge(config: Config): Promise<Health> {
  const options = { config: { ...config, endpoint: undefined }, agent: "palace bridge", start: "auto" } as const;
  return withClient(options, async ({ health }) => health);
}

async function status({ config, out }: BridgeCall): Promise<number> {
  const settings = readSettings(config.paths);
  if (settings === undefined)
    return out.answer({ bridge: null }, out.spelled("No bridge is set up here. palace bridge setup HOST makes one."));
  const state = readState(config.paths);
  const through = await healthOverBridge(config).then(
    ({ instanceId, version }) => ({ ok: true as const, instanceId, version }),
    (error: unknown) => ({ ok: false as const, why: (error as Error).message }),
  );
  const { target, host, port, user, kind, hostKey } = settings;
  const report = { target, host, port, user, kind, hostKey: hostKey && fingerprintOf(Buffer.from(hostKey, "base64")) };
  out.answer({ bridge: report, resident: state ?? null, through }, [
    ...(kind === "docker" ? [["container", host]] : sshRows(config, settings)),
    ["local end", config.paths.bridgeSocketPath],
    ["resident", describe(state)],
    ["broker", through.ok ? `answers, ${through.version}` : `does not answer: ${through.why}`],
  ]);
  return through.ok ? 0 : 3;
}

function sshRows({ paths }: Config, { target, host, port, user, kind, hostKey }: BridgeSettings): string[][] {
  const pinned = hostKey === "" ? "checked by ssh" : `${fingerprintOf(Buffer.from(hostKey, "base64"))}, pinned`;
  return [
    ["host", `${user}@${host}:${port}${target === host ? "" : ` (${target})`}`],
    ["kind", kind],
    ["host key", pinned],
    ["key", kind === "command" ? "chosen by ssh" : keyFile(paths)],
  ];
}

function key({ config, out }: BridgeCall): number {
  const publicKey = ensureKey(config.paths);
  return out.answer({ publicKey, file: keyFile(config.paths) }, publicKey);
}

function describe(state: ReturnType<typeof readState>): string {
  if (state === undefined) return "has not run yet";
  const since = formatDuration(Math.max(Date.now() - state.sinceMs, 0));
  // An older bridge process reports no hint, and the hint `palace bridge status` is useless to a user who has just typed that.
  const isOwn = [undefined, "", "palace bridge status"].includes(state.hint);
  const hint = isOwn ? "" : ` → ${state.hint}`;
  return `${state.state} for ${since}, ${state.channels} open${state.why === "" ? "" : `; ${state.why}${hint}`}`;
}

async function remove({ values, config, out }: BridgeCall): Promise<number> {
  const settings = readSettings(config.paths);
  const forgotten = await forgetOnHost(config.paths, values["remote-palace"] ?? "palace");
  await endBridge(config.paths);
  removeSettings(config.paths);
  out.answer(
    { removed: settings?.target ?? null, entryRemoved: forgotten },
    settings === undefined ? "No bridge was set up here." : `The bridge to ${settings.target} was removed here.`,
  );
  if (!forgotten && settings !== undefined)
    out.notice(
      `the host still has its entry: remove the line ending in palace-bridge from ${settings.user}'s authorized_keys`,
    );
  return 0;
}

async function run(config: Config): Promise<number> {
  const log = createLog(logFile(`${config.paths.stateDir}/bridge.log`), config.logLevel);
  await runResident({ paths: config.paths, idleExitMs: config.idleExitMs, log });
  return 0;
}
