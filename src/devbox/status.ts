/** Collects the status of the stack from Docker and from the running containers. Changes nothing. */
import { join } from "node:path";
import { isRecord, parseRecord } from "../base/parse-json.ts";
import { within } from "../base/time-limit.ts";
import { readStack, type Place, type Service } from "./compose.ts";
import { type Counts, countCommand, parseCounts } from "./counts.ts";
import { type Box, boxesOf, type Engine, hasVolume, openEngine, unlessMissing } from "./engine.ts";
import { revisionOf } from "./folder.ts";
import { HOME } from "./home-tree.ts";
import { stateFolder } from "./note.ts";
import { askInside, sizeInside } from "./one-off.ts";
import { real } from "./owner.ts";
import { readJob } from "./recreate/job.ts";
import { snapshotsIn } from "./snapshot.ts";

export type ServiceState = Readonly<{
  service: string;
  name: string;
  state: string;
  health: string | null;
  image: string;
  revision: string | null;
}>;
export type VolumeState = Readonly<{ name: string; bytes: number | null }>;

export type DevboxStatus = Readonly<{
  project: string;
  folder: string;
  /** Folder of another clone that made a container; null if this folder made all of them. */
  madeFrom: string | null;
  revision: string;
  /** Services that the settings enable; `services` lists the existing containers. */
  expected: readonly Service[];
  services: readonly ServiceState[];
  volumes: readonly VolumeState[];
  workspace: string | null;
  user: string | null;
  memory: Counts | null;
  lastBackup: string | null;
  snapshots: readonly string[];
  unfinished: Readonly<{ step: string; since: string }> | null;
}>;

/** Time limit for measuring sizes, which is slow for a home with many small files. */
const SIZE_MAX_MS = 5_000;

export async function devboxStatus(place: Place, stateDir: string): Promise<DevboxStatus> {
  const engine = await openEngine(place.env);
  const stack = await readStack(place);
  const state = stateFolder(stateDir, stack.project);
  const boxes = await boxesOf(engine, stack.project);
  const running = (service: string): Box | undefined => boxes.find((box) => box.service === service && box.isRunning);
  const [broker, devbox] = [running("broker"), running("devbox")];
  const inspected = devbox && (await engine.getContainer(devbox.id).inspect());
  const sizes = await sizesOf(engine, broker, devbox);
  const job = readJob(state);
  const snapshots = snapshotsIn(join(state, "snapshots"));
  const others = boxes.filter(({ folder }) => real(folder) !== real(place.root));
  const volumes: VolumeState[] = [];
  for (const [what, name] of Object.entries(stack.volumes))
    if (await hasVolume(engine, name)) volumes.push({ name, bytes: sizes[what] ?? null });
  return {
    ...{ project: stack.project, folder: place.root, madeFrom: others[0]?.folder ?? null },
    revision: await revisionOf(place.root, place.env),
    expected: stack.services,
    services: await Promise.all(boxes.map((box) => serviceState(engine, box))),
    volumes,
    workspace: inspected?.Mounts.find(({ Destination }) => Destination === "/workspace")?.Source ?? null,
    user: inspected?.Config.User ?? null,
    memory:
      broker === undefined ? null : await askInside(engine, broker.id, countCommand(0)).then(parseCounts, () => null),
    lastBackup: await lastBackup(engine, broker, snapshots),
    snapshots: snapshots.map((name) => join(state, "snapshots", name)),
    unfinished: job === undefined ? null : { step: job.step, since: momentOf(job.id) },
  };
}

/** Returns true if all services run and none reports a problem. */
export function isUp({ expected, services }: DevboxStatus): boolean {
  return expected.every((name) =>
    services.some(
      ({ service, state, health }) => service === name && state === "running" && (health ?? "healthy") === "healthy",
    ),
  );
}

async function serviceState(engine: Engine, { id, name, service, imageId }: Box): Promise<ServiceState> {
  const { State, Config } = await engine.getContainer(id).inspect();
  const revision = revisionIn((await unlessMissing(engine.getImage(imageId).inspect()))?.Config.Labels);
  const health = (State.Running ? State.Health?.Status : undefined) ?? null;
  return { service, name, state: State.Status, health, image: Config.Image, revision };
}

/** Returns the revision of an image; null if it has none, as after a build with plain `docker compose`. */
export function revisionIn(labels: Record<string, string> | null | undefined): string | null {
  const { "org.opencontainers.image.revision": revision = "unknown" } = labels ?? {};
  return revision === "unknown" ? null : revision;
}

async function sizesOf(
  engine: Engine,
  broker: Box | undefined,
  devbox: Box | undefined,
): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  const measure = async (what: string, box: Box | undefined, path: string): Promise<void> => {
    if (box === undefined) return;
    const bytes = await within(sizeInside(engine, box.id, path), SIZE_MAX_MS).catch(() => undefined);
    if (bytes !== undefined) sizes[what] = bytes;
  };
  await Promise.all([
    measure("palace", broker, "/palace"),
    measure("broker", broker, "/var/lib/mempalace"),
    measure("data", devbox, HOME),
  ]);
  return sizes;
}

/** Returns the time of the newest backup or snapshot. */
async function lastBackup(
  engine: Engine,
  broker: Box | undefined,
  snapshots: readonly string[],
): Promise<string | null> {
  const moments = snapshots.slice(-1).map(momentOf);
  if (broker !== undefined) {
    const said = await askInside(engine, broker.id, [
      "sh",
      "-c",
      "cat $MEMPALACE_PATH/backups.json 2>/dev/null || echo {}",
    ]).catch(() => "{}");
    for (const at of backupMoments(said)) moments.push(new Date(at).toISOString());
  }
  return moments.sort().at(-1) ?? null;
}

function backupMoments(text: string): number[] {
  const { backups } = parseRecord(text);
  const made = Array.isArray(backups) ? (backups as unknown[]) : [];
  return made.flatMap((one) => (isRecord(one) && typeof one["madeAtMs"] === "number" ? [one["madeAtMs"]] : []));
}

/** Converts the name of a snapshot to an ISO time. */
export function momentOf(id: string): string {
  return id.replace(/T(\d\d)-(\d\d)-(\d\d)-(\d+)Z$/, "T$1:$2:$3.$4Z");
}
