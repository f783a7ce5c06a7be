/** Brings the stack up, for `palace devbox up`, `palace up --docker` and scripts/up. Repeating it changes nothing. */
import {
  askAgain,
  assertCertificates,
  composeCommand,
  type Place,
  readStack,
  runCompose,
  type Stack,
  type Watch,
} from "./compose.ts";
import { composeFailed } from "./failure.ts";
import { giveIdentity, gitFolderOf, gitObstacle, gitVariables, hostIdentity, keepGitFolder } from "./git.ts";
import { boxesOf, type Engine, hasVolume, openEngine } from "./engine.ts";
import { revisionOf } from "./folder.ts";
import { type Before, moveStack, stackBefore } from "./move.ts";
import { lockStack, type Note, readNote, stateFolder, writeNote } from "./note.ts";
import { assertOurs, real } from "./owner.ts";
import { sweepOneOffs } from "./one-off.ts";
import type { Opened } from "./opened.ts";
import { finishRecreate } from "./recreate/finish.ts";
import { writeStackUser } from "./user.ts";
import { type Chosen, chooseWorkspace, keepWorkspace } from "./workspace.ts";
import { PalaceError } from "../base/errors.ts";

export type UpOptions = Place &
  Watch &
  Readonly<{
    stateDir: string;
    cacheDir: string;
    cwd: string;
    workspace?: string | undefined;
    /** True for `--share`: this folder uses another folder's stack from then on. */
    share?: boolean | undefined;
    /** Project from which memory and home are copied (`--from`). */
    from?: string | undefined;
    /** True for `--fresh`: makes a new memory and home, even if this folder has them under another project name. */
    fresh?: boolean | undefined;
  }>;

const WAIT_MAX_SECONDS = 300;

/** Reads and locks the stack, and removes what a killed run has left. Errors: CONFIG_USAGE for another folder's stack, and without Docker. */
export async function openStack(
  options: Place & Readonly<{ stateDir: string; share?: boolean | undefined }>,
): Promise<Opened> {
  const place = { root: options.root, env: options.env };
  const engine = await openEngine(place.env);
  const stack = await readStack(place);
  const state = stateFolder(options.stateDir, stack.project);
  lockStack(state);
  const boxes = await boxesOf(engine, stack.project);
  const note = await noteOf(engine, state);
  const hasVolumes = await hasVolume(engine, stack.volumes.palace);
  if (options.share !== true)
    assertOurs({
      root: place.root,
      project: stack.project,
      containers: boxes.map(({ folder }) => folder),
      note,
      hasVolumes,
    });
  await sweepOneOffs(engine, stack.project);
  return { stack, engine, state, place, hasVolumes };
}

/** Brings the stack up. Errors: as openStack; CONFIG_BAD_VALUE for a missing workspace; BROKER_START_FAILED. */
export async function upStack(options: UpOptions): Promise<Opened> {
  const { root, log } = options;
  const opened = await openStack(options);
  const { engine } = opened;
  assertCertificates(opened.stack, opened.place);
  await finishRecreate({ ...opened, ...options, place: opened.place }, "up");
  const here = { ...opened, engineId: await engineId(engine) };
  const before = await stackBefore(here, { from: options.from, fresh: options.fresh });
  const chosen = await workspaceOf(opened, options, before);
  // Copied volumes keep the owner of their files, so the stack's user is chosen only for new volumes.
  if (before === undefined) await writeStackUser(opened.place, options, engine);
  const { folder: workspace } = chosen;
  const revision = await revisionOf(root, options.env);
  // Leaves DEVBOX_WORKSPACE unset for compose's default folder, because the container warns if a folder that was set once is unset later.
  const mounts = workspace === opened.stack.workspace ? {} : { DEVBOX_WORKSPACE: workspace };
  const obstacle = gitObstacle(workspace);
  if (obstacle !== undefined) log(obstacle);
  const gitFolder = obstacle === undefined ? gitFolderOf(workspace) : undefined;
  const env = { ...options.env, ...mounts, ...gitVariables(gitFolder), PALACE_REVISION: revision };
  await noteFolder(opened, (await noteOf(engine, opened.state))?.workspace ?? "");
  if (before !== undefined) await moveStack(here, { root, env }, before, options);
  log("docker compose up devbox (the first time builds three images: some minutes) ...");
  const args = ["up", "-d", "--build", "--wait", "--wait-timeout", String(WAIT_MAX_SECONDS), "devbox"];
  const seen = await runCompose({ root, env }, args, options);
  const failure = seen === "" ? await askAgain({ root, env }, args, options) : seen;
  if (failure === undefined) {
    keepWorkspace(root, chosen, log);
    keepGitFolder(root, gitFolder);
    if (gitFolder !== undefined) log(`/workspace is a git worktree; its repository is mounted: ${gitFolder.source}`);
    const identity = await hostIdentity(options.env, workspace);
    if (identity !== undefined) await giveIdentity(engine, opened.stack.project, identity, log);
    await noteFolder({ ...opened, hasVolumes: true }, workspace);
    return { ...opened, place: { root, env }, before: before?.stack.project };
  }
  if (seen !== "") log(failure);
  throw composeFailed("the compose stack did not become healthy", failure, { root, env });
}

