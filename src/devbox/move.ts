/** Copies the volumes of another project name to this stack and keeps the old ones. If it is killed, the next `up` copies again. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { faultPoint } from "../base/fault-point.ts";
import { readRecord } from "../base/parse-json.ts";
import { namesIn } from "../base/read-folder.ts";
import { type PalaceError, unavailable, wrongUsage } from "../base/errors.ts";
import { type Place, readStack, runCompose, type Stack, type Watch } from "./compose.ts";
import { composeFailed } from "./failure.ts";
import { takeDown } from "./down.ts";
import { boxesOf, type Engine, hasVolume } from "./engine.ts";
import { type Note, readNote, writeState } from "./note.ts";
import { asRoot, runOneOff } from "./one-off.ts";
import { assertOurs, real } from "./owner.ts";

export type Wanted = Readonly<{
  /** Project to copy from (`--from`). */
  from: string | undefined;
  /** True if the user wants a new memory and home (`--fresh`). */
  fresh: boolean | undefined;
}>;

/** Stack to copy from. */
export type Before = Readonly<{ stack: Stack; place: Place; note: Note | undefined }>;

type Here = Readonly<{
  stack: Stack;
  engine: Engine;
  engineId: string;
  state: string;
  place: Place;
  hasVolumes: boolean;
}>;

const FILE = "move.json";
const COPIED = ["palace", "data", "broker"] as const;
const ERASE = "to erase it: palace devbox down --volumes --no-backup";
/** Script that copies a volume and then compares the copy with the original. Only sockets are not copied. */
const COPY = `set -euo pipefail
find /to -mindepth 1 -delete
read_all() { tar --create --numeric-owner --directory /from --file - .; }
read_all | tar --extract --numeric-owner --same-permissions --same-owner --directory /to --file -
sync --file-system /to
read_all | tar --compare --numeric-owner --directory /to --file -`;

/**
 * Returns undefined if there is nothing to copy. Errors: CONFIG_USAGE if the user must choose, or chose a project that cannot be copied.
 */
export async function stackBefore(here: Here, { from, fresh }: Wanted): Promise<Before | undefined> {
  const { stack, hasVolumes, place, state } = here;
  const refuse = (why: string, hint: string): PalaceError => wrongUsage(`${why}; nothing was changed`, hint);
  if (from !== undefined && fresh === true) throw refuse("--from and --fresh exclude each other", "give one of them");
  const begun = readMove(state);
  const mayHaveRun = begun !== undefined && hasVolumes && (await wasStarted(here));
  if (fresh === true) {
    if (begun !== undefined && hasVolumes && !mayHaveRun)
      throw refuse(
        `the copy from ${begun} was interrupted, and is not complete`,
        `palace devbox up continues it; ${ERASE}`,
      );
    rmSync(join(state, FILE), { force: true });
    return undefined;
  }
  const named = from ?? begun;
  if (named !== undefined) {
    if (hasVolumes && begun === undefined)
      throw refuse(
        `the project ${stack.project} has a memory and a home of its own`,
        "palace devbox up, without --from",
      );
    const before = await openBefore(here, named);
    if (before === undefined)
      throw refuse(`there is no stack ${named} with volumes in this engine`, "docker volume ls");
    // A copy would overwrite later writes of the new stack.
    if (mayHaveRun)
      throw refuse(
        `the copy from ${named} was interrupted, and ${stack.project} may have run since`,
        `to use the volumes as they are: palace devbox up --fresh; ${ERASE}`,
      );
    return before;
  }
  if (hasVolumes) return undefined;
  const earlier = await earlierProject(here);
  if (earlier === undefined) return undefined;
  throw refuse(
    `the memory and the home of ${place.root} belong to the project ${earlier}, and ${stack.project} has none`,
    `to copy them: palace devbox up --from ${earlier}; to begin without them: palace devbox up --fresh`,
  );
}

