/** Files a project's documents. A document is never half-filed after a kill: the broker replaces all its drawers in one transaction. */
import { createHash } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { removeLeftovers } from "../../base/atomic-file.ts";
import { quoted } from "../../base/shell-word.ts";
import { unreadable } from "../../base/errors.ts";
import type { FilingRecord } from "../../protocol/filing.ts";
import { type IsMined, minedFinder, whenAdopted } from "../mined.ts";
import { notedRecords, writeNotes } from "../notes.ts";
import { inodeOf } from "../inode.ts";
import { type FeedDeps, fileEach } from "../run.ts";
import type { Caller } from "../send.ts";
import { fileDocument, inspect, isTooShort, removeDocument, settle } from "./file-document.ts";
import type { Front } from "./kinds-of-run.ts";
import { rebuildLinks } from "./links.ts";
import { recordsByPath, type Plan, planFeed } from "./plan.ts";
import { wingOfFolder } from "../../base/project-names.ts";
import { type Project, readProject } from "./project.ts";
import { leaveToOthers } from "./nested.ts";
import { readRegistry } from "./registry.ts";
import type { FeedOptions, FeedReport, Run } from "./run.ts";
import { surveyProject } from "./survey.ts";
import { claimStage, findStage, hasHalf, type Manifest, readManifest, type Stage, stagedPath } from "./staging-area.ts";

export type DocumentsDeps = Omit<FeedDeps, "caller"> & {
  options: FeedOptions;
  /** Connects to the broker. Returns undefined in a dry run if no broker runs, because a dry run does not start one. */
  connect: () => Promise<Caller | undefined>;
};

const IN_FLIGHT_MAX = 4;
/** Version of the rules in no-document.ts. A new version makes the next run read all documents again. */
const TEXT_RULES = 1;

/** Errors: FEEDER_SOURCE_UNREADABLE, CONFIG_BAD_VALUE, and the broker's, except errors about a single document. */
export async function feedDocuments({ options, connect, watch, signal }: DocumentsDeps): Promise<FeedReport> {
  const root = openProject(options.dir, options.front);
  const connecting = connect();
  // If reading the project below throws, nobody awaits `connecting`, and a failed connection would be an unhandled rejection.
  connecting.catch(() => {});
  const { front } = options;
  // Upstream's mode `extract` uses the rooms of a mempalace.yaml, but not its wing.
  const wing = options.wing ?? (front.name === "formats" ? wingOfFolder(root) : undefined);
  const project = projectOf(front, await readProject(root, wing));
  if (project.wingFrom === "folder name")
    watch.notice(
      `No wing given and none in a mempalace.yaml: using wing "${project.wing}" (choose another with --wing)`,
    );

  const survey = surveyProject(root, options.avoid, { ...options, exclude: project.exclude });
  const caller = await connecting;
  const { cacheDir, palace } = options;
  const place = { cacheDir, wing: project.wing, root, palace, isInPlace: !front.isStaged };
  const stage = options.dryRun ? findStage(place) : claimStage(place);
  if (!options.dryRun) removeLeftovers(stage.home);
  const noted = readManifest(stage);
  const rules = createHash("sha256")
    .update(JSON.stringify([TEXT_RULES, project.rooms ?? null]))
    .digest("hex")
    .slice(0, 16);
  if (caller !== undefined && stage.isInPlace) await whenAdopted(caller, signal, (line) => watch.notice(line));
  const { records, isMined } =
    caller === undefined ? recordsOfNotes(stage, noted) : await askRecords(stage, front, caller);
  if (front.isStaged && !options.force && options.only === undefined) await leaveToOthers(survey, place, noted, caller);
  const plan = planFeed({ survey, manifest: noted, records, isMined, rules, force: options.force });
  if (!front.removes || options.only !== undefined) plan.gone = [];
  assertNotVanished(plan, survey.documents.length, options);
  assertSameProject(stage, noted, options);

  const report: FeedReport = {
    wing: project.wing,
    files: survey.documents.length,
    ...{ filed: 0, unchanged: 0, removed: 0 },
    skipped: survey.skipped,
    drawers: 0,
    dryRun: options.dryRun,
    interrupted: false,
    failed: survey.unreadable.length,
  };
  // If the notes are missing, the links may be missing too: a run that filed these documents may have been killed before it made links.
  const isBehind = noted === undefined ? records.size > 0 : noted.linksBehind === true;
  const manifest: Manifest = {
    ...{ schema: 1, root, folder: inodeOf(root) ?? "", wing: project.wing, rules, files: { ...noted?.files } },
    ...(isBehind && { linksBehind: true }),
  };
  const registry = readRegistry(options.registryFile);
  const run: Run = { root, project, registry, stage, noted, records, plan, report, manifest, options, watch, signal };
  for (const { path } of plan.unchanged) settle(run, path, noted?.files[path] ?? undefined, "unchanged");
  if (options.dryRun || caller === undefined) await rehearse(run);
  else {
    await perform(run, caller);
    await catchUpLinks(run, caller, isBehind);
  }
  return report;
}