async function workspaceOf(
  { stack, engine, state }: Opened,
  { root, env, cwd, workspace }: UpOptions,
  before: Before | undefined,
): Promise<Chosen> {
  const own = (await mountedWorkspace(engine, stack)) ?? noted((await noteOf(engine, state))?.workspace);
  const last =
    before === undefined ? own : ((await mountedWorkspace(engine, before.stack)) ?? noted(before.note?.workspace));
  const variable = env["DEVBOX_WORKSPACE"] === "" ? undefined : env["DEVBOX_WORKSPACE"];
  return chooseWorkspace({ root, option: workspace, variable, cwd, resolved: stack.workspace, last });
}

/** Returns the workspace in the note; undefined if it is empty, as for a stack that never came up. */
function noted(workspace: string | undefined): string | undefined {
  return workspace === "" ? undefined : workspace;
}

/** Returns the folder of the host that the devbox mounts; undefined if its container was never started. */
async function mountedWorkspace(engine: Engine, { project }: Stack): Promise<string | undefined> {
  const box = (await boxesOf(engine, project)).find(({ service }) => service === "devbox");
  if (box === undefined) return undefined;
  const { Mounts, State } = await engine.getContainer(box.id).inspect();
  if (!(Date.parse(State.StartedAt) > 0)) return undefined;
  return Mounts.find(({ Destination }) => Destination === "/workspace")?.Source;
}

/** Returns our note about the stack, unless it is about another Docker daemon. */
async function noteOf(engine: Engine, state: string): Promise<Note | undefined> {
  const note = readNote(state);
  return note !== undefined && note.engine === (await engineId(engine)) ? note : undefined;
}

/** Stores this folder as an owner of the stack. For a stack without volumes, drops the earlier owners. */
async function noteFolder({ engine, state, place, hasVolumes }: Opened, workspace: string): Promise<void> {
  const before = hasVolumes ? ((await noteOf(engine, state))?.folders ?? []) : [];
  const folders = [...new Set([...before, real(place.root)])];
  writeNote(state, { folders, workspace, engine: await engineId(engine) });
}

async function engineId(engine: Engine): Promise<string> {
  return String(((await engine.info()) as { ID?: string }).ID ?? "");
}

/** Returns the name of the broker's container; undefined for a stack without a broker. Errors: BROKER_START_FAILED if it does not run. */
export async function brokerContainer({ engine, stack, place }: Opened): Promise<string | undefined> {
  if (!stack.services.includes("broker")) return undefined;
  const found = (await boxesOf(engine, stack.project)).find(
    ({ service, isRunning }) => service === "broker" && isRunning,
  );
  if (found !== undefined) return found.name;
  const logs = composeCommand(place).concat("logs", "broker").join(" ");
  throw new PalaceError("BROKER_START_FAILED", "the stack's broker does not run", logs);
}