/** Takes the old stack down and copies its volumes. `place`: settings of the new stack. Errors: STORE_UNAVAILABLE, compose's errors. */
export async function moveStack(here: Here, place: Place, before: Before, watch: Watch): Promise<void> {
  const { engine, stack, state } = here;
  writeState(state, FILE, { from: before.stack.project });
  await takeDown(before, false, watch);
  faultPoint("move.down");
  watch.log(`making the volumes of ${stack.project} ...`);
  const failure = await runCompose(place, ["up", "--no-start", "--build", "devbox"], watch);
  if (failure !== undefined) {
    watch.log(failure);
    throw composeFailed("an image or a volume could not be made", failure, place);
  }
  for (const name of COPIED) {
    const [source, target] = [before.stack.volumes[name], stack.volumes[name]];
    if (!(await hasVolume(engine, source)) || !(await hasVolume(engine, target))) continue;
    watch.signal?.throwIfAborted();
    watch.log(`copying ${source} to ${target} ...`);
    await copyVolume(here, source, target);
    faultPoint(`move.${name}`);
  }
  rmSync(join(state, FILE));
}

async function copyVolume({ engine, stack }: Here, source: string, target: string): Promise<void> {
  const box = (await boxesOf(engine, stack.project)).find(({ service }) => service === "devbox");
  const mounts = [
    { Type: "volume", Source: source, Target: "/from", ReadOnly: true } as const,
    { Type: "volume", Source: target, Target: "/to" } as const,
  ];
  const root = asRoot(box?.imageId ?? stack.images.devbox, mounts, ["DAC_OVERRIDE", "CHOWN", "FOWNER", "FSETID"]);
  const program = { ...root, command: ["bash", "-c", COPY], stdout: new PassThrough().resume() };
  const { code, said } = await runOneOff(engine, stack.project, program);
  if (code === 0) return;
  const [line = ""] = said.split("\n").slice(-1);
  throw unavailable(
    `${source} could not be copied (exit ${code}): ${line}; it is unchanged`,
    "palace devbox up tries it again",
  );
}

/** Finds the first project, by name, that was started from this folder in this Docker daemon and has a memory. */
async function earlierProject(here: Here): Promise<string | undefined> {
  const parent = join(here.state, "..");
  for (const project of namesIn(parent)) {
    if (project === here.stack.project) continue;
    const note = readNote(join(parent, project));
    if (note?.engine !== here.engineId || !note.folders.map(real).includes(real(here.place.root))) continue;
    if ((await openBefore(here, project)) !== undefined) return project;
  }
  return undefined;
}

/** Returns the stack of a project; undefined if it has no memory. Errors: CONFIG_USAGE if the project belongs to another folder. */
async function openBefore({ engine, engineId, state, place }: Here, project: string): Promise<Before | undefined> {
  const there = { root: place.root, env: { ...place.env, COMPOSE_PROJECT_NAME: project } };
  const stack = await readStack(there);
  if (!(await hasVolume(engine, stack.volumes.palace))) return undefined;
  const boxes = await boxesOf(engine, project);
  const noted = readNote(join(state, "..", project));
  const note = noted?.engine === engineId ? noted : undefined;
  const containers = boxes.map(({ folder }) => folder);
  assertOurs({ root: place.root, project, containers, note, hasVolumes: true });
  return { stack, place: there, note };
}

/** Returns true if the new stack may have run: a container was started, or none exists. A copy creates containers but starts none. */
async function wasStarted({ engine, stack }: Here): Promise<boolean> {
  const boxes = await boxesOf(engine, stack.project);
  if (boxes.length === 0) return true;
  const states = await Promise.all(boxes.map(async ({ id }) => (await engine.getContainer(id).inspect()).State));
  return states.some(({ StartedAt }) => Date.parse(StartedAt) > 0);
}

/** Returns the project of a copy that was begun and not finished. */
function readMove(state: string): string | undefined {
  const { from } = readRecord(join(state, FILE));
  return typeof from === "string" ? from : undefined;
}
