/** Reports, before any change, what a recreate would lose, and what would prevent a recreate. */
import { mkdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { isRecord, parseRecord } from "../../base/parse-json.ts";
import { type Box, boxesOf, type Engine } from "../engine.ts";
import { HOME } from "../home-tree.ts";
import { askInside, sizeInside } from "../one-off.ts";
import { assertWorkspace } from "../workspace.ts";
import { wrongUsage } from "../../base/errors.ts";
import { hasRunSince } from "./drain.ts";
import { isSwitched, readJob } from "./job.ts";
import { removeOldSnapshots } from "../snapshot.ts";
import type { Room } from "./room.ts";

const AGENTS = ["claude", "opencode", "pi"];
const MINERS = ["mempalace-docs", "mempalace-session", "palace mine", "mempalace mine", "palace import"];
const DEVBOXES = ["devbox", "devbox-bridged"];
/** Free space that a build needs besides the copies. */
const SPARE_BYTES = 512 * 1024 * 1024;

export type Finding = Readonly<{ what: string; hint: string }>;

/** Paths that Docker itself adds to every container. */
const ENGINES =
  /^(\/usr)?\/sbin\/docker-init$|^\/etc\/(hostname|hosts|resolv\.conf|mtab)$|^\/\.dockerenv$|^\/(dev|proc|sys)(\/|$)/;
const FORCE = "or, to recreate anyway: palace devbox recreate --force";

/** Returns the reasons against a recreate, each with a remedy as its hint; none if a killed recreate has already replaced the containers. */
export async function preflight(room: Room): Promise<Finding[]> {
  const { engine, stack, state } = room;
  assertWorkspace(room.place.root, stack.workspace);
  const job = readJob(state);
  if (job !== undefined && isSwitched(job) && !(await hasRunSince(room, job))) return [];
  const boxes = await boxesOf(engine, stack.project);
  if (!["broker", "devbox"].every((name) => boxes.some(({ service }) => service === name)))
    throw wrongUsage("there is no stack here to recreate", "palace devbox up");
  const running = boxes.filter(({ isRunning }) => isRunning);
  removeOldSnapshots(join(state, "snapshots"), Infinity);
  room.log("looking for work that a recreate would interrupt or lose ...");
  return [
    ...(await writtenFiles(engine, boxes)),
    ...(await agentsAtWork(engine, running)),
    ...(await minesUnderWay(engine, running)),
    ...(await tooLittleSpace(engine, running, state)),
  ];
}

/** Finds files outside of the volumes, which a recreate loses. There are none as long as the containers' root is read-only. */
async function writtenFiles(engine: Engine, boxes: readonly Box[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id, name } of boxes) {
    const container = engine.getContainer(id);
    // For a container that never ran, dockerode returns Docker's answer `null` as a Buffer.
    const said: unknown = await container.changes();
    const changes = Array.isArray(said) ? (said as { Path: string; Kind: number }[]) : [];
    const { Mounts, HostConfig } = await container.inspect();
    const mounts = [...Mounts.map(({ Destination }) => Destination), ...Object.keys(HostConfig.Tmpfs ?? {})];
    const lost = lostFiles(changes, mounts);
    if (lost.length > 0)
      findings.push({
        what: `${name} has files outside of its volumes, which a recreate deletes: ${lost.slice(0, 3).join(", ")}`,
        hint: `docker diff ${name} lists them, docker cp ${name}:${lost[0] ?? ""} . fetches one`,
      });
  }
  return findings;
}

/** Returns the added and changed files of `docker diff`, without mount points, Docker's own files and parent folders. */
export function lostFiles(changes: readonly { Path: string; Kind: number }[], mounts: readonly string[]): string[] {
  const isMount = (path: string): boolean => mounts.some((mount) => mount === path || mount.startsWith(`${path}/`));
  const isEngines = (path: string): boolean => ENGINES.test(path);
  const made = changes.filter(({ Path, Kind }) => Kind !== 2 && !isMount(Path)).map(({ Path }) => Path);
  return made.filter((path) => !isEngines(path) && !made.some((other) => other.startsWith(`${path}/`)));
}

async function agentsAtWork(engine: Engine, boxes: readonly Box[]): Promise<Finding[]> {
  const found = new Set<string>();
  for (const { id } of boxes.filter(({ service }) => DEVBOXES.includes(service))) {
    const { Processes } = (await engine.getContainer(id).top({ ps_args: "-eo pid,args" })) as { Processes: string[][] };
    for (const [, line = ""] of Processes) {
      const name = programOf(line, [...AGENTS, ...MINERS]);
      if (name !== undefined) found.add(name);
    }
  }
  if (found.size === 0) return [];
  return [
    {
      what: `these programs run in the devbox: ${[...found].sort().join(", ")}`,
      hint: "wait until they end, or end them (palace devbox shell)",
    },
  ];
}

/** Returns the wanted program that a line of `ps` shows, as a command or as the script of an interpreter. */
export function programOf(line: string, wanted: readonly string[]): string | undefined {
  const patternOf = (name: string): string => name.replace(/(?= )|$/, "(\\.c?js)?");
  return wanted.find((name) => new RegExp(`^\\s*(\\S+\\s+)?(\\S*/)?${patternOf(name)}(\\s|$)`).test(line));
}

async function minesUnderWay(engine: Engine, boxes: readonly Box[]): Promise<Finding[]> {
  const broker = boxes.find(({ service }) => service === "broker");
  if (broker === undefined) return [];
  const said = await askInside(engine, broker.id, ["palace", "jobs", "--json"]).catch(() => "{}");
  const { jobs } = parseRecord(said);
  const running = (Array.isArray(jobs) ? jobs : []).filter((job) => isRecord(job) && job["state"] === "running");
  return running.map(({ kind = "job", id = "" }: Record<string, unknown>) => ({
    what: `the broker runs a job: ${String(kind)} (${String(id)})`,
    hint: `wait for it: palace devbox shell -- palace jobs; or cancel it: palace devbox shell -- palace jobs cancel ${String(id)}`,
  }));
}

/** Checks the free disk space: a recreate needs the memory's size twice (copy and check of the copy) and the home's size once. */
async function tooLittleSpace(engine: Engine, boxes: readonly Box[], state: string): Promise<Finding[]> {
  const sizeOf = async (service: string, path: string): Promise<number> => {
    const box = boxes.find((one) => one.service === service);
    return box === undefined ? 0 : ((await sizeInside(engine, box.id, path)) ?? 0);
  };
  const needed = 2 * (await sizeOf("broker", "/palace")) + (await sizeOf("devbox", HOME)) + SPARE_BYTES;
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = statfsSync(state);
  if (bavail * bsize >= needed) return [];
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  return [
    {
      what: `the disk of ${state} has ${gigabytes(bavail * bsize)} free, and the copies may take ${gigabytes(needed)}`,
      hint: "free some space",
    },
  ];
}

/** Throws if a reason against a recreate was found. Errors: CONFIG_USAGE. */
export function refuse(findings: readonly Finding[]): void {
  const [first] = findings;
  if (first === undefined) return;
  throw wrongUsage(`${findings.map(({ what }) => what).join("; ")}; nothing was changed`, `${first.hint}; ${FORCE}`);
}