/** Rebuilds the links of the wing if the palace changed. If this run is killed, `linksBehind` makes the next run do so. */
async function catchUpLinks(run: Run, caller: Caller, isBehind: boolean): Promise<void> {
  const { report, manifest, stage, signal } = run;
  if (signal.aborted) return;
  const hasChanged = report.filed + report.removed > 0;
  if ((isBehind || hasChanged) && !(await rebuildLinks(run, caller))) return;
  delete manifest.linksBehind;
  writeNotes(stage.manifestFile, manifest);
}

async function perform(run: Run, caller: Caller): Promise<void> {
  const { plan, manifest, stage, report, signal } = run;
  // All paths are noted before the first document is sent, so that a later run can remove documents of a killed run.
  for (const { path } of plan.read) manifest.files[path] ??= null;
  if (plan.read.length + plan.gone.length > 0) manifest.linksBehind = true;
  writeNotes(stage.manifestFile, manifest);
  try {
    // Removals come first, because a path that was a file may now be a folder.
    for (const path of plan.gone) {
      if (signal.aborted) break;
      report.removed += (await removeDocument(run, caller, path)) ? 1 : 0;
      delete manifest.files[path];
    }
    await fileEach(run, plan.read, {
      limit: run.options.limit,
      inFlightMax: IN_FLIGHT_MAX,
      nameOf: ({ path }) => path,
      file: (found) => fileDocument(run, caller, found),
    });
  } finally {
    writeNotes(stage.manifestFile, manifest);
  }
}

async function rehearse(run: Run): Promise<void> {
  const { report, plan, records } = run;
  const wouldFile: string[] = [];
  for (const found of plan.read) {
    if (run.signal.aborted) break;
    const document = await inspect(run, found);
    if (document === undefined) continue;
    if ("refused" in document) settle(run, found.path, document.refused, "unchanged");
    else if (document.isNew && isTooShort(document.content.text, run.options))
      settle(run, found.path, { ...document.entry, drawers: 0 }, "unchanged");
    else if (document.isNew) wouldFile.push(found.path);
    else report.unchanged += 1;
  }
  report.wouldFile = run.options.limit === 0 ? wouldFile : wouldFile.slice(0, run.options.limit);
  report.wouldRemove = plan.gone.filter((path) => records.has(path));
}

type Asked = { records: Map<string, FilingRecord>; isMined: IsMined };

/** Asks for filing records and for sources that MemPalace has mined (not for `docs`, whose staged copies MemPalace never mines). */
async function askRecords(stage: Stage, { name }: Front, caller: Caller): Promise<Asked> {
  const asked = name === "docs" ? {} : { mined: { by: name, below: stage.root } };
  const { sources, mined } = await caller.call("source.list", { wing: stage.wing, ...asked });
  const isMined = minedFinder(mined);
  return {
    records: recordsByPath(stage, sources),
    isMined: ({ sourceFile: path, mtime }) => isMined({ sourceFile: stagedPath(stage, path), mtime }),
  };
}

function recordsOfNotes(stage: Stage, noted: Manifest | undefined): Asked {
  return { records: notedRecords(noted?.files ?? {}, (path) => stagedPath(stage, path)), isMined: () => false };
}

/** Gives `projects` and `formats` one room if none is configured. `formats` ignores the project file's exclusions, as in upstream. */
function projectOf({ name }: Front, project: Project): Project {
  const exclude = name === "formats" ? [] : project.exclude;
  if (name === "docs" || project.rooms !== undefined) return { ...project, exclude };
  const room = name === "formats" && project.file !== undefined ? "documents" : "general";
  const hasKeyword = name === "formats" || project.file === undefined;
  return { ...project, exclude, rooms: [{ name: room, keywords: hasKeyword ? [room] : [] }] };
}

function openProject(dir: string, { name }: Front): string {
  const hint = `give the folder of a project: palace mine ${name} DIR`;
  let root: string;
  try {
    root = realpathSync(dir);
  } catch (error) {
    throw unreadable(`${dir} does not exist or cannot be read`, hint, error);
  }
  if (!statSync(root).isDirectory()) throw unreadable(`${dir} is not a folder`, hint);
  return root;
}

/** Refuses a folder from which another project was filed. In the devbox, for example, each project is mounted at /workspace. */
function assertSameProject(stage: Stage, noted: Manifest | undefined, { dir, force, front }: FeedOptions): void {
  const { folder = "" } = noted ?? {};
  if (noted === undefined || !front.removes || force || folder === "" || folder === inodeOf(stage.root)) return;
  if (hasHalf(stage.root, stagedPath(stage, ""), noted)) return;
  throw unreadable(
    `${dir} holds another project than the one that was filed from it into the wing "${noted.wing}"`,
    `give it a wing of its own: palace mine ${front.name} ${quoted(dir)} --wing NAME; to replace the filed documents: --force`,
  );
}

/** Refuses a run that would remove all documents: an unmounted volume looks like a project without documents. */
function assertNotVanished(plan: Plan, documents: number, { dir, force, front, wing }: FeedOptions): void {
  if (documents > 0 || plan.gone.length === 0 || force) return;
  const named = wing === undefined ? "" : ` --wing ${quoted(wing)}`;
  throw unreadable(
    `${dir} contains no documents now, but ${plan.gone.length} were filed from it`,
    `check that it is mounted; to remove them from the palace: palace mine ${front.name} ${quoted(dir)}${named} --force`,
  );
}
